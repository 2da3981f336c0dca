"""One record, two halves: the question, and what became of it (coordination.md §1.10)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from coordinatord.ids import QuestionId, SeatId, TaskId


class Open(msgspec.Struct, frozen=True, tag="open", tag_field="kind"):
    """Nobody has answered yet."""


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag="answered", tag_field="kind"):
    """The decision is recorded; the worker has not applied it yet."""

    text: str
    at: float
    seq: int
    by: SeatId


class Applied(msgspec.Struct, frozen=True, kw_only=True, tag="applied", tag_field="kind"):
    """The worker has applied the answer: nobody owes anything."""

    answer: Answered
    at: float
    seq: int


class ClosedUnapplied(
    msgspec.Struct, frozen=True, kw_only=True, tag="closed-unapplied", tag_field="kind"
):
    """The worker that asked is gone: the answer will never be applied, and nobody owes anything.

    ``outcome`` is what was seen of the worker's occupant.
    """

    answer: Answered
    at: float
    seq: int
    by: SeatId
    reason: str
    outcome: str


State: TypeAlias = Open | Answered | Applied | ClosedUnapplied


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the worker of a task, owed to the task's parent until it is answered."""

    id: QuestionId
    seq: int
    at: float
    task: TaskId
    text: str
    by: SeatId
    to: SeatId
    state: State = Open()
