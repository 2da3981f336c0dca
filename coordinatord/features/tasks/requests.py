"""What may be asked about tasks."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.tasks.records import Task
from coordinatord.wire.requests import Access, Listing, Mutation, Request

TaskName = Annotated[str, Meta(description="The task, such as t-1h6v5w0z.")]
_Word = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^\S+$")]


class NewTask(Mutation[Task], frozen=True, kw_only=True, tag="task.new"):
    """Record a task, and seat its worker if a pane is named."""

    access: ClassVar[Access] = Access.COORDINATION

    title: Annotated[str, Meta(description="A short title; one line.")]
    brief: Annotated[str, Meta(description="The approved brief: what is to be done.")] | None = None
    worker_pane: (
        Annotated[str, Meta(description="The pane whose agent works on it, such as w1:p2.")] | None
    ) = None
    agent: Annotated[_Word, Meta(description="The kind of agent that is to work on it.")] | None = (
        None
    )
    model: Annotated[_Word, Meta(description="The model that is asked for.")] | None = None
    reasoning: Annotated[_Word, Meta(description="The effort that is asked for.")] | None = None


class ListTasks(Request[Listing[Task]], frozen=True, kw_only=True, tag="task.list"):
    """List the active tasks, oldest first."""

    archived: Annotated[bool, Meta(description="Show the archived ones too.")] = False
