"""The one word for how a task stands, derived from its records. Pure (coordination.md §1.6)."""

from __future__ import annotations

from typing import assert_never

import msgspec

from coordinatord.features.tasks.records import (
    Active,
    Archived,
    NeedsAttention,
    Prepared,
    Preparing,
    Starting,
    Status,
    Task,
)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What the other records say about a task. ``…_seq`` is 0 where there is none."""

    has_worker: bool = False
    waits: bool = False
    """A question of it is open, or its answer is not applied."""
    report_seq: int = 0
    question_seq: int = 0


def status_of(task: Task, standing: Standing) -> Status:
    """Attention, delivery and verification never change it: a reported task is no verified task."""
    match task.state:
        case Preparing():
            return "preparing"
        case Prepared():
            return "prepared"
        case Starting():
            return "starting"
        case NeedsAttention():
            return "needs-attention"
        case Archived():
            return "archived"
        case Active():
            return _of_active(standing)
        case _:
            assert_never(task.state)


def _of_active(standing: Standing) -> Status:
    if standing.report_seq > standing.question_seq:
        return "reported"
    if standing.waits:
        return "waiting"
    return "running" if standing.has_worker else "prepared"
