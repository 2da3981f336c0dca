"""Ends a task: nothing is owed on it any more, and nobody sits in it."""

from __future__ import annotations

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.briefs import table as briefs
from coordinatord.features.messages import table as messages
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table as questions
from coordinatord.features.reports import table as reports
from coordinatord.features.tasks import table as tasks
from coordinatord.features.tasks.records import Archived, Task
from coordinatord.features.tool_runs import table as tool_runs
from coordinatord.ids import COORDINATOR, SeatId
from coordinatord.store.database import Transaction


def archive(
    tx: Transaction, caller: Caller, name: str, acknowledge: bool, sources: Sources
) -> Task:
    """End a task. Its seats are vacated, so that their panes have no role in it any more.

    Raises:
        Refused: ``wrong-state`` where something is owed on it and that is not acknowledged.
    """
    task = tasks.task_named(tx, name)
    if isinstance(task.state, Archived):
        return task
    leaving = frozenset((ids.worker_of(task.id), ids.reviewer_of(task.id)))
    owed = [
        item
        for item in sources.owed(tx, tx.now).items
        if item.task == task.id or item.to in leaving
    ]
    if owed and not acknowledge:
        raise Refused(
            "wrong-state",
            f"Still owed on {task.id}: {', '.join(each.record for each in owed[:5])}.",
            f"Deal with them, or end them: coordctl archive {task.id} --acknowledge",
        )
    for ender in (questions.end_of_task, reports.end_of_task, briefs.end_of_task):
        ender(tx, task.id)
    for seat in sorted(leaving):
        messages.give_up(tx, caller, seat)
        tool_runs.give_up(tx, caller, seat)
        seats.vacate(tx, caller, seat)
    _find_other_parents(tx, caller, leaving)
    return tasks.archive(tx, caller, task)


def _find_other_parents(tx: Transaction, caller: Caller, leaving: frozenset[SeatId]) -> None:
    """Tasks that reported to whoever leaves report to the coordinator: somebody must be told."""
    for other in tasks.listed(tx, archived=False).items:
        if other.parent in leaving:
            tasks.set_parent(tx, caller, other, COORDINATOR)
