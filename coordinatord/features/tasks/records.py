"""What is true about a task."""

from __future__ import annotations

import msgspec

from coordinatord.ids import COORDINATOR, SeatId, TaskId


class Active(msgspec.Struct, frozen=True, tag="active", tag_field="kind"):
    """Somebody works on it, or is going to."""


class Archived(msgspec.Struct, frozen=True, tag="archived", tag_field="kind"):
    """It is over: nothing is owed on it any more."""

    at: float
    seq: int
    by: SeatId


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work. ``at`` is in wall seconds; ``seq`` is the order."""

    id: TaskId
    seq: int
    at: float
    title: str
    brief: str | None = None
    by: SeatId
    parent: SeatId = COORDINATOR
    state: Active | Archived = Active()
