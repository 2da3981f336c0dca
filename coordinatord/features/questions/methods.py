"""Answers `question.…`."""

from __future__ import annotations

from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table
from coordinatord.features.questions.records import Question
from coordinatord.features.questions.requests import AnswerQuestion, AskQuestion, ResolveQuestion
from coordinatord.store.database import Transaction


def ask(tx: Transaction, caller: Caller, request: AskQuestion) -> Question:
    """Record a question."""
    return table.ask(tx, caller, request.task, request.text)


def answer(tx: Transaction, caller: Caller, request: AnswerQuestion) -> Question:
    """Record an answer."""
    return table.answer(tx, caller, request.question, request.text)


def resolve(tx: Transaction, caller: Caller, request: ResolveQuestion) -> Question:
    """Record that an answer was applied."""
    return table.resolve(tx, caller, request.question)
