"""The shape of the sources, and proof that each rule finds the breach it is for."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from coordinatord.daemon import settings_files
from tests import architecture, promises

ROOT = architecture.ROOT


def test_the_sources_keep_every_rule() -> None:
    """Fails with one line per breach, each naming the rule and its reason."""
    assert [str(offence) for offence in architecture.offences(ROOT)] == []


PLANTED: Final[dict[str, tuple[str, str, str]]] = {
    "a feature that knows the host client": (
        "coordinatord/features/panes/judgement.py",
        "from coordinatord.terminals.herdr import request",
        "who may import whom",
    ),
    "a feature that knows the server, inside a function": (
        "coordinatord/features/panes/run.py",
        "def f():\n    import coordinatord.server.dispatch",
        "who may import whom",
    ),
    "a server that knows a feature": (
        "coordinatord/server/dispatch.py",
        "from coordinatord.features.panes import records",
        "who may import whom",
    ),
    "a store that knows a feature": (
        "coordinatord/store/journal.py",
        "from coordinatord import features",
        "who may import whom",
    ),
    "a pane host that knows the daemon": (
        "coordinatord/panehost/server.py",
        "from coordinatord.daemon import settings",
        "who may import whom",
    ),
    "a client that reads the database": (
        "clients/coordctl/output.py",
        "from coordinatord.store import database",
        "who may import whom",
    ),
    "a client that uses a feature's rules": (
        "clients/coordctl/output.py",
        "from coordinatord.features.panes.judgement import judge",
        "who may import whom",
    ),
    "a daemon's part that knows a client": (
        "coordinatord/wire/lines.py",
        "import coordctl",
        "who may import whom",
    ),
    "a package without a rule": (
        "coordinatord/cloud/__init__.py",
        '"""x"""\nimport coordinatord.ids',
        "who may import whom",
    ),
    "a numbered placeholder": (
        "coordinatord/features/panes/table.py",
        'SQL = "SELECT id FROM panes WHERE id = ?1"',
        "plain placeholders",
    ),
    "a lower feature that knows a higher one": (
        "coordinatord/features/panes/run.py",
        "from coordinatord.features.delivery import records",
        "feature order",
    ),
    "a lower feature that knows a higher one, relatively": (
        "coordinatord/features/tasks/run.py",
        "from ..views import records",
        "feature order",
    ),
    "a feature that knows its neighbour": (
        "coordinatord/features/questions/table.py",
        "import coordinatord.features.messages.records",
        "feature order",
    ),
    "a feature without a place": ("coordinatord/features/gossip/records.py", "", "feature order"),
    "a decision that opens the database": (
        "coordinatord/features/delivery/pacing.py",
        "import sqlite3",
        "pure decisions",
    ),
    "a decision that reads the clock": (
        "coordinatord/features/delivery/pacing.py",
        "from time import monotonic",
        "pure decisions",
    ),
    "a decision that reads the wall clock": (
        "coordinatord/features/delivery/pacing.py",
        "import datetime\nnow = datetime.datetime.now()",
        "pure decisions",
    ),
    "a decision that waits": (
        "coordinatord/features/delivery/pacing.py",
        "async def decide(): ...",
        "pure decisions",
    ),
    "a decision that opens a file": (
        "coordinatord/features/delivery/pacing.py",
        "def read(): return open('x')",
        "pure decisions",
    ),
    "a record that uses the store": (
        "coordinatord/features/delivery/records.py",
        "from coordinatord.store.database import View",
        "pure decisions",
    ),
    "a decision that uses a table": (
        "coordinatord/features/delivery/pacing.py",
        "from coordinatord.features.panes.table import SEATS",
        "pure decisions",
    ),
    "a folder without a word": ("coordinatord/features/panes/__init__.py", "", "folders explained"),
    "a module that is too long": ("coordinatord/wire/lines.py", "x = 1\n" * 401, "short modules"),
    "a module whose name hides": ("coordinatord/wire/json_utils.py", "", "telling names"),
    "a class whose name hides": (
        "coordinatord/panehost/pane.py",
        "class PaneManager: ...",
        "telling names",
    ),
    "a feature that swallows bugs": (
        "coordinatord/features/panes/run.py",
        "try:\n    x = 1\nexcept Exception:\n    x = 2",
        "one error boundary",
    ),
    "a daemon's module that swallows bugs": (
        "coordinatord/daemon/app.py",
        "try:\n    x = 1\nexcept Exception:\n    x = 2",
        "one error boundary",
    ),
}


def plant(root: Path, files: dict[str, str]) -> None:
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        for folder in path.parents:
            if folder == root or folder.name == "clients":
                break
            if not (folder / "__init__.py").exists():
                (folder / "__init__.py").write_text('"""Planted."""', encoding="utf-8")


SOUND: Final = {
    "coordinatord/ids.py": "",
    "coordinatord/server/dispatch.py": "",
    "coordinatord/store/database.py": "import sqlite3\nfrom coordinatord import ids",
    "coordinatord/features/panes/records.py": "from coordinatord import ids",
    "coordinatord/features/panes/table.py": "from coordinatord.store import database",
    "coordinatord/features/messages/records.py": "",
    "coordinatord/features/views/records.py": "",
    "coordinatord/features/delivery/records.py": "",
    "coordinatord/features/delivery/pacing.py": (
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING, Protocol\n"
        "from coordinatord.features.panes.records import Seat\n"
        "from coordinatord.store.changes import Changes\n"
        "if TYPE_CHECKING:\n    import random\n    from coordinatord.store.database import View\n"
        "class Look(Protocol):\n    async def look(self) -> int: ...\n"
    ),
    "coordinatord/features/delivery/run_pump.py": "import anyio\nasync def pump(): ...",
    "coordinatord/daemon/app.py": "from coordinatord.features.views import records",
    "clients/coordctl/output.py": "from coordinatord.features.panes.records import Seat",
}


def test_a_sound_tree_has_no_offence(tmp_path: Path) -> None:
    plant(tmp_path, SOUND)
    assert [str(offence) for offence in architecture.offences(tmp_path)] == []


@pytest.mark.parametrize("breach", PLANTED)
def test_each_rule_finds_what_was_planted(tmp_path: Path, breach: str) -> None:
    """One breach in a sound tree: the rule it is for, and only that one, speaks up."""
    name, source, rule = PLANTED[breach]
    plant(tmp_path, SOUND | {name: source})
    found = architecture.offences(tmp_path)
    assert {offence.rule for offence in found} == {rule}
    assert Path(name).parent.name in found[0].where


# promises


def sources(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, path.read_text(encoding="utf-8")


def test_every_cited_number_is_a_promise() -> None:
    unknown = {
        f"{path.name}: {number}"
        for folder in ("coordinatord", "clients", "tests")
        for path, source in sources(ROOT / folder)
        if path.name not in ("promises.py", Path(__file__).name)
        for number in promises.cited(source)
        if number not in promises.PROMISES
    }
    assert unknown == set()


def test_no_required_promise_has_lost_its_proof() -> None:
    assert sorted(promises.REQUIRED - promises.citing_tests(ROOT / "tests").keys()) == []


def test_citations_are_read_from_names_and_docstrings_of_tests(tmp_path: Path) -> None:
    """The reading itself, seen to find and to miss."""
    (tmp_path / "test_x.py").write_text(
        'def test_g5_twenty(): ...\ndef test_y():\n    """C-1 and T-22: x."""\n'
        'def other():\n    """C-2"""\ndef test_t1x(): ...\n'
    )
    assert promises.citing_tests(tmp_path).keys() == {"G-5", "C-1", "T-22"}


# the tests themselves


WAITS: Final = re.compile(r"sleep|_?(wait|until|replay)\w*")
"""Functions of stand-ins and benches that may let time pass: a clock's own, and bounded waits."""
VIRTUAL_TIME: Final = ROOT / "tests" / "simulation"
"""Runs under a clock that jumps to the next deadline: sleeping there takes no time."""


def test_no_test_sleeps() -> None:
    """A test waits for what happens, within a bound; `anyio.sleep(0)` gives others a turn."""
    asleep = [
        f"{path.relative_to(ROOT)}:{line}"
        for path, source in sources(ROOT / "tests")
        if VIRTUAL_TIME not in path.parents
        for function, line in sleeping(ast.parse(source))
        if path.name.startswith(("test_", "conftest")) or not WAITS.fullmatch(function)
    ]
    assert asleep == []


def sleeping(node: ast.AST, function: str = "") -> Iterator[tuple[str, int]]:
    """Every call that sleeps, with the function it is in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and _sleeps(child):
            yield function, child.lineno
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from sleeping(child, child.name if named else function)


def _sleeps(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    turn = [ast.unparse(argument) for argument in call.args] == ["0"]
    return re.fullmatch(r"((time|asyncio|trio|anyio)\.)?sleep", name) is not None and not turn


@pytest.mark.parametrize(
    ("source", "sleeps"),
    [
        ("time.sleep(1)", True),
        ("anyio.sleep(.1)", True),
        ("sleep(x)", True),
        ("anyio.sleep(0)", False),
    ],
)
def test_sleeping_is_seen(source: str, sleeps: bool) -> None:
    tree = ast.parse(f"async def wait():\n    await {source}")
    assert list(sleeping(tree)) == ([("wait", 2)] if sleeps else [])


async def test_a_blocking_call_of_ours_is_noticed(anyio_backend_name: str, tmp_path: Path) -> None:
    """The alarm of conftest.py, seen to go off (asyncio only)."""
    (tmp_path / "config.toml").write_text("")

    def load() -> None:
        settings_files.load({}, {}, tmp_path / "config.toml", None)

    if anyio_backend_name == "trio":
        load()
        return
    with pytest.raises(Exception, match="Blocking call"):
        load()


# what a command costs


def imported(arguments: list[str], environ: dict[str, str]) -> set[str]:
    """The modules that coordctl loads for a command, besides those every Python starts with."""
    loaded = []
    for program in (["-c", "pass"], ["-m", "coordctl", *arguments]):
        told = subprocess.run(
            [sys.executable, "-X", "importtime", *program],
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'clients'}:{ROOT}"} | environ,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        lines = [line for line in told.stderr.splitlines() if line.startswith("import time:")]
        loaded.append({line.rpartition("|")[2].strip() for line in lines})
        last = told
    assert last.returncode == 0, last.stderr[-2000:]
    return loaded[1] - loaded[0]


def heavy(modules: set[str]) -> set[str]:
    """What an ordinary command must not load: other people's packages and our own daemon's."""
    ours = {"coordinatord", "coordinatord.locate", "coordinatord.folders"}
    return {
        module
        for module in modules
        if module.split(".")[0] not in sys.stdlib_module_names
        and module not in ours
        and module.split(".")[0] != "coordctl"
    }


def test_asking_for_the_version_loads_nothing_of_others() -> None:
    assert heavy(imported(["--version"], {})) == set()


def test_an_ordinary_call_loads_nothing_of_others(runtime_base: Path) -> None:
    """`inbox --json` against a daemon that answers: standard library, `locate` and coordctl."""
    path = runtime_base / "api.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        answering = threading.Thread(target=_answer_one, args=[listening])
        answering.start()
        modules = imported(["inbox", "--json"], {"COORDINATORD_SOCKET": str(path)})
        answering.join(timeout=10)
    assert heavy(modules) == set()
    assert not modules & {"asyncio", "dataclasses", "inspect", "logging", "subprocess", "typing"}


ANSWER: Final = {"items": [], "incomplete": False, "version": "0", "workspace": "/"}


def _answer_one(listening: socket.socket) -> None:
    listening.settimeout(30)
    connection, _ = listening.accept()
    with connection, connection.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": ANSWER}
            connection.sendall(json.dumps(answer).encode() + b"\n")
