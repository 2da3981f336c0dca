"""From records to what is owed, and the words for it. Pure (coordination.md §1.13)."""

from __future__ import annotations

from coordinatord.features.briefs.records import Revision
from coordinatord.features.messages.records import (
    Acknowledged,
    Delivered,
    Expired,
    InDoubt,
    InHand,
    Message,
    Owed,
    Withdrawn,
)
from coordinatord.features.obligations.records import Obligation, Telling
from coordinatord.features.questions.records import (
    Answered,
    Applied,
    ClosedUnapplied,
    Open,
    Question,
)
from coordinatord.features.reports.records import Report, Review
from coordinatord.ids import COORDINATOR, SeatId, worker_of


def from_question(question: Question, parent: SeatId | None = None) -> Obligation | None:
    """An open question is owed by the task's parent; an answer by the worker, until it is applied."""
    match question.state:
        case Open():
            return Obligation(
                id=f"question:{question.id}",
                kind="question",
                record=question.id,
                to=parent or question.to,
                seq=question.seq,
                since=question.at,
                task=question.task,
                weight="decision",
            )
        case Answered() as given:
            return Obligation(
                id=f"answer:{question.id}",
                kind="answer",
                record=question.id,
                to=worker_of(question.task),
                seq=given.seq,
                since=given.at,
                task=question.task,
            )
        case Applied() | ClosedUnapplied():
            return None


def from_report(report: Report, parent: SeatId = COORDINATOR) -> Obligation:
    """An unverified report is owed by the task's parent."""
    return Obligation(
        id=f"report:{report.id}",
        kind="report",
        record=report.id,
        to=parent,
        seq=report.seq,
        since=report.at,
        task=report.task,
    )


def from_review(review: Review, parent: SeatId = COORDINATOR) -> Obligation:
    """A review that nobody acted on is owed by the task's parent."""
    return Obligation(
        id=f"review:{review.id}",
        kind="review",
        record=review.id,
        to=parent,
        seq=review.seq,
        since=review.at,
        task=review.task,
    )


def from_revision(revision: Revision) -> Obligation:
    """A requested revision of a brief is owed by the worker until it is adopted."""
    return Obligation(
        id=f"refresh:{revision.id}",
        kind="refresh",
        record=revision.id,
        to=worker_of(revision.task),
        seq=revision.seq,
        since=revision.at,
        task=revision.task,
    )


def from_message(message: Message) -> Obligation | None:
    """A message is owed by its recipient until it is acknowledged, an inline one until it was typed; its
    expiry is owed to a sender until that one knows."""
    match message.state:
        case Owed() | InHand() | InDoubt():
            kind = "inline" if message.inline else "message"
            return Obligation(
                id=f"{kind}:{message.id}",
                kind=kind,
                record=message.id,
                to=message.to,
                seq=message.seq,
                since=message.at,
                alone=message.inline,
                doubtful=isinstance(message.state, InDoubt),
            )
        case Expired(known_at=None) as ended:
            return Obligation(
                id=f"expiry:{message.id}",
                kind="expiry",
                record=message.id,
                to=message.by,
                seq=ended.seq,
                since=ended.at,
            )
        case Delivered() | Acknowledged() | Expired() | Withdrawn():
            return None


def after(telling: Telling) -> Owed | InHand | InDoubt | Delivered:
    """An inline message's state while and after it is typed."""
    if telling.reached:
        return Delivered(
            at=telling.at,
            attempt=telling.attempt,
            sha256=telling.sha256,
            removed=telling.removed,
            file=telling.file,
        )
    if telling.doubtful:
        return InDoubt(at=telling.at, attempt=telling.attempt)
    return Owed() if telling.over else InHand(attempt=telling.attempt)


PHRASES = {
    "question": "question {record} on {task} is open",
    "answer": "answer to {record} on {task} is recorded, not applied",
    "report": "report {record} on {task} is filed, not verified",
    "review": "review {record} on {task} is filed, not acted on",
    "refresh": "brief {record} is requested, not adopted",
    "message": "message {record} is here",
    "inline": "message {record} is to be typed",
    "expiry": "message {record} expired before it was read",
}
READINGS = {**dict.fromkeys(PHRASES, "inbox"), "refresh": "brief show {record}"}
SETTLINGS = {
    "question": "answer {record} TEXT",
    "answer": "resolve {record}",
    "report": "verify {task} --candidate COMMIT --result pass|fail|inconclusive",
    "review": "verify {task} --candidate COMMIT --result pass|fail|inconclusive",
    "refresh": "brief adopt {record}",
    "message": "ack {record}",
    "inline": "withdraw {record}",
    "expiry": "ack {record}",
}


def worded(pattern: str, obligation: Obligation) -> str:
    """One of the patterns above with the record's ids in it: never a record's text."""
    return pattern.format(record=obligation.record, task=obligation.task)
