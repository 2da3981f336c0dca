"""Answers `seat.bind`: who works on a task, who reviews it, and who it reports to."""

from __future__ import annotations

from coordinatord.errors import Refused
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.records import Caller, Present, Seat
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tasks import table
from coordinatord.features.tasks.records import Archived, Task
from coordinatord.ids import COORDINATOR, PaneId, reviewer_of, worker_of
from coordinatord.store.database import Transaction


class BindMethods:
    """The route; what must be seen is seen before the transaction."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout = lookout

    async def look(self, caller: Caller, request: BindSeat) -> Present:
        """Who is in the pane that is named."""
        return await occupant_in(self._lookout, _pane_of(caller, request))


def bind(tx: Transaction, caller: Caller, request: BindSeat, found: Present) -> Seat:
    """Seat one of the three; an earlier binding's attempts do not count for the new one."""
    task = table.active_task(tx, request.task)
    if request.worker_pane is not None:
        return seat_worker(tx, caller, task, found)
    if request.reviewer_pane is not None:
        return seat_reviewer(tx, caller, task, found)
    return _seat_parent(tx, caller, task, found)


def seat_worker(tx: Transaction, caller: Caller, task: Task, found: Present) -> Seat:
    """The worker of a task is the occupant of this pane from now on.

    Raises:
        Refused: ``seat-taken``, the pane is the coordinator's, or works on another task.
    """
    pane, occupant = found.seen.pane, found.occupant
    here = seats.seats_in(tx, found)
    for seat in (*here, *seats.awaited_in(tx, found)):
        _check_worker(task, pane, seat)
    for seat in here:
        if seat.role == "worker" and seat.task != task.id and _works(tx, seat):
            raise Refused(
                "seat-taken",
                f"{pane} is the pane of the worker of {seat.task} already.",
                "Name another pane, or archive that task first.",
            )
    worker = worker_of(task.id)
    return seats.take(tx, caller, worker, "worker", pane=pane, occupant=occupant, task=task.id)


def _check_worker(task: Task, pane: PaneId, seat: Seat) -> None:
    """A seat that is here, or whose conversation may be restored here, must not judge the task's work."""
    if seat.id == COORDINATOR:
        raise Refused(
            "seat-taken",
            f"{pane} is the coordinator's pane.",
            "Name another pane as the worker's, or let another pane take that seat first.",
        )
    if seat.id == reviewer_of(task.id):
        raise Refused(
            "seat-taken",
            f"{pane} is the pane of the reviewer of {task.id}: nobody reviews his own work.",
            "Bind another reviewer first, or name another pane as the worker's.",
        )
    if seat.id == task.parent:
        raise Refused(
            "seat-taken",
            f"{pane} is the pane that {task.id} reports to.",
            "Name another pane as the worker's: nobody answers his own questions.",
        )


def seat_reviewer(tx: Transaction, caller: Caller, task: Task, found: Present) -> Seat:
    """The reviewer of a task is the occupant of this pane from now on.

    Raises:
        Refused: ``not-allowed``, the worker's own pane.
    """
    pane, occupant = found.seen.pane, found.occupant
    if _has_worker(tx, task, found):
        raise Refused(
            "not-allowed",
            f"{pane} is the pane of the worker of {task.id}: nobody reviews his own work.",
            "Name another pane as the reviewer's.",
        )
    reviewer = reviewer_of(task.id)
    return seats.take(tx, caller, reviewer, "reviewer", pane=pane, occupant=occupant, task=task.id)


def _seat_parent(tx: Transaction, caller: Caller, task: Task, found: Present) -> Seat:
    if _has_worker(tx, task, found):
        raise Refused(
            "not-allowed",
            f"{found.seen.pane} is the pane of the worker of {task.id}: it cannot report to itself.",
            "Name another pane as the parent's.",
        )
    seat = seats.addressed(tx, caller, found)
    table.set_parent(tx, caller, task, seat.id)
    return seat


def _has_worker(tx: Transaction, task: Task, found: Present) -> bool:
    here = (*seats.seats_in(tx, found), *seats.awaited_in(tx, found))
    return any(seat.id == worker_of(task.id) for seat in here)


def _works(tx: Transaction, seat: Seat) -> bool:
    task = table.TASKS.get(tx, seat.task) if seat.task else None
    return task is not None and not isinstance(task.state, Archived)


def _pane_of(caller: Caller, request: BindSeat) -> str:
    named = [request.worker_pane, request.reviewer_pane, request.parent_pane]
    wanted = [pane for pane in named if pane is not None]
    if len(wanted) + request.parent_only != 1:
        raise Refused(
            "bad-params",
            "Exactly one of worker, reviewer and parent is bound at a time.",
            "--worker-pane PANE, --reviewer-pane PANE, --parent-pane PANE or --parent-only",
        )
    if wanted:
        return wanted[0]
    if caller.pane is None:
        raise Refused(
            "no-pane",
            "A task reports to a pane, and you are in none.",
            "Name one: --parent-pane PANE",
        )
    return caller.pane
