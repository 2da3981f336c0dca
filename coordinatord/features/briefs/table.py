"""Revisions and decisions in the database."""

from __future__ import annotations

import re
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


_ID: Final = re.compile(r"(.+)\.r([1-9][0-9]{0,8})", re.ASCII)


def number_in(name: str) -> tuple[str, int | None]:
    """The task in a revision's id, and its number; a task's id has none."""
    found = _ID.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


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


def requested_number(view: View, task: TaskId) -> int | None:
    """The number of the revision that the worker was asked to adopt, if there is one."""
    row = view.row("SELECT max(number) FROM briefs WHERE task = ? AND state = 'requested'", task)
    return row[0] if row else None


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
