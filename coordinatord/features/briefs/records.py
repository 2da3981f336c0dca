"""Revisions of a brief, and decisions (coordination.md §1.9)."""

from __future__ import annotations

from typing import Literal

import msgspec

from coordinatord.ids import DecisionId, SeatId, TaskId

RevisionState = Literal["staged", "requested", "active", "superseded"]
Change = Literal["decisions", "policy"]


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """One decision as a revision lists it; ``record`` is the question or the decision it is from."""

    record: str
    text: str
    asked: str | None = None


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One immutable text of a task's brief. ``id`` is ``<task>.r<number>``.

    ``fingerprint`` is of the approved part, ``content`` of the whole text (SHA-256). A revision that
    changes decisions only leaves a verification as it is; one that changes the policy does not.
    """

    id: str
    seq: int
    at: float
    task: TaskId
    number: int
    by: SeatId
    text: str
    fingerprint: str
    content: str
    policy: str = ""
    decisions: list[Decided] = []
    changes: list[Change] = []
    verification_affected: bool = False
    previous: int | None = None
    state: RevisionState = "staged"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was decided about a task without a question."""

    id: DecisionId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    text: str
