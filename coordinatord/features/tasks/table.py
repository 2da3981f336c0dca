"""Tasks in the database."""

from __future__ import annotations

from typing import Final

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.panes.records import Caller
from coordinatord.features.tasks.records import Active, Task
from coordinatord.ids import TaskId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

TASKS: Final = RecordTable(
    "tasks",
    Task,
    lambda task: {"state": "active" if isinstance(task.state, Active) else "archived"},
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
    if not isinstance(task.state, Active):
        raise Refused("wrong-state", f"{name} is archived: nothing more is recorded on it.")
    return task


def listed(view: View, archived: bool) -> Found[Task]:
    """The tasks, oldest first."""
    return TASKS.select(view) if archived else TASKS.select(view, "state = 'active'")


def add(tx: Transaction, caller: Caller, title: str, brief: str | None) -> Task:
    """Record a task."""
    task = TaskId(tx.mint("task"))
    record = Task(
        id=task,
        seq=tx.journal("task", task, task=task, actor=caller.seat, proof=caller.proof),
        at=tx.now,
        title=title,
        brief=brief,
        by=caller.seat,
    )
    TASKS.put(tx, record)
    return record
