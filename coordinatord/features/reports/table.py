"""Reports, reviews, verifications and publications in the database.

The ``state`` column of reports and reviews is an index, not a fact: what settles one is a later record, and
whoever writes that record moves the index along. `doctor` compares it with the records.
"""

from __future__ import annotations

from typing import Final

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.panes.records import Caller
from coordinatord.features.reports.records import (
    Note,
    Observed,
    Publication,
    Report,
    Review,
    Verification,
)
from coordinatord.ids import SeatId, TaskId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

REPORTS: Final = RecordTable(
    "reports", Report, lambda report: {"task": report.task, "state": "unverified"}
)
VERIFICATIONS: Final = RecordTable(
    "verifications", Verification, lambda verification: {"task": verification.task}
)
REVIEWS: Final = RecordTable(
    "reviews",
    Review,
    lambda review: {"task": review.task, "candidate": review.candidate, "state": "open"},
)
PUBLICATIONS: Final = RecordTable(
    "publications", Publication, lambda publication: {"task": publication.task}
)
NOTES: Final = RecordTable("task_notes", Note, lambda note: {"task": note.task})


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


def reviews_owed(view: View) -> Found[Review]:
    """Reviews that nobody has acted on yet."""
    return REVIEWS.select(view, "state = 'open'")


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


def last_report_seq(view: View, task: TaskId) -> int:
    """The order of the newest report on a task; 0: none."""
    row = view.row("SELECT max(seq) FROM reports WHERE task = ?", task)
    return int(row[0] or 0) if row else 0


def last_publication(view: View, task: TaskId) -> Publication | None:
    """The newest look at the task's pull request."""
    found = PUBLICATIONS.select(view, "task = ?", task, order="seq DESC", limit=1).items
    return found[0] if found else None


def add_report(tx: Transaction, report: Report) -> Report:
    """Store a claim. Reviews of another candidate than the one it names are over."""
    REPORTS.put(tx, report)
    if report.handoff is not None and report.handoff.run is not None:
        claim_run(tx, report.task, report.handoff.run, report.id)
    if report.candidate is not None:
        _settle_other_reviews(tx, report.task, report.seq, report.candidate)
    return report


def add_verification(tx: Transaction, verification: Verification) -> Verification:
    """Store a finding: the reports before it, and the reviews of its candidate, are settled."""
    if verification.run is not None:
        claim_run(tx, verification.task, verification.run, verification.id)
    VERIFICATIONS.put(tx, verification)
    _settle_reports(tx, verification.task, verification.seq)
    _settle_reviews(tx, verification.task, verification.seq, verification.candidate)
    return verification


def add_review(tx: Transaction, review: Review) -> Review:
    """Store findings. Earlier ones on another candidate are over."""
    REVIEWS.put(tx, review)
    _settle_other_reviews(tx, review.task, review.seq, review.candidate)
    return review


def add_publication(tx: Transaction, publication: Publication) -> Publication:
    """Store a look. Only one that saw something settles reports, and reviews of the commit it saw."""
    PUBLICATIONS.put(tx, publication)
    if isinstance(publication.observation, Observed):
        _settle_reports(tx, publication.task, publication.seq)
        head = publication.observation.head_sha
        if head is not None:
            _settle_reviews(tx, publication.task, publication.seq, head)
    return publication


def claim_run(tx: Transaction, task: TaskId, run: str, record: str) -> None:
    """A run belongs to the record that named it first: a worker's is never the coordinator's.

    Raises:
        Refused: ``wrong-state``.
    """
    if not tx.run(
        "INSERT OR IGNORE INTO runs (task, run, record) VALUES (?, ?, ?)", task, run, record
    ):
        row = tx.row("SELECT record FROM runs WHERE task = ? AND run = ?", task, run)
        raise Refused(
            "wrong-state",
            f"The run {run!r:.80} was recorded before, by {row[0] if row else 'another record'}.",
            "Run it again and name the new run.",
        )


def end_of_task(tx: Transaction, task: TaskId) -> None:
    """The task is archived: nothing on it is owed any more."""
    tx.run("UPDATE reports SET state = 'ended' WHERE task = ? AND state = 'unverified'", task)
    tx.run("UPDATE reviews SET state = 'ended' WHERE task = ? AND state = 'open'", task)


def journal(
    tx: Transaction, caller: Caller, kind: ids.Kind, id: str, task: TaskId, seat: SeatId | None
) -> int:
    """The line that says that one of these records was made."""
    return tx.journal(kind, id, task=task, seat=seat, actor=caller.seat, proof=caller.proof)


def _settle_reports(tx: Transaction, task: TaskId, seq: int) -> None:
    tx.run(
        "UPDATE reports SET state = 'verified' WHERE task = ? AND seq < ? AND state = 'unverified'",
        task,
        seq,
    )


def _settle_reviews(tx: Transaction, task: TaskId, seq: int, candidate: str) -> None:
    tx.run(
        "UPDATE reviews SET state = 'acted'"
        " WHERE task = ? AND seq < ? AND candidate = ? AND state = 'open'",
        task,
        seq,
        candidate,
    )


def _settle_other_reviews(tx: Transaction, task: TaskId, seq: int, candidate: str) -> None:
    tx.run(
        "UPDATE reviews SET state = 'acted'"
        " WHERE task = ? AND seq < ? AND candidate <> ? AND state = 'open'",
        task,
        seq,
        candidate,
    )
