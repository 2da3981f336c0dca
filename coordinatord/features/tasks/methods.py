"""Answers `task.…` and `seat.bind`, which seats a task's worker."""

from __future__ import annotations

from coordinatord.errors import Refused
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tasks import table
from coordinatord.features.tasks.records import Task
from coordinatord.features.tasks.requests import ListTasks, NewTask
from coordinatord.ids import COORDINATOR, PaneId, TaskId, worker_of
from coordinatord.prose import accept
from coordinatord.store.database import Transaction, View
from coordinatord.terminals.port import Occupant
from coordinatord.wire.requests import Listing

TITLE_BYTES = 400
"""Longest title in bytes of UTF-8: it stands in lists."""


class TaskMethods:
    """Routes of this feature; what must be seen is seen before the transaction."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout = lookout

    async def look(
        self, caller: Caller, request: NewTask | BindSeat
    ) -> tuple[PaneId, Occupant] | None:
        """Who is in the worker's pane, if one is named."""
        if request.worker_pane is None:
            return None
        seen, occupant = await occupant_in(self._lookout, request.worker_pane)
        return seen.pane, occupant


def new(
    tx: Transaction, caller: Caller, request: NewTask, found: tuple[PaneId, Occupant] | None
) -> Task:
    """Record the task, and its worker's seat."""
    accept(request.title, "the title", TITLE_BYTES)
    if not request.title.isprintable():
        raise Refused(
            "bad-params", "The title must be one printable line.", "Put the rest into --brief."
        )
    if request.brief is not None:
        accept(request.brief, "the brief")
    task = table.add(tx, caller, request.title, request.brief)
    if found is not None:
        _seat_worker(tx, caller, task.id, *found)
    return task


def bind(
    tx: Transaction, caller: Caller, request: BindSeat, found: tuple[PaneId, Occupant] | None
) -> Seat:
    """Seat the worker of a task in the pane that was seen; an earlier binding's attempts do not count."""
    task = table.active_task(tx, request.task)
    if found is None:
        raise Refused("bad-params", "A worker's pane must be named.", "--worker-pane PANE")
    return _seat_worker(tx, caller, task.id, *found)


def listed(view: View, caller: Caller, request: ListTasks) -> Listing[Task]:
    """The tasks, oldest first."""
    found = table.listed(view, request.archived)
    return Listing(items=found.items, incomplete=bool(found.unreadable))


def _seat_worker(
    tx: Transaction, caller: Caller, task: TaskId, pane: PaneId, occupant: Occupant
) -> Seat:
    for seat in seats.all_seats(tx):
        here = seat.occupant is not None and seat.occupant.terminal_id == occupant.terminal_id
        if here and seat.id == COORDINATOR:
            raise Refused(
                "seat-taken",
                f"{pane} is the coordinator's pane.",
                "Name another pane as the worker's.",
            )
        if here and seat.role == "worker" and seat.task != task and _works(tx, seat):
            raise Refused(
                "seat-taken",
                f"{pane} is the pane of the worker of {seat.task} already.",
                "Name another pane, or archive that task first.",
            )
    return seats.take(
        tx, caller, worker_of(task), "worker", pane=pane, occupant=occupant, task=task
    )


def _works(tx: Transaction, seat: Seat) -> bool:
    return seat.task is not None and any(
        task.id == seat.task for task in table.listed(tx, archived=False).items
    )
