"""The fixed wording of a notice: record ids and a command, never anybody's prose. Pure.

One line, at most 800 characters, beginning with ``[`` and ending with ``]``, without tab, backslash or an
``@word``: such a text is safe in the composers of all known agents (agents.md §1.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from coordinatord.features.delivery.records import Wanted
from coordinatord.features.obligations.records import Obligation
from coordinatord.ids import AttemptId
from coordinatord.kinds import AgentKind, Cleaned, sanitise, unsafe_start

LONGEST: Final = 800
"""Characters of one notice (interfaces.md, Typed text)."""

TASKS_NAMED: Final = 12
"""Tasks named in one notice, the rest counted (coordination.md §3.1)."""


def choose(
    sendable: Sequence[Obligation], withheld: int, phrase: Callable[[Obligation], str]
) -> Wanted:
    """What one notice names, oldest first; what does not fit is counted and named next time."""
    room = LONGEST - len(_frame(AttemptId("d-00000000"), "", 9999, "x" * 120))
    named: list[Obligation] = []
    tasks: set[str] = set()
    for item in sendable:
        if item.task is not None and item.task not in tasks and len(tasks) == TASKS_NAMED:
            break
        words = len(phrase(item)) + 2
        if words > room:
            break
        room -= words
        named.append(item)
        tasks |= {item.task} if item.task else set()
    return Wanted(tuple(named), len(sendable) - len(named) + withheld)


def compose(
    attempt: AttemptId, wanted: Wanted, phrase: Callable[[Obligation], str], coordctl: str
) -> str:
    """The line to type."""
    return _frame(attempt, "; ".join(map(phrase, wanted.named)), wanted.counted, coordctl)


def own(head: str, body: str, tail: str) -> Cleaned:
    """A text of its own: a head, the body without control characters, a tail."""
    cleaned = sanitise(body)
    return Cleaned(" ".join((head, cleaned.text, tail)), cleaned.removed)


def by_file(head: str, path: str, size: int, tail: str) -> str:
    """What is typed instead of a body that is too long to be typed: where it can be read."""
    return f"{head} The text is in a file of {size} bytes. Read it: {path} {tail}"


def goes_by_file(kind: AgentKind, text: str, limit: int) -> bool:
    """Is the text too long to be typed to this kind of agent, or would it be taken for something else?"""
    too_long = len(text.encode()) > limit or not kind.takes_inline(text)
    return too_long or unsafe_start(kind, text) is not None


def _frame(attempt: AttemptId, phrases: str, counted: int, coordctl: str) -> str:
    more = f"; and {counted} more" if counted else ""
    return f"[coord {attempt}: {phrases}{more}. Read it: {coordctl} inbox]"


def spelling(path: str | None, on_path: bool) -> str:
    """How the notice names `coordctl`: plainly where the pane finds it, else by its absolute path."""
    if on_path or path is None or not _plain(path):
        return "coordctl"
    return path


def _plain(path: str) -> bool:
    return (
        len(path) <= 110
        and path.isascii()
        and path.isprintable()
        and not any(sign in path for sign in " \\@'\"`$")
    )
