"""Questions in the database, and their three changes."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.panes import authority
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions.records import (
    Answered,
    Applied,
    ClosedUnapplied,
    Open,
    Question,
)
from coordinatord.features.tasks.table import active_task
from coordinatord.ids import QuestionId, SeatId, TaskId
from coordinatord.prose import accept
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

REASON_BYTES: Final = 4096

QUESTIONS: Final = RecordTable(
    "questions",
    Question,
    lambda question: {"task": question.task, "state": _state(question)},
)


_OWED: Final = "state IN ('open', 'answered')"


def _state(question: Question) -> str:
    return str(question.state.__struct_config__.tag)


def question_named(view: View, name: str) -> Question:
    """The question with this id.

    Raises:
        Refused: ``bad-id`` or ``unknown-id``.
    """
    if ids.kind_of(name) != "question":
        raise Refused(
            "bad-id",
            f"{name!r:.80} is not a question id.",
            "A question id looks like q-9f3t8b2c: coordctl inbox",
        )
    question = QUESTIONS.get(view, name)
    if question is None:
        raise Refused(
            "unknown-id", f"There is no question {name}.", "See what is owed: coordctl inbox"
        )
    return question


def owed(view: View, to: SeatId | None = None) -> Found[Question]:
    """Questions that wait for an answer or for its application; ``to``: answers to other workers are left
    out (whom an open question waits for, its task says)."""
    if to is None:
        return QUESTIONS.select(view, _OWED)
    return QUESTIONS.select(view, f"{_OWED} AND (state = 'open' OR 'worker:' || task = ?)", to)


def of_task(view: View, task: TaskId) -> Found[Question]:
    """All questions of one task, oldest first."""
    return QUESTIONS.select(view, "task = ?", task)


def ask(tx: Transaction, caller: Caller, task_name: str, text: str) -> Question:
    """Record a question of the task's worker, or one that the coordinator captured for it."""
    task = active_task(tx, task_name)
    if not caller.coordinates:
        authority.worker_only(caller, task.id, "ask on it")
    question = QuestionId(tx.mint("question"))
    record = Question(
        id=question,
        seq=_journal(tx, question, task.id, task.parent, caller),
        at=tx.now,
        task=task.id,
        text=accept(text, "the question"),
        by=caller.seat,
        to=task.parent,
    )
    QUESTIONS.put(tx, record)
    return record


def answer(tx: Transaction, caller: Caller, name: str, text: str) -> Question:
    """Record the decision. The same text again changes nothing; another text is refused."""
    question = question_named(tx, name)
    authority.not_own_work(caller, question.task, "answer its own question")
    task = active_task(tx, question.task)
    authority.coordinates_task(caller, task.parent, f"answer {name}")
    accept(text, "the answer")
    match question.state:
        case Answered() as given:
            return _same_answer(question, given, text)
        case Applied(answer=given) | ClosedUnapplied(answer=given):
            return _same_answer(question, given, text)
        case Open():
            pass
    worker = ids.worker_of(question.task)
    state = Answered(
        text=text,
        at=tx.now,
        seq=_journal(tx, question.id, question.task, worker, caller),
        by=caller.seat,
    )
    return _put(tx, msgspec.structs.replace(question, state=state))


def resolve(tx: Transaction, caller: Caller, name: str) -> Question:
    """Record that the worker applied the answer. Doing it twice changes nothing."""
    question = question_named(tx, name)
    authority.worker_only(caller, question.task, f"resolve {name}")
    match question.state:
        case Applied():
            return question
        case Open():
            raise _unanswered(name)
        case ClosedUnapplied():
            raise Refused(
                "wrong-state",
                f"{name} was closed: its answer was never applied and cannot be any more.",
                f"Read it: coordctl show {name}. Ask again if the work goes on.",
            )
        case Answered() as given:
            seq = _journal(tx, question.id, question.task, None, caller)
            return _put(
                tx,
                msgspec.structs.replace(question, state=Applied(answer=given, at=tx.now, seq=seq)),
            )


def close(
    tx: Transaction, caller: Caller, name: str, reason: str, gone: Literal["absent", "replaced"]
) -> Question:
    """Record that the answer will never be applied; ``gone`` is what was seen of the worker.

    Raises:
        Refused: ``wrong-state`` for a question without an answer, or one that is over.
    """
    question = question_named(tx, name)
    accept(reason, "the reason", REASON_BYTES)
    match question.state:
        case Answered() as given:
            seq = _journal(tx, question.id, question.task, None, caller)
            state = ClosedUnapplied(
                answer=given, at=tx.now, seq=seq, by=caller.seat, reason=reason, outcome=gone
            )
            return _put(tx, msgspec.structs.replace(question, state=state))
        case ClosedUnapplied():
            return question
        case Open():
            raise _unanswered(name)
        case Applied():
            raise Refused("wrong-state", f"{name} is applied: nothing is left to be closed.")


def end_of_task(tx: Transaction, task: TaskId) -> None:
    """The task is archived: nothing on it is owed any more, whatever the records say."""
    tx.run(
        "UPDATE questions SET state = 'ended' WHERE task = ? AND state IN ('open', 'answered')",
        task,
    )


def _unanswered(name: str) -> Refused:
    return Refused(
        "wrong-state", f"{name} has no answer yet.", f"See where it stands: coordctl why {name}"
    )


def _same_answer(question: Question, given: Answered, text: str) -> Question:
    if given.text != text:
        raise Refused(
            "wrong-state",
            f"{question.id} was answered before with another text; an answer is never replaced.",
            f"Read it: coordctl show {question.id}. To correct it, send the worker a message.",
        )
    return question


def _put(tx: Transaction, question: Question) -> Question:
    QUESTIONS.put(tx, question)
    return question


def _journal(
    tx: Transaction, question: QuestionId, task: TaskId, seat: SeatId | None, caller: Caller
) -> int:
    return tx.journal(
        "question", question, task=task, seat=seat, actor=caller.seat, proof=caller.proof
    )


def answers_on(view: View, task: TaskId) -> list[tuple[Question, Answered]]:
    """The questions of a task that have an answer, with it, in the order of the answers."""
    found = [
        (question, given)
        for question in of_task(view, task).items
        if (given := answer_of(question)) is not None
    ]
    return sorted(found, key=lambda pair: pair[1].seq)


def answer_of(question: Question) -> Answered | None:
    """The decision, if there is one, applied or not."""
    match question.state:
        case Open():
            return None
        case Answered() as given:
            return given
        case Applied(answer=given) | ClosedUnapplied(answer=given):
            return given
