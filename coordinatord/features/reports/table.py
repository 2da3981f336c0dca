"""Reports and verifications in the database."""

from __future__ import annotations

from typing import Final

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.panes import authority
from coordinatord.features.panes.records import Caller
from coordinatord.features.reports.candidate import accept_candidate
from coordinatord.features.reports.records import (
    Report,
    Verification,
    VerificationResult,
    WorkOutcome,
)
from coordinatord.features.tasks.table import active_task
from coordinatord.ids import ReportId, TaskId, VerificationId
from coordinatord.prose import accept
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

# `state` is an index, not a fact: a report is settled when a verification with a higher seq exists
REPORTS: Final = RecordTable(
    "reports", Report, lambda report: {"task": report.task, "state": "unverified"}
)
VERIFICATIONS: Final = RecordTable(
    "verifications", Verification, lambda verification: {"task": verification.task}
)


def report_named(view: View, name: str) -> Report:
    """The report with this id.

    Raises:
        Refused: ``unknown-id``.
    """
    report = REPORTS.get(view, name)
    if report is None:
        raise Refused(
            "unknown-id", f"There is no report {name}.", "See what is owed: coordctl inbox"
        )
    return report


def owed(view: View) -> Found[Report]:
    """Reports that no coordinator has verified yet."""
    return REPORTS.select(view, "state = 'unverified'")


def is_verified(view: View, report: Report) -> bool:
    """Did the coordinator record a verification after this report?"""
    row = view.row(
        "SELECT 1 FROM verifications WHERE task = ? AND seq > ? LIMIT 1", report.task, report.seq
    )
    return row is not None


def of_task(view: View, task: TaskId) -> tuple[Found[Report], Found[Verification]]:
    """All reports and verifications of one task, oldest first."""
    return (
        REPORTS.select(view, "task = ?", task),
        VERIFICATIONS.select(view, "task = ?", task),
    )


def file(
    tx: Transaction, caller: Caller, task_name: str, outcome: WorkOutcome, text: str
) -> Report:
    """Record the worker's claim."""
    task = active_task(tx, task_name)
    authority.worker_only(caller, task.id, "report on it")
    accept(text, "the report")
    report = ReportId(tx.mint("report"))
    record = Report(
        id=report,
        seq=tx.journal(
            "report", report, task=task.id, seat=task.parent, actor=caller.seat, proof=caller.proof
        ),
        at=tx.now,
        task=task.id,
        by=caller.seat,
        outcome=outcome,
        text=text,
    )
    REPORTS.put(tx, record)
    return record


def verify(
    tx: Transaction,
    caller: Caller,
    task_name: str,
    candidate: str,
    result: VerificationResult,
    in_repository: bool,
) -> Verification:
    """Record what the coordinator found; the reports filed before it are settled."""
    task = active_task(tx, task_name)
    authority.not_own_work(caller, task.id, "verify its own work")
    accept_candidate(candidate, in_repository)
    verification = VerificationId(tx.mint("verification"))
    seq = tx.journal(
        "verification",
        verification,
        task=task.id,
        seat=ids.worker_of(task.id),
        actor=caller.seat,
        proof=caller.proof,
    )
    record = Verification(
        id=verification,
        seq=seq,
        at=tx.now,
        task=task.id,
        by=caller.seat,
        candidate=candidate,
        result=result,
    )
    VERIFICATIONS.put(tx, record)
    tx.run(
        "UPDATE reports SET state = 'verified' WHERE task = ? AND seq < ? AND state = 'unverified'",
        task.id,
        seq,
    )
    return record
