"""Answers `question.…`."""

from __future__ import annotations

from typing import Literal

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.panes.records import Caller, Outcome
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.table import seat_or_none
from coordinatord.features.questions import table
from coordinatord.features.questions.records import Question
from coordinatord.features.questions.requests import (
    AnswerQuestion,
    AskQuestion,
    CloseQuestion,
    ResolveQuestion,
)
from coordinatord.ids import SeatId, worker_of
from coordinatord.store.database import Database, Transaction


def ask(tx: Transaction, caller: Caller, request: AskQuestion) -> Question:
    """Record a question."""
    return table.ask(tx, caller, request.task, request.text)


def answer(tx: Transaction, caller: Caller, request: AnswerQuestion) -> Question:
    """Record an answer."""
    return table.answer(tx, caller, request.question, request.text)


def resolve(tx: Transaction, caller: Caller, request: ResolveQuestion) -> Question:
    """Record that an answer was applied."""
    return table.resolve(tx, caller, request.question)


class WorkerSeen(msgspec.Struct, frozen=True):
    """The worker's seat as observed before the transaction. ``binding`` 0: nobody ever had it."""

    seat: SeatId
    binding: int
    outcome: Outcome


class ClosingMethods:
    """`question.close` looks at the worker first: only one that is gone leaves an answer unapplied."""

    def __init__(self, database: Database, lookout: Lookout) -> None:
        self._database = database
        self._lookout = lookout

    async def look(self, caller: Caller, request: CloseQuestion) -> WorkerSeen:
        """Is the worker gone?"""
        question = await self._database.read(table.question_named, request.question)
        worker = worker_of(question.task)
        seat = await self._database.read(seat_or_none, worker)
        if seat is None or seat.vacant:
            return WorkerSeen(worker, seat.binding if seat else 0, "absent")
        return WorkerSeen(worker, seat.binding, (await self._lookout.judge(seat)).outcome)

    def close(
        self, tx: Transaction, caller: Caller, request: CloseQuestion, found: WorkerSeen
    ) -> Question:
        """Record that the answer will never be applied."""
        return table.close(tx, caller, request.question, request.reason, _gone(tx, found))


def _gone(tx: Transaction, found: WorkerSeen) -> Literal["absent", "replaced"]:
    seat = seat_or_none(tx, found.seat)
    if (seat.binding if seat else 0) != found.binding:
        raise Refused(
            "wrong-state", f"{found.seat} was seated anew just now.", "Look again, then decide."
        )
    if found.outcome not in ("absent", "replaced"):
        raise Refused(
            "wrong-state",
            f"{found.seat} is {found.outcome}: it may still apply the answer.",
            "An answer is closed only when the worker is gone or was replaced.",
        )
    return "absent" if found.outcome == "absent" else "replaced"
