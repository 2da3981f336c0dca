"""What is true about a task (coordination.md §1.6, §1.7)."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from coordinatord.ids import COORDINATOR, SeatId, TaskId


class Preparing(msgspec.Struct, frozen=True, tag="preparing", tag_field="kind"):
    """Its place to work is being made; the intent is recorded before the first effect."""


class Prepared(msgspec.Struct, frozen=True, tag="prepared", tag_field="kind"):
    """Its place to work is there; nobody was started."""


class Starting(msgspec.Struct, frozen=True, tag="starting", tag_field="kind"):
    """Its worker is being started: found after a crash, this is uncertain and never repeated."""


class Active(msgspec.Struct, frozen=True, tag="active", tag_field="kind"):
    """Somebody works on it, or is going to."""


class NeedsAttention(msgspec.Struct, frozen=True, tag="needs-attention", tag_field="kind"):
    """Preparing or starting failed or is uncertain; work is preserved and a person looks."""

    error: str


class Archived(msgspec.Struct, frozen=True, tag="archived", tag_field="kind"):
    """It is over: nothing is owed on it any more."""

    at: float
    seq: int
    by: SeatId


TaskState: TypeAlias = Preparing | Prepared | Starting | Active | NeedsAttention | Archived

Status = Literal[
    "preparing",
    "prepared",
    "starting",
    "running",
    "waiting",
    "reported",
    "needs-attention",
    "archived",
]
"""What people read; `status.py` derives it."""

_NEXT: Final[dict[type[TaskState], tuple[type[TaskState], ...]]] = {
    Preparing: (Prepared, NeedsAttention, Archived),
    Prepared: (Starting, Active, NeedsAttention, Archived),
    Starting: (Active, NeedsAttention),
    Active: (NeedsAttention, Archived),
    NeedsAttention: (Prepared, Active, Archived),
    Archived: (),
}


def may_become(state: TaskState, other: TaskState) -> bool:
    """Can a task in ``state`` go over to ``other``? An uncertain start is never started again."""
    return type(other) in _NEXT[type(state)]


class LaunchSpecification(msgspec.Struct, frozen=True, kw_only=True):
    """How the worker is to be started; fixed when the task is recorded, whatever defaults change later.

    ``model`` and ``reasoning`` are requested, never verified. ``sources`` says where each value came from.
    """

    agent: str
    model: str | None = None
    reasoning: str | None = None
    args: tuple[str, ...] = ()
    preset: str | None = None
    sources: dict[str, str] = {}


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work. ``at`` is in wall seconds; ``seq`` is the order; ``host`` is the machine."""

    id: TaskId
    seq: int
    at: float
    title: str
    brief: str | None = None
    by: SeatId
    parent: SeatId = COORDINATOR
    host: str = ""
    launch: LaunchSpecification | None = None
    state: TaskState = Active()
