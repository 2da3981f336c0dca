"""The rules of docs/architecture.md as data, and what breaks them, found by reading the sources.

`offences` gives every breach in a tree of sources; `tests/test_architecture.py` runs it over ours,
and over planted trees to see that each rule can fail. ``python -m tests.architecture`` prints what
is only worth a look: long modules, long functions, promises that no test cites yet.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]

FEATURE_ORDER: Final = (
    ("sidebar",),
    ("views",),
    ("upkeep",),
    ("trace",),
    ("intake",),
    ("dispatch",),
    ("validation_loops",),
    ("delegation",),
    ("tool_runs", "environments", "sessions"),
    ("delivery",),
    ("obligations",),
    ("attention",),
    ("messages", "questions", "reports", "briefs"),
    ("tasks",),
    ("launches",),
    ("typing",),
    ("panes",),
)
"""Top to bottom; those of one row do not know each other."""

FOUNDATION: Final = ("coordinatord.ids", "coordinatord.errors")
FEATURE_BASE: Final = (
    *FOUNDATION,
    "coordinatord.store",
    "coordinatord.terminals.port",
    "coordinatord.kinds",
    "coordinatord.wire.requests",
    "coordinatord.prose",
    "coordinatord.redaction",
    "coordinatord.clock",
    "coordinatord.tracing",
)
CLIENTS_MAY: Final = (
    *FOUNDATION,
    "coordinatord.locate",
    "coordinatord.starting",
    "coordinatord.client",
    "coordinatord.catalogue",
    "coordinatord.wire",
    "coordinatord.features.*.records",
    "coordinatord.features.*.requests",
    "coordinatord.daemon.requests",
)

MAY_IMPORT: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("coordinatord.daemon.requests", (*FOUNDATION, "coordinatord.wire.requests",
     "coordinatord.features.*.records"), "a request says what is asked, not how it is answered"),
    ("coordinatord.daemon", ("coordinatord",), "the daemon puts everything together"),
    ("coordinatord.__main__", ("coordinatord",), "the program starts the daemon"),
    ("coordinatord.server", (*FOUNDATION, "coordinatord.sockets", "coordinatord.wire",
     "coordinatord.clock"), "the server gets a table of answers and knows no feature"),
    ("coordinatord.features", (*FEATURE_BASE, "coordinatord.features"),
     "features know no host, no server and no daemon"),
    ("coordinatord.terminals.port", (*FOUNDATION,), "the port is what both sides agree on"),
    ("coordinatord.terminals", (*FOUNDATION, "coordinatord.terminals", "coordinatord.wire",
     "coordinatord.lineage", "coordinatord.clock"), "a terminal client knows no feature"),
    ("coordinatord.panehost", (*FOUNDATION, "coordinatord.sockets", "coordinatord.kinds",
     "coordinatord.wire", "coordinatord.lineage", "coordinatord.clock", "coordinatord.locate",
     "coordinatord.folders"),
     "the pane host is a program of its own and knows nothing of the daemon"),
    ("coordinatord.sockets", (*FOUNDATION, "coordinatord.lineage", "coordinatord.folders"),
     "sockets give facts about peers to whoever listens"),
    ("coordinatord.store", (*FOUNDATION,), "the store keeps records it does not understand"),
    ("coordinatord.wire", (*FOUNDATION,), "the wire is used at both ends"),
    ("coordinatord.kinds", (*FOUNDATION,), "agent kinds are data and pure matching"),
    ("coordinatord.client", CLIENTS_MAY, "a client needs no part of the daemon"),
    ("coordinatord.catalogue", ("coordinatord.wire.requests", "coordinatord.features.*.requests",
     "coordinatord.daemon.requests"), "the catalogue lists requests and nothing else"),
    ("coordinatord.locate", ("coordinatord.folders",), "every command imports it"),
    ("coordinatord.starting", ("coordinatord.locate",), "both clients start a daemon the same way"),
    ("coordinatord.lineage", ("coordinatord.ids",), "facts about processes stand alone"),
    ("coordinatord.prose", ("coordinatord.errors",), "the check of texts stands alone"),
    ("coordinatord.redaction", (), "patterns stand alone"),
    ("coordinatord.clock", (), "the clock stands alone"),
    ("coordinatord.tracing", (), "whoever decides tells it, and knows nobody who listens"),
    ("coordinatord.folders", (), "every command imports it: it must be small"),
    ("coordinatord.errors", ("coordinatord.ids",), "errors stand alone"),
    ("coordinatord.ids", (), "ids stand alone"),
    ("coordctl.commands.trace", (*CLIENTS_MAY, "coordctl", "coordinatord.folders",
     "coordinatord.features.trace", "coordinatord.kinds"), "a replay is the daemon's decisions, without one"),
    ("coordctl", CLIENTS_MAY, "a client needs no part of the daemon"),
    ("coordinatord_mcp", CLIENTS_MAY, "a client needs no part of the daemon"),
)  # fmt: skip
"""Who may import what of ours, besides its own package; the first row that fits decides."""

# fmt: off
WORLD: Final = frozenset({
    "anyio", "asyncio", "concurrent", "ctypes", "fcntl", "ftplib", "getpass", "glob", "http",
    "io", "logging", "mmap", "multiprocessing", "os", "pathlib", "psutil", "pty", "pwd",
    "queue", "random", "resource", "sched", "secrets", "select", "selectors", "shutil",
    "signal", "smtplib", "socket", "socketserver", "sqlite3", "ssl", "structlog",
    "subprocess", "tempfile", "termios", "threading", "time", "trio", "tty", "urllib", "uuid",
    "webbrowser",
})
# fmt: on
WORLD_CALLS: Final = frozenset({"open", "input", "print", "exec", "eval"})
CLOCK_CALLS: Final = frozenset({"now", "utcnow", "today"})
SHELLS: Final = re.compile(r"table|files|methods|run|run_\w+")
"""Modules of a feature that may touch the world."""

HIDING_MODULES: Final = re.compile(
    r"(\w+_)?(utils?|helpers?|common|misc|managers?|handlers?|core|base|stuff|tools_?lib)"
)
HIDING_CLASSES: Final = re.compile(r"\w*(Manager|Handler|Helpers?|Utils?|Processor|DTO|Mixin)")

CEILING: Final = 400
SOFT_CEILING: Final = 250
LONG_FUNCTION: Final = 25


@dataclass(frozen=True)
class Import:
    """One imported name of ours or of others, as the module that is meant."""

    target: str
    line: int
    for_types: bool
    """Only read by type checkers."""


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    path: Path
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source, str(self.path))

    @property
    def feature(self) -> str | None:
        parts = self.name.split(".")
        return parts[2] if parts[:2] == ["coordinatord", "features"] and len(parts) > 2 else None

    @property
    def is_shell(self) -> bool:
        return SHELLS.fullmatch(self.name.rpartition(".")[2]) is not None


@dataclass(frozen=True)
class Offence:
    """One breach of one rule."""

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.rule}]"


class Tree:
    """The sources below a root, laid out as in this repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {
            module.name: module
            for top in (root, root / "clients")
            for module in _modules(top)
            if not module.name.startswith(("tests", "clients", "benchmarks"))
        }

    def imports(self, module: Module) -> Iterator[Import]:
        """Everything the module imports, wherever in it."""
        for_types = {id(node) for node in _type_checking_nodes(module.tree)}
        for node in ast.walk(module.tree):
            for target in self._targets(module, node):
                yield Import(target, getattr(node, "lineno", 0), id(node) in for_types)

    def _targets(self, module: Module, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            for alias in node.names:
                whole = f"{origin}.{alias.name}"
                yield whole if whole in self.modules else origin


def _modules(top: Path) -> Iterator[Module]:
    if not top.is_dir():
        return
    for package in sorted(top.iterdir()):
        if not package.name.startswith(("coordinatord", "coordctl")) or not package.is_dir():
            continue
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(top).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield Module(name, path, path.read_text(encoding="utf-8"))


def _origin(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.name.split(".")
    drop = node.level - (1 if module.path.name == "__init__.py" else 0)
    base = ".".join(package[: len(package) - drop])
    return f"{base}.{node.module}" if node.module else base


def _type_checking_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from chain.from_iterable(ast.walk(child) for child in node.body)


def _within(name: str, pattern: str) -> bool:
    """Is the module the one meant by the pattern, or below it? ``*`` stands for one part."""
    parts, wanted = name.split("."), pattern.split(".")
    return len(parts) >= len(wanted) and all(
        want in ("*", part) for part, want in zip(parts, wanted, strict=False)
    )


def imports_allowed(tree: Tree) -> Iterator[Offence]:
    """Who may import whom."""
    for module in tree.modules.values():
        row = next((row for row in MAY_IMPORT if _within(module.name, row[0])), None)
        for found in tree.imports(module):
            if found.target.split(".")[0] not in ("coordinatord", "coordctl", "coordinatord_mcp"):
                continue
            if found.target == "coordinatord" and module.name != "coordinatord":
                continue  # the version
            if row is None:
                yield _at("who may import whom", module, found.line, "no rule for this module")
            elif not any(_within(found.target, may) for may in (row[0], *row[1])):
                yield _at("who may import whom", module, found.line, f"{found.target}: {row[2]}")


def features_in_order(tree: Tree) -> Iterator[Offence]:
    """A feature knows only those below it."""
    rank = {name: level for level, row in enumerate(FEATURE_ORDER) for name in row}
    for module in tree.modules.values():
        here = module.feature
        if here is None:
            continue
        if here not in rank:
            yield _at("feature order", module, 1, f"{here} has no place in the order")
            continue
        for found in tree.imports(module):
            there = Module(found.target, module.path, "").feature
            if there and there != here and rank.get(there, -1) <= rank[here]:
                yield _at("feature order", module, found.line, f"{here} is not above {there}")


def decisions_pure(tree: Tree) -> Iterator[Offence]:
    """In a feature only table, files, methods and run touch the world."""
    for module in tree.modules.values():
        if module.feature is None or module.is_shell:
            continue
        for found in tree.imports(module):
            if not found.for_types and _touches_world(found.target):
                yield _at("pure decisions", module, found.line, f"{found.target} is the world")
        for node in ast.walk(module.tree):
            if (
                isinstance(node, ast.AsyncFunctionDef)
                and node.body
                and not _is_protocol(module, node)
            ):
                yield _at("pure decisions", module, node.lineno, f"{node.name} waits")
            if isinstance(node, ast.Call) and (called := _world_call(node)):
                yield _at("pure decisions", module, node.lineno, f"{called}() is the world")


def _touches_world(target: str) -> bool:
    if target == "coordinatord.store.changes":  # a counter in memory
        return False
    if target.split(".")[0] in WORLD or _within(target, "coordinatord.store"):
        return True
    shell = SHELLS.fullmatch(target.rpartition(".")[2])
    return _within(target, "coordinatord.features.*.*") and shell is not None


def _world_call(node: ast.Call) -> str | None:
    if isinstance(node.func, ast.Name) and node.func.id in WORLD_CALLS:
        return node.func.id
    if isinstance(node.func, ast.Attribute) and node.func.attr in CLOCK_CALLS and not node.args:
        of = ast.unparse(node.func.value)
        return f"{of}.{node.func.attr}" if of.endswith(("datetime", "date")) else None
    return None


def _is_protocol(module: Module, function: ast.AsyncFunctionDef) -> bool:
    """A Protocol may say that something waits; it does not wait itself."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and function in node.body:
            return any(ast.unparse(base).split("[")[0].endswith("Protocol") for base in node.bases)
    return False


def packages_explained(tree: Tree) -> Iterator[Offence]:
    """Each folder says what it is for."""
    folders = {module.path.parent for module in tree.modules.values()}
    for folder in sorted(folders):
        init = folder / "__init__.py"
        text = (
            ast.get_docstring(ast.parse(init.read_text(encoding="utf-8")))
            if init.is_file()
            else None
        )
        if not text:
            where = str(folder.relative_to(tree.root))
            yield Offence("folders explained", where, "no __init__.py that says what it is for")


def modules_short(tree: Tree) -> Iterator[Offence]:
    """No module is longer than the ceiling."""
    for module in tree.modules.values():
        length = len(module.source.splitlines())
        if length > CEILING and not _is_generated(module):
            yield _at("short modules", module, length, f"{length} lines, at most {CEILING}")


def _is_generated(module: Module) -> bool:
    return "generated" in module.source[:300].lower()


def names_tell(tree: Tree) -> Iterator[Offence]:
    """No name that hides what a thing knows or decides."""
    for module in tree.modules.values():
        for part in module.name.split("."):
            if HIDING_MODULES.fullmatch(part):
                yield _at("telling names", module, 1, f"{part} says nothing")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and HIDING_CLASSES.fullmatch(node.name):
                yield _at("telling names", module, node.lineno, f"{node.name} says nothing")


BOUNDARIES: Final = frozenset(
    {
        "coordinatord.server.dispatch",
        "coordinatord.server.listener",
        "coordinatord.daemon.supervision",
        "coordinatord.features.delivery.run_setbacks",
    }
)
"""Modules that may catch every exception; docs/decisions/0006 says why the last two may."""


def one_boundary(tree: Tree) -> Iterator[Offence]:
    """Bugs pass through: one place turns exceptions into errors of the wire, one keeps loops going."""
    held = ("features", "wire", "kinds", "terminals", "server", "daemon")
    for module in tree.modules.values():
        if module.name in BOUNDARIES or not any(
            _within(module.name, f"coordinatord.{package}") for package in held
        ):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler) and _catches_all(node):
                yield _at("one error boundary", module, node.lineno, "catches every exception")


def _catches_all(node: ast.ExceptHandler) -> bool:
    if _raises_again(node):
        return False
    caught = "" if node.type is None else ast.unparse(node.type)
    return caught == "" or bool(re.search(r"\b(Base)?Exception(Group)?\b", caught))


def _raises_again(node: ast.ExceptHandler) -> bool:
    return any(isinstance(step, ast.Raise) and step.exc is None for step in ast.walk(node))


def placeholders_plain(tree: Tree) -> Iterator[Offence]:
    """Numbered placeholders with a row of values warn on Python 3.12 and fail some day."""
    for module in tree.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and re.search(NUMBERED, str(node.value)):
                yield _at("plain placeholders", module, node.lineno, "write ? instead of ?1")


NUMBERED: Final = r"(?i)\b(select|insert|update|delete|where|values)\b.*\?\d"


def _at(rule: str, module: Module, line: int, what: str) -> Offence:
    return Offence(rule, f"{module.name}:{line}", what)


RULES: Final[tuple[Callable[[Tree], Iterator[Offence]], ...]] = (
    imports_allowed,
    features_in_order,
    decisions_pure,
    packages_explained,
    modules_short,
    names_tell,
    one_boundary,
    placeholders_plain,
)


def offences(root: Path) -> list[Offence]:
    """Every breach in the sources below ``root``."""
    tree = Tree(root)
    return [offence for rule in RULES for offence in rule(tree)]


def _functions(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False) or ""
            length = (node.end_lineno or 0) - node.lineno + 1 - len(text.splitlines())
            yield length, f"{module.name}:{node.lineno} {node.name}"


def report(root: Path) -> Iterator[str]:
    """What is allowed and worth a look."""
    tree = Tree(root)
    for module in tree.modules.values():
        length = len(module.source.splitlines())
        if SOFT_CEILING < length <= CEILING:
            yield f"{length:4} lines  {module.name}"
    lengths = sorted(chain.from_iterable(map(_functions, tree.modules.values())), reverse=True)
    for length, where in lengths[:15]:
        if length > LONG_FUNCTION:
            yield f"{length:4} lines  {where}()"


if __name__ == "__main__":
    from tests.promises import uncited

    print(*report(ROOT), sep="\n")
    print("no test cites yet:", *uncited(ROOT / "tests"))
    sys.exit(0)
