"""An obligation, and its id (coordination.md §1.13)."""

from __future__ import annotations

from typing import Literal

import msgspec

from coordinatord.ids import AttemptId, SeatId, TaskId

Weight = Literal["decision", "routine"]


class Obligation(msgspec.Struct, frozen=True, kw_only=True):
    """``id`` is ``<kind>:<record>``, for example ``question:q-9f3t8b2c``. ``seq`` is the record change
    that brought it about and orders what is told; ``since`` is that change's wall time, for display."""

    id: str
    kind: str
    record: str
    to: SeatId
    seq: int
    since: float
    task: TaskId | None = None
    weight: Weight = "routine"
    doubtful: bool = False
    """It may have been told for good already: it stays visible and is not counted as owed."""
    alone: bool = False
    """Told by a text of its own in an attempt of its own, never in a notice: its source is `Speaking`."""


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything owed now. ``unreadable`` names records that could not be read: counts are incomplete."""

    items: list[Obligation]
    unreadable: list[str] = []


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt with a text of its own stands. ``reached``: the text was submitted; ``over``: it is
    known not to have been; ``doubtful``: it may have been; none of them: it is being typed."""

    attempt: AttemptId
    at: float
    reached: bool = False
    doubtful: bool = False
    over: bool = False
    sha256: str | None = None
    removed: tuple[str, ...] = ()
    file: str | None = None
