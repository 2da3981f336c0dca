"""Tasks in the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.panes.records import Caller
from coordinatord.features.tasks.records import (
    Archived,
    LaunchSpecification,
    Task,
    TaskState,
    may_become,
)
from coordinatord.ids import SeatId, TaskId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

TASKS: Final = RecordTable(
    "tasks",
    Task,
    lambda task: {"state": "archived" if isinstance(task.state, Archived) else "active"},
)


def task_named(view: View, name: str) -> Task:
    """The task with this id.

    Raises:
        Refused: ``bad-id`` or ``unknown-id``.
    """
    if ids.kind_of(name) != "task":
        raise Refused(
            "bad-id",
            f"{name!r:.80} is not a task id.",
            "A task id looks like t-1h6v5w0z: coordctl task list",
        )
    task = TASKS.get(view, name)
    if task is None:
        raise Refused("unknown-id", f"There is no task {name}.", "List them: coordctl task list")
    return task


def active_task(view: View, name: str) -> Task:
    """The task with this id, if it is not archived.

    Raises:
        Refused: ``bad-id``, ``unknown-id``, ``wrong-state``.
    """
    task = task_named(view, name)
    if isinstance(task.state, Archived):
        raise Refused("wrong-state", f"{name} is archived: nothing more is recorded on it.")
    return task


def listed(view: View, archived: bool) -> Found[Task]:
    """The tasks, oldest first."""
    return TASKS.select(view) if archived else TASKS.select(view, "state = 'active'")


def parents(view: View, tasks: Iterable[TaskId]) -> dict[TaskId, SeatId]:
    """Whom these tasks report to now; one that cannot be read is left out."""
    return {task.id: task.parent for task in TASKS.among(view, tasks).items}


def add(
    tx: Transaction,
    caller: Caller,
    title: str,
    brief: str | None,
    launch: LaunchSpecification | None = None,
) -> Task:
    """Record a task."""
    task = TaskId(tx.mint("task"))
    record = Task(
        id=task,
        seq=tx.journal("task", task, task=task, actor=caller.seat, proof=caller.proof),
        at=tx.now,
        title=title,
        brief=brief,
        by=caller.seat,
        host=tx.host(),
        launch=launch,
    )
    TASKS.put(tx, record)
    return record


def set_parent(tx: Transaction, caller: Caller, task: Task, parent: SeatId) -> Task:
    """What is owed on the task is owed to another seat from now on."""
    if task.parent == parent:
        return task
    _journal(tx, caller, task.id, parent)
    return _put(tx, msgspec.structs.replace(task, parent=parent))


def move(tx: Transaction, caller: Caller, task: Task, state: TaskState) -> Task:
    """Let the task's life go on.

    Raises:
        Refused: ``wrong-state``, this does not follow from where it stands.
    """
    if not may_become(task.state, state):
        raise Refused(
            "wrong-state",
            f"{task.id} is {_word(task.state)}: it cannot become {_word(state)}.",
            f"See how it stands: coordctl show {task.id}",
        )
    _journal(tx, caller, task.id, None)
    return _put(tx, msgspec.structs.replace(task, state=state))


def archive(tx: Transaction, caller: Caller, task: Task) -> Task:
    """It is over."""
    seq = _journal(tx, caller, task.id, None)
    state = Archived(at=tx.now, seq=seq, by=caller.seat)
    if not may_become(task.state, state):
        raise Refused(
            "wrong-state",
            f"{task.id} is {_word(task.state)} and cannot be archived now.",
            f"See how it stands: coordctl show {task.id}",
        )
    return _put(tx, msgspec.structs.replace(task, state=state))


def _put(tx: Transaction, task: Task) -> Task:
    TASKS.put(tx, task)
    return task


def _journal(tx: Transaction, caller: Caller, task: TaskId, seat: SeatId | None) -> int:
    return tx.journal("task", task, task=task, seat=seat, actor=caller.seat, proof=caller.proof)


def _word(state: TaskState) -> str:
    return str(state.__struct_config__.tag)
