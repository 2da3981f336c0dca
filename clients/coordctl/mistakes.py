"""What to say about a command line that cannot be understood. Imported only then."""

from __future__ import annotations

import difflib

from coordctl.failures import Failure, usage
from coordctl.grammar import GLOBAL, all_words, flag_of, specification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_EXPECTED: Final = {
    "integer": "a whole number",
    "number": "a number",
    "duration": "a time such as 90s, 10m or 2h",
}
_OTHER_NAMES: Final = {
    "start": "up",
    "stop": "down",
    "restart": "down, then coordctl up",
    "list": "rundown",
    "ls": "pane list",
    "panes": "pane list",
    "tasks": "task list",
    "open": "pane open",
    "attach": "pane attach",
    "run": "tool run",
    "message": "send",
}
"""What other programs call it."""


def command(typed: str) -> Failure:
    """There is no such command; name the nearest one."""
    if typed in _OTHER_NAMES:
        return usage(f"There is no command {typed!r}.", f"It is: coordctl {_OTHER_NAMES[typed]}")
    near = difflib.get_close_matches(typed, all_words(), n=1)
    hint = f"Did you mean: coordctl {near[0]}" if near else "See coordctl --help"
    return usage(f"There is no command {typed!r}.", hint)


def flag(words: str, spec: dict[str, Any], typed: str) -> Failure:
    """The command has no such flag; name the nearest one."""
    known = [flag_of(name) for name in spec["fields"] if name not in spec.get("positional", ())]
    near = difflib.get_close_matches(typed, [*known, *GLOBAL], n=1)
    if near:
        hint = f"Did you mean: {near[0]}"
    elif spec.get("text") or spec.get("rest"):
        hint = "Put a text that begins with a dash after --"
    else:
        hint = _see(words)
    return usage(f"{words} has no option {typed!r}.", hint)


def values(words: str, typed: str, count: int) -> Failure:
    """The flag has too few values, or one that it does not take."""
    wanted = {0: "takes no value", 1: "needs a value"}.get(count, f"needs {count} values")
    return usage(f"{typed} {wanted}.", _see(words))


def value(name: str, field: dict[str, Any], typed: str) -> Failure:
    """The value is none that the field can have."""
    choices = field.get("choices")
    expected = f"one of {', '.join(choices)}" if choices else _EXPECTED[field["kind"]]
    return usage(f"{flag_of(name)} {typed!r} is not {expected}.")


def surplus(words: str, typed: str) -> Failure:
    """There are more words than the command takes."""
    hint = f"Quote a text with blanks. {_see(words)}"
    return usage(f"There is one word too many: {typed!r}.", hint)


def missing(words: str, name: str, positional: bool) -> Failure:
    """A field that must be given was not."""
    if name == specification(words).get("rest"):
        return usage(f"The {name} is missing: it stands after --.", _see(words))
    shown = name.replace("_", "-").upper() if positional else flag_of(name)
    return usage(f"{shown} is missing.", _see(words))


def both(name: str) -> Failure:
    """A text was given twice."""
    return usage(f"{flag_of(name)} and {flag_of(name)}-file exclude each other.")


def not_unicode(name: str, index: int) -> Failure:
    """A text came with bytes that are no characters."""
    return Failure(
        "not-unicode", f"{name} is not valid UTF-8 at character {index + 1}.", "Give it as UTF-8."
    )


def _see(words: str) -> str:
    return f"See coordctl {words} --help"
