"""What may be asked about briefs and decisions."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.briefs.records import Decision, Revision
from coordinatord.features.tasks.requests import TaskName
from coordinatord.wire.requests import Access, Listing, Mutation, Request


class ListRevisions(Request[Listing[Revision]], frozen=True, kw_only=True, tag="brief.list"):
    """List the revisions of a task's brief, oldest first."""

    task: TaskName


class ReadBrief(Request[Revision], frozen=True, kw_only=True, tag="brief.read"):
    """Show a revision of a brief; the one in force, if a task is named."""

    brief: Annotated[str, Meta(description="A task, or a revision such as t-1h6v5w0z.r2.")]


class RegenerateBrief(Mutation[Revision], frozen=True, kw_only=True, tag="brief.regenerate"):
    """Make the next revision from the approved brief and all decisions. The same content makes none."""

    access: ClassVar[Access] = Access.COORDINATION

    task: TaskName
    policy: (
        Annotated[str, Meta(description="How the work will be verified; kept if not given.")] | None
    ) = None


class RequestBrief(Mutation[Revision], frozen=True, kw_only=True, tag="brief.request"):
    """Ask the worker to adopt the newest revision. An earlier request is over."""

    access: ClassVar[Access] = Access.COORDINATION

    brief: Annotated[str, Meta(description="A task, or its newest revision by id.")]


class AdoptBrief(Mutation[Revision], frozen=True, kw_only=True, tag="brief.adopt"):
    """Say that you work by the revision that was requested."""

    brief: Annotated[str, Meta(description="The revision, such as t-1h6v5w0z.r2, or its task.")]


class RecordDecision(Mutation[Decision], frozen=True, kw_only=True, tag="decision.record"):
    """Record a decision about a task. It goes into the next revision of its brief."""

    access: ClassVar[Access] = Access.COORDINATION

    task: TaskName
    text: Annotated[str, Meta(description="What is decided; - reads it from standard input.")]
