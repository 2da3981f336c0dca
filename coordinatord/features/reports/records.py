"""Reports and verifications (coordination.md §1.11). Both are append-only."""

from __future__ import annotations

from typing import Literal

import msgspec

from coordinatord.ids import ReportId, SeatId, TaskId, VerificationId

WorkOutcome = Literal["completed", "partial", "blocked", "failed"]
VerificationResult = Literal["pass", "fail", "inconclusive"]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The worker's prose claim about its task."""

    id: ReportId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    outcome: WorkOutcome
    text: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator found about one candidate; closes the reports filed before it."""

    id: VerificationId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    candidate: str
    result: VerificationResult
