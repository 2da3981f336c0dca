"""Claims about a task and findings on it (coordination.md §1.11). All are append-only."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from coordinatord.ids import (
    NoteId,
    PublicationId,
    ReportId,
    ReviewId,
    SeatId,
    TaskId,
    VerificationId,
)

WorkOutcome = Literal["completed", "partial", "blocked", "failed"]
VerificationResult = Literal["pass", "fail", "inconclusive"]
Verdict = Literal["approve", "changes-requested", "blocked", "comment"]
ReviewState = Literal["none", "requested", "performed"]

Line = Annotated[str, Meta(min_length=1, max_length=2000)]
"""A path, a command, an item of a list: not prose."""


class Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One command that the worker ran, and how it ended."""

    command: Line
    exit: int
    note: Annotated[str, Meta(max_length=2000)] = ""


class Handoff(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the worker hands over, in parts that can be compared. A claim like the report's text."""

    candidate: str
    next_action: Line
    files: Annotated[tuple[Line, ...], Meta(max_length=200)] = ()
    checks: Annotated[tuple[Check, ...], Meta(max_length=50)] = ()
    artifacts: Annotated[tuple[Line, ...], Meta(max_length=30)] = ()
    unresolved: Annotated[tuple[Line, ...], Meta(max_length=50)] = ()
    review: ReviewState = "none"
    pull_request: Annotated[str, Meta(max_length=400)] | None = None
    run: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The worker's claim about its task. ``brief`` is the number of the revision that was active."""

    id: ReportId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    outcome: WorkOutcome
    text: str
    candidate: str | None = None
    brief: int = 1
    handoff: Handoff | None = None


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator found about one candidate; closes the reports filed before it."""

    id: VerificationId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    candidate: str
    result: VerificationResult
    run: str | None = None


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A reviewer's findings on one candidate. ``tool`` names the program that made them, if one did."""

    id: ReviewId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    candidate: str
    verdict: Verdict
    text: str
    tool: str | None = None


class Observed(msgspec.Struct, frozen=True, kw_only=True, tag="observed", tag_field="kind"):
    """A pull request as it was seen."""

    state: Literal["open", "merged", "closed"]
    url: str | None = None
    head_branch: str | None = None
    head_sha: str | None = None
    base_branch: str | None = None
    merge_commit: str | None = None


class Unobserved(msgspec.Struct, frozen=True, kw_only=True, tag="uncertain", tag_field="kind"):
    """The look failed: nothing is known, least of all that it is open."""

    why: Literal["no-program", "time-limit", "failed", "unreadable"]


Observation: TypeAlias = Observed | Unobserved


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a pull request of a task. ``source`` is ``hand`` where a person stated it."""

    id: PublicationId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    source: Literal["github", "hand"]
    number: int
    repository: str | None = None
    observation: Observation


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something worth remembering about a task; owed to nobody."""

    id: NoteId
    seq: int
    at: float
    task: TaskId
    by: SeatId
    text: str
