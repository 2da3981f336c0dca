"""Help texts, and suggestions for what was mistyped. Imported only when one is needed."""

from __future__ import annotations

import textwrap

from coordctl import mistakes, own, table
from coordctl.failures import usage
from coordctl.grammar import (
    GLOBAL,
    HelpWanted,
    VersionWanted,
    all_words,
    flag_of,
    specification,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Final

_WIDTH: Final = 88
_COLUMN: Final = 22
_EVERYWHERE: Final = (
    ("-C DIR", "Work as if started in DIR."),
    ("--socket PATH", "The daemon's socket; nothing is started then."),
    ("--no-start", "Do not start a daemon if none answers."),
    ("--json", "Print the answer as it came over the wire, on one line."),
    ("--version", "Print the version."),
    ("-h, --help", "Print this help."),
)

_SECTIONS: Final = (
    ("start, look, stop", "up status rundown watch down demo"),
    ("who you are, what you owe", "init whoami inbox why show wait"),
    ("questions and messages", "ask answer resolve question send ack withdraw"),
    (
        "tasks and their reports",
        "task bind report handoff verify review pr note notes context archive",
    ),
    ("briefs and decisions", "brief decide"),
    ("panes and tools", "pane tool"),
    ("what agents are told, and when", "notice pump wake delivery attention pause resume"),
)
"""The help's order: first words of commands; what is in none of them comes last."""

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "coordctl up",
        "coordctl pane open --label worker --agent claude",
        "coordctl inbox",
        "coordctl why q-9f3t8b2c",
    ),
    "up": ("coordctl up", "coordctl up --terminal embedded"),
    "down": ("coordctl down", "coordctl down --panes"),
    "init": ("coordctl init", "coordctl init --role coordinator --reclaim"),
    "task new": (
        "coordctl task new 'Speed up the import' --worker-pane w1:p2",
        "coordctl task new 'Speed up the import' --brief-file brief.md",
    ),
    "ask": (
        "coordctl ask --task t-1h6v5w0z 'Which port?'",
        "coordctl ask --task t-1h6v5w0z - < question.md",
        "coordctl ask --task t-1h6v5w0z -- '-v or -q?'",
    ),
    "answer": ("coordctl answer q-9f3t8b2c 'Port 8080.'",),
    "report": ("coordctl report --task t-1h6v5w0z --outcome completed 'Done, with tests.'",),
    "verify": ("coordctl verify t-1h6v5w0z --candidate $(git rev-parse HEAD) --result pass",),
    "send": (
        "coordctl send worker:t-1h6v5w0z 'The branch moved; please rebase.'",
        "coordctl send w1:p2 --expires 30m -",
    ),
    "watch": ("coordctl watch", "coordctl watch --json --since 0"),
    "pane open": (
        "coordctl pane open --label tests -- pytest -q",
        "coordctl pane open --split w1:p2 right --agent codex",
    ),
    "tool run": (
        "coordctl tool run tests -- pytest -q",
        "coordctl tool run build --timeout-ms 600000 -- 'make 2>&1 | tee build.log'",
        "coordctl tool run server --no-wait -- npm run dev",
    ),
    "tool tail": ("coordctl tool tail x-4k7q2m1x --follow",),
    "tool result": ("coordctl tool result x-4k7q2m1x --wait",),
    "completion": (
        "coordctl completion bash > ~/.local/share/bash-completion/completions/coordctl",
        "coordctl completion zsh > ~/.zfunc/_coordctl",
        "coordctl completion fish > ~/.config/fish/completions/coordctl.fish",
    ),
}


def of_all(commands: Mapping[str, dict[str, Any]] | None = None) -> str:
    """The help of `coordctl` itself."""
    commands = {**own.COMMANDS, **table.COMMANDS} if commands is None else commands
    return "\n".join(
        (
            "usage: coordctl COMMAND [options]",
            "",
            "Questions, answers and reports between coding agents in terminal panes.",
            "",
            *_sections(commands),
            "options, with every command:",
            *_rows(_EVERYWHERE),
            "",
            *_examples(""),
            "More about one: coordctl COMMAND --help",
        )
    )


def _sections(commands: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    left = dict(commands)
    for title, firsts in (*_SECTIONS, ("records and upkeep", "")):
        order = firsts.split()
        found = [words for words in left if not order or words.partition(" ")[0] in order]
        found.sort(key=lambda words: order.index(words.partition(" ")[0]) if order else 0)
        if found:
            yield f"{title}:"
            yield from _rows((words, _first_sentence(left.pop(words)["help"])) for words in found)
            yield ""


def of_group(group: str, commands: Iterable[str]) -> str:
    """The help of a word that begins several commands, such as ``pane``."""
    return "\n".join(
        (
            f"usage: coordctl {group} COMMAND [options]",
            "",
            "commands:",
            *_rows((words, _first_sentence(specification(words)["help"])) for words in commands),
            "",
            f"More about one: coordctl {group} COMMAND --help",
        )
    )


def of_command(words: str, spec: dict[str, Any]) -> str:
    """The help of one command."""
    return "\n".join(
        (
            f"usage: {usage_line(words, spec)}",
            "",
            *textwrap.wrap(spec["help"].replace("\n\n", " ").replace("\n", " "), _WIDTH),
            "",
            *_fields(spec),
            "options, with every command:",
            *_rows(_EVERYWHERE),
            *(("", *_examples(words)) if words in EXAMPLES else ()),
        )
    ).rstrip()


def usage_line(words: str, spec: dict[str, Any]) -> str:
    """How a command is written."""
    parts = [f"coordctl {words}"]
    positional = spec.get("positional", ())
    for name, field in spec["fields"].items():
        if name not in positional and name not in ("key", spec.get("rest")):
            shown = _flag(name, field)
            parts.append(shown if field.get("required") else f"[{shown}]")
    parts += (_positional(name, spec) for name in positional)
    if spec.get("rest"):
        parts.append(f"[-- {spec['rest'].upper()}…]")
    if spec.get("passthrough"):
        parts.append("[options]")
    return " ".join(parts)


def no_command(before: list[str], rest: list[str]) -> Exception:
    """What to say where no command was typed: the version, help, or what was meant."""
    if "--version" in before:
        return VersionWanted()
    asked = "--help" in before or "-h" in before
    if rest[:1] == ["help"]:
        asked, rest = True, rest[1:]
    if not rest:
        return _nothing_typed(before, asked)
    typed = [each for each in rest if not each.startswith("-")]
    words = " ".join(typed)
    if words in all_words():
        return HelpWanted(of_command(words, specification(words)))
    inside = [each for each in all_words() if each.startswith(f"{rest[0]} ")]
    if inside and len(typed) == 1:
        return HelpWanted(of_group(rest[0], inside), asked=asked or len(rest) > 1)
    return mistakes.command(" ".join(rest[:2] if inside else rest[:1]))


def _nothing_typed(before: list[str], asked: bool) -> Exception:
    if before and before[-1].startswith("-") and before[-1] not in GLOBAL:
        return usage(f"There is no option {before[-1]}.", "See coordctl --help")
    return HelpWanted(of_all(), asked=asked)


def _first_sentence(text: str) -> str:
    return text.replace("\n", " ").partition(". ")[0].removesuffix(".")


def _fields(spec: dict[str, Any]) -> Iterator[str]:
    positional = spec.get("positional", ())
    places = [(_positional(name, spec), spec["fields"][name]) for name in positional]
    flags = [
        (_flag(name, field), _without_choices(field))
        for name, field in spec["fields"].items()
        if name not in positional and name != spec.get("rest")
    ]
    if spec.get("rest"):
        flags.append((f"-- {spec['rest'].upper()}…", spec["fields"][spec["rest"]]))
    for title, fields in (("arguments:", places), ("options:", flags)):
        if fields:
            yield title
            yield from _rows((shown, _described(field)) for shown, field in fields)
            yield ""
    for name in spec.get("files", ()):
        yield f"{flag_of(name)}-file FILE reads it from a file, - from standard input."
        yield ""


def _without_choices(field: dict[str, Any]) -> dict[str, Any]:
    """A flag shows its choices beside its name already."""
    return {name: value for name, value in field.items() if name != "choices"}


def _described(field: dict[str, Any]) -> str:
    text = str(field.get("help", ""))
    if field.get("choices"):
        text += f" One of: {', '.join(field['choices'])}."
    seconds = field["kind"] == "duration"
    if seconds:
        text += " A bare number is seconds; 90s, 10m and 2h do as well."
    if field.get("default") is not None:
        text += (
            f" Default: {field['default']:g} s." if seconds else f" Default: {field['default']}."
        )
    return text


def _flag(name: str, field: dict[str, Any]) -> str:
    shown = field.get("metavar") or {
        "switch": "",
        "choice": "|".join(field.get("choices", ())),
        "duration": "TIME",
        "integer": "N",
    }.get(field["kind"], "PANE" if name.endswith("_pane") else name.replace("_", "-").upper())
    return f"{flag_of(name)} {shown}".rstrip()


def _positional(name: str, spec: dict[str, Any]) -> str:
    shown = name.replace("_", "-").upper()
    shown = f"{shown}|-" if spec.get("text") == name else shown
    return shown if spec["fields"][name].get("required") else f"[{shown}]"


def _examples(words: str) -> Iterator[str]:
    yield "examples:"
    yield from (f"  {line}" for line in EXAMPLES[words])
    yield ""


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for left, right in rows:
        lines = textwrap.wrap(right, _WIDTH - _COLUMN) or [""]
        if len(left) + 4 > _COLUMN:
            yield f"  {left}"
        else:
            yield f"  {left:<{_COLUMN - 2}}{lines.pop(0)}".rstrip()
        yield from (" " * _COLUMN + line for line in lines)
