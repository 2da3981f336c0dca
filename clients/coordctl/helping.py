"""Help texts, and suggestions for what was mistyped. Imported only when one is needed."""

from __future__ import annotations

import difflib
import textwrap

from coordctl import own, table
from coordctl.failures import Failure, usage
from coordctl.parsing import flag_of

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


def of_all(commands: Mapping[str, dict[str, Any]] | None = None) -> str:
    """The help of `coordctl` itself."""
    commands = {**own.COMMANDS, **table.COMMANDS} if commands is None else commands
    return "\n".join(
        (
            "usage: coordctl COMMAND [options]",
            "",
            "Questions, answers and reports between coding agents in terminal panes.",
            "",
            "commands:",
            *_rows((words, _first_sentence(spec["help"])) for words, spec in commands.items()),
            "",
            "options, with every command:",
            *_rows(_EVERYWHERE),
            "",
            *_examples(""),
            "More about one: coordctl COMMAND --help",
        )
    )


def of_group(group: str, commands: Iterable[str]) -> str:
    """The help of a word that begins several commands, such as ``pane``."""
    return "\n".join(
        (
            f"usage: coordctl {group} COMMAND [options]",
            "",
            "commands:",
            *_rows((words, _first_sentence(_spec(words)["help"])) for words in commands),
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
            *(("", *_examples(words)) if words in own.EXAMPLES else ()),
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


def unknown(typed: str, known: Iterable[str]) -> Failure:
    """The failure for a command that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(typed, known, n=1)
    hint = f"Did you mean: coordctl {near[0]}" if near else "See coordctl --help"
    return usage(f"There is no command {typed!r}.", hint)


def unknown_flag(words: str, spec: dict[str, Any], typed: str) -> Failure:
    """The failure for a flag that the command does not have."""
    known = [flag_of(name) for name in spec["fields"] if name not in spec.get("positional", ())]
    near = difflib.get_close_matches(typed.partition("=")[0], known, n=1)
    if near:
        hint = f"Did you mean: {near[0]}"
    elif spec.get("text") or spec.get("rest"):
        hint = "Put a text that begins with a dash after --"
    else:
        hint = f"See coordctl {words} --help"
    return usage(f"{words} has no option {typed!r}.", hint)


def _spec(words: str) -> dict[str, Any]:
    found: dict[str, Any] = table.COMMANDS.get(words) or own.COMMANDS[words]
    return found


def _first_sentence(text: str) -> str:
    return text.replace("\n", " ").partition(". ")[0].removesuffix(".")


def _fields(spec: dict[str, Any]) -> Iterator[str]:
    positional = spec.get("positional", ())
    places = [(_positional(name, spec), spec["fields"][name]) for name in positional]
    flags = [
        (_flag(name, field), field)
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


def _described(field: dict[str, Any]) -> str:
    text = str(field.get("help", ""))
    if field.get("choices"):
        text += f" One of: {', '.join(field['choices'])}."
    if field.get("default") is not None:
        text += f" Default: {field['default']}."
    return text


def _flag(name: str, field: dict[str, Any]) -> str:
    shown = field.get("metavar") or {
        "switch": "",
        "choice": "|".join(field.get("choices", ())),
        "duration": "TIME",
        "integer": "N",
    }.get(field["kind"], name.replace("_", "-").upper())
    return f"{flag_of(name)} {shown}".rstrip()


def _positional(name: str, spec: dict[str, Any]) -> str:
    shown = name.replace("_", "-").upper()
    shown = f"{shown}|-" if spec.get("text") == name else shown
    return shown if spec["fields"][name].get("required") else f"[{shown}]"


def _examples(words: str) -> Iterator[str]:
    yield "examples:"
    yield from (f"  {line}" for line in own.EXAMPLES[words])
    yield ""


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for left, right in rows:
        lines = textwrap.wrap(right, _WIDTH - _COLUMN) or [""]
        if len(left) + 4 > _COLUMN:
            yield f"  {left}"
        else:
            yield f"  {left:<{_COLUMN - 2}}{lines.pop(0)}".rstrip()
        yield from (" " * _COLUMN + line for line in lines)
