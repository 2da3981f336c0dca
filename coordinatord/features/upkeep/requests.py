"""What may be asked of upkeep."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.tasks.records import Task
from coordinatord.features.tasks.requests import TaskName
from coordinatord.features.upkeep.records import Finding, Page, Pruned, Saved
from coordinatord.wire.requests import Access, Listing, Mutation, Request


class ArchiveTask(Mutation[Task], frozen=True, kw_only=True, tag="task.archive"):
    """Archive a task: nothing is owed on it any more, and its panes have no role. Nothing is stopped."""

    access: ClassVar[Access] = Access.COORDINATION

    task: TaskName
    acknowledge: Annotated[
        bool, Meta(description="End what is still owed on it, instead of refusing.")
    ] = False


class BackUp(Mutation[Saved], frozen=True, kw_only=True, tag="upkeep.backup"):
    """Write a copy of all records to a new file, while everything goes on, and read it again."""

    access: ClassVar[Access] = Access.COORDINATION

    destination: (
        Annotated[str, Meta(description="A new file; in .coordinatord/backups if it is not given.")]
        | None
    ) = None


class Examine(Mutation[Listing[Finding]], frozen=True, kw_only=True, tag="upkeep.doctor"):
    """Look whether everything is sound: store, records, debts, files, terminal host, seats, clock."""

    access: ClassVar[Access] = Access.ANYONE

    fix: Annotated[bool, Meta(description="Repair what can be repaired safely.")] = False


class Export(Request[Page], frozen=True, kw_only=True, tag="upkeep.export"):
    """Read all records, part by part, as they are stored."""

    after: (
        Annotated[
            str,
            Meta(
                max_length=200,
                pattern=r"^\w+:[\w:.-]*$",
                description="Where the last part ended.",
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="Most records in a part.")] = 500


class Prune(Mutation[Pruned], frozen=True, kw_only=True, tag="upkeep.prune"):
    """Remove archived tasks that are older, with their records, and what else is over and as old.

    Living seats and debts are kept.
    """

    access: ClassVar[Access] = Access.COORDINATION

    older_than_s: Annotated[
        float, Meta(ge=0, description="Age since it was archived or over, for example 90d.")
    ]
    dry_run: Annotated[bool, Meta(description="Only say what would be removed.")] = False
