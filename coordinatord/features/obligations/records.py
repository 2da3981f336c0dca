"""An obligation, and its id (coordination.md §1.13)."""

from __future__ import annotations

from typing import Literal

import msgspec

from coordinatord.ids import SeatId, TaskId

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


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything owed now. ``unreadable`` names records that could not be read: counts are incomplete."""

    items: list[Obligation]
    unreadable: list[str] = []
