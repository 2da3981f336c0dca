"""From records to what is owed, and the words for it. Pure (coordination.md §1.13)."""

from __future__ import annotations

from coordinatord.features.messages.records import Message
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.questions.records import Answered, Applied, Open, Question
from coordinatord.features.reports.records import Report
from coordinatord.ids import COORDINATOR, worker_of


def from_question(question: Question) -> Obligation | None:
    """An open question is owed by its addressee; an answer by the worker, until it is applied."""
    match question.state:
        case Open():
            return Obligation(
                id=f"question:{question.id}",
                kind="question",
                record=question.id,
                to=question.to,
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
        case Applied():
            return None


def from_report(report: Report) -> Obligation:
    """An unverified report is owed by the coordinator."""
    return Obligation(
        id=f"report:{report.id}",
        kind="report",
        record=report.id,
        to=COORDINATOR,
        seq=report.seq,
        since=report.at,
        task=report.task,
    )


def from_message(message: Message) -> Obligation:
    """A message is owed by its recipient until it is acknowledged."""
    return Obligation(
        id=f"message:{message.id}",
        kind="message",
        record=message.id,
        to=message.to,
        seq=message.seq,
        since=message.at,
    )


PHRASES = {
    "question": "question {record} on {task} is open",
    "answer": "answer to {record} on {task} is recorded, not applied",
    "report": "report {record} on {task} is filed, not verified",
    "message": "message {record} is here",
}
READINGS = dict.fromkeys(PHRASES, "inbox")
SETTLINGS = {
    "question": "answer {record} TEXT",
    "answer": "resolve {record}",
    "report": "verify {task} --candidate COMMIT --result pass|fail|inconclusive",
    "message": "ack {record}",
}


def worded(pattern: str, obligation: Obligation) -> str:
    """One of the patterns above with the record's ids in it: never a record's text."""
    return pattern.format(record=obligation.record, task=obligation.task)
