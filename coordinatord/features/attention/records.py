"""What is true about an alert (coordination.md §1.12, §4.4)."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from coordinatord.ids import PaneId, SeatId, TaskId

Kind = Literal["blocked", "idle-without-report", "exited", "closed"]
Why = Literal["resumed", "cleared", "bound"]
"""Why an alert closed by itself: the agent works again, the dialog is gone, the seat was bound anew."""

_SEEN: Final[dict[Kind, str]] = {
    "blocked": "The worker's agent asks its person something",
    "idle-without-report": "The worker's agent stands idle and has not reported",
    "exited": "The worker's agent has exited",
    "closed": "The worker's pane is closed",
}

STATEMENT = "An observation of a screen: no question, no result, no diagnosis and no permission."
"""Stands with every alert."""


class Open(msgspec.Struct, frozen=True, tag="open", tag_field="kind"):
    """Nobody has looked yet."""


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag="seen", tag_field="kind"):
    """The coordinator looked."""

    at: float
    seq: int
    by: SeatId


class Closed(msgspec.Struct, frozen=True, kw_only=True, tag="closed", tag_field="kind"):
    """A fresh look showed that it is over."""

    at: float
    seq: int
    why: Why


State: TypeAlias = Open | Seen | Closed


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """One alert about the worker of a task.

    ``observed`` is the status that was seen, or ``absent``. ``excerpt`` holds at most 40 lines and 4,000
    characters of the screen; ``redacted`` counts what was taken out of it. ``reading`` is the command that
    shows the pane as it is now.
    """

    id: str
    seq: int
    at: float
    task: TaskId
    kind: Kind
    observed: str
    pane: PaneId | None = None
    excerpt: str | None = None
    redacted: int = 0
    reading: str = ""
    statement: str = STATEMENT
    state: State = Open()

    @property
    def sentence(self) -> str:
        """What was seen, and how to look."""
        shown = self.reading and self.kind != "closed"
        look = f" Look: {self.reading}" if shown else ""
        return f"{_SEEN[self.kind]}.{look}"
