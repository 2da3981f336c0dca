"""The shapes of the rundown and of a task's context."""

from __future__ import annotations

import msgspec

from coordinatord.features.briefs.records import Decided
from coordinatord.features.reports.records import (
    Handoff,
    Note,
    Review,
    Verification,
    VerificationResult,
)
from coordinatord.features.tasks.records import Status
from coordinatord.ids import PaneId, SeatId, TaskId


class Debt(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is owed on a task. ``state`` is how far telling has come."""

    id: str
    kind: str
    to: SeatId
    seq: int
    since: float
    age_s: float
    state: str


class RundownItem(msgspec.Struct, frozen=True, kw_only=True):
    """One active task: how it stands, who works on it, and who owes what.

    ``verification`` is what was found last, if nothing was reported since: a reported task is not a
    verified one, and its status stays the same.
    """

    id: TaskId
    seq: int
    at: float
    title: str
    status: Status
    verification: VerificationResult | None = None
    parent: SeatId
    worker_pane: PaneId | None = None
    owed: list[Debt] = []


class Rundown(msgspec.Struct, frozen=True, kw_only=True):
    """Every active task, the oldest open decision first. ``more`` tasks are left out.

    ``unreadable`` names records that could not be read: what is counted is not everything then.
    """

    items: list[RundownItem]
    decisions: int
    owed: int
    oldest_decision_s: float | None = None
    more: int = 0
    incomplete: bool = False
    unreadable: list[str] = []


class Outstanding(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is open, or whose answer is not applied."""

    id: str
    asked: str
    answer: str | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker needs to go on with a task. Outstanding decisions are always whole; ``cut`` names
    the other parts that are not. What looks like a credential is left out of this view."""

    id: TaskId
    seq: int
    at: float
    title: str
    status: Status
    brief: str
    brief_number: int
    requested_number: int | None = None
    outstanding: list[Outstanding] = []
    decisions: list[Decided] = []
    report: str | None = None
    report_id: str | None = None
    handoff: Handoff | None = None
    verification: Verification | None = None
    reviews: list[Review] = []
    notes: list[Note] = []
    re_review: list[str] = []
    """Reports filed under a brief whose verification policy has changed since."""
    cut: list[str] = []
    incomplete: bool = False


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One act: which record changed, who did it, how that one was proven, and on which machine.

    ``act`` is the request that it was, such as ``question.answer``; empty where nobody asked for it.
    """

    id: str
    seq: int
    at: float
    kind: str
    actor: str
    proof: str = ""
    task: str | None = None
    seat: str | None = None
    host: str = ""
    act: str = ""
