"""What may be asked about questions."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.questions.records import Question
from coordinatord.features.tasks.requests import TaskName
from coordinatord.wire.requests import Access, Mutation

QuestionName = Annotated[str, Meta(description="The question, such as q-9f3t8b2c.")]


class AskQuestion(Mutation[Question], frozen=True, kw_only=True, tag="question.ask"):
    """Ask the coordinator something about your task. It is told when it is free to read."""

    key_scope: ClassVar[str | None] = "task"

    task: TaskName
    text: Annotated[str, Meta(description="The question; - reads it from standard input.")]


class AnswerQuestion(Mutation[Question], frozen=True, kw_only=True, tag="question.answer"):
    """Answer a worker's question. An answer can be repeated, not changed."""

    question: QuestionName
    text: Annotated[str, Meta(description="The answer; - reads it from standard input.")]


class CloseQuestion(Mutation[Question], frozen=True, kw_only=True, tag="question.close"):
    """Say that an answer will never be applied, because the worker that asked is gone or was replaced."""

    access: ClassVar[Access] = Access.COORDINATION

    question: QuestionName
    reason: Annotated[str, Meta(description="Why it is closed; a sentence.")]


class ResolveQuestion(Mutation[Question], frozen=True, kw_only=True, tag="question.resolve"):
    """Say that you have applied the answer to your question."""

    question: QuestionName
