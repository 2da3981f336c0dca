"""Revisions and decisions in the database."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.briefs.records import Decision, Revision, RevisionState
from coordinatord.features.panes.records import Caller
from coordinatord.ids import TaskId, worker_of
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

REVISIONS: Final = RecordTable(
    "briefs",
    Revision,
    lambda revision: {
        "task": revision.task,
        "number": revision.number,
        "state": revision.state,
    },
)
DECISIONS: Final = RecordTable("decisions", Decision, lambda decision: {"task": decision.task})


def number_in(name: str) -> tuple[str, int | None]:
    """The task in a revision's id, and its number; a task's id has none."""
    task, dot, number = name.partition(".r")
    return (task, int(number)) if dot and number.isdecimal() else (name, None)


def of_task(view: View, task: TaskId) -> Found[Revision]:
    """The stored revisions of a task, oldest first."""
    return REVISIONS.select(view, "task = ?", task, order="number")


def next_number(view: View, task: TaskId) -> int:
    """Also one that cannot be read keeps its number."""
    row = view.row("SELECT max(number) FROM briefs WHERE task = ?", task)
    return int(row[0] or 0) + 1 if row else 1


def requested(view: View) -> Found[Revision]:
    """Revisions that a worker was asked to adopt and has not."""
    return REVISIONS.select(view, "state = 'requested'")


def active_number(view: View, task: TaskId) -> int:
    """The number of the revision in force; the first one is derived from the task."""
    row = view.row("SELECT max(number) FROM briefs WHERE task = ? AND state = 'active'", task)
    return int(row[0] or 1) if row else 1


def add(tx: Transaction, revision: Revision) -> Revision:
    """Store a new revision.

    Raises:
        Refused: ``wrong-state`` where its number is taken: no revision is ever written over.
    """
    if REVISIONS.get(tx, revision.id) is not None:
        raise Refused("wrong-state", f"{revision.id} is there already.")
    REVISIONS.put(tx, revision)
    return revision


def move(tx: Transaction, caller: Caller, revision: Revision, state: RevisionState) -> Revision:
    """Change what a revision is; its text stays."""
    moved = msgspec.structs.replace(revision, state=state)
    if state == "requested":
        moved = msgspec.structs.replace(moved, seq=journal(tx, caller, revision.id, revision.task))
    else:
        journal(tx, caller, revision.id, revision.task)
    REVISIONS.put(tx, moved)
    return moved


def journal(tx: Transaction, caller: Caller, id: str, task: TaskId) -> int:
    """The line that says that a revision changed."""
    return tx.journal(
        "brief", id, task=task, seat=worker_of(task), actor=caller.seat, proof=caller.proof
    )


def end_of_task(tx: Transaction, task: TaskId) -> None:
    """The task is archived: no revision is to be adopted any more."""
    tx.run("UPDATE briefs SET state = 'ended' WHERE task = ? AND state = 'requested'", task)
