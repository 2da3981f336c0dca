"""Answers `seat.bind`: who works on a task, who reviews it, and who it reports to."""

from __future__ import annotations

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.proof import seat_of
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tasks import table
from coordinatord.features.tasks.records import Archived, Task
from coordinatord.ids import COORDINATOR, PaneId, SeatId, peer_of, reviewer_of, worker_of
from coordinatord.store.database import Transaction
from coordinatord.terminals.port import Occupant, Sighting


class Bound(msgspec.Struct, frozen=True):
    """The pane that is named, as seen just now."""

    seen: Sighting
    occupant: Occupant


class BindMethods:
    """The route; what must be seen is seen before the transaction."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout = lookout

    async def look(self, caller: Caller, request: BindSeat) -> Bound:
        """Who is in the pane that is named."""
        return Bound(*await occupant_in(self._lookout, _pane_of(caller, request)))


def bind(tx: Transaction, caller: Caller, request: BindSeat, found: Bound) -> Seat:
    """Seat one of the three; an earlier binding's attempts do not count for the new one."""
    task = table.active_task(tx, request.task)
    if request.worker_pane is not None:
        return seat_worker(tx, caller, task, found.seen.pane, found.occupant)
    if request.reviewer_pane is not None:
        return seat_reviewer(tx, caller, task, found.seen.pane, found.occupant)
    return _seat_parent(tx, caller, task, found)


def seat_worker(
    tx: Transaction, caller: Caller, task: Task, pane: PaneId, occupant: Occupant
) -> Seat:
    """The worker of a task is the occupant of this pane from now on.

    Raises:
        Refused: ``seat-taken``, the pane is the coordinator's, or works on another task.
    """
    for seat in _seats_at(tx, occupant):
        if seat.id == COORDINATOR:
            raise Refused(
                "seat-taken",
                f"{pane} is the coordinator's pane.",
                "Name another pane as the worker's.",
            )
        if seat.role == "worker" and seat.task != task.id and _works(tx, seat):
            raise Refused(
                "seat-taken",
                f"{pane} is the pane of the worker of {seat.task} already.",
                "Name another pane, or archive that task first.",
            )
        if seat.id == task.parent:
            raise Refused(
                "seat-taken",
                f"{pane} is the pane that {task.id} reports to.",
                "Name another pane as the worker's: nobody answers his own questions.",
            )
    worker = worker_of(task.id)
    return seats.take(tx, caller, worker, "worker", pane=pane, occupant=occupant, task=task.id)


def seat_reviewer(
    tx: Transaction, caller: Caller, task: Task, pane: PaneId, occupant: Occupant
) -> Seat:
    """The reviewer of a task is the occupant of this pane from now on.

    Raises:
        Refused: ``not-allowed``, the worker's own pane.
    """
    if any(seat.id == worker_of(task.id) for seat in _seats_at(tx, occupant)):
        raise Refused(
            "not-allowed",
            f"{pane} is the pane of the worker of {task.id}: nobody reviews his own work.",
            "Name another pane as the reviewer's.",
        )
    reviewer = reviewer_of(task.id)
    return seats.take(tx, caller, reviewer, "reviewer", pane=pane, occupant=occupant, task=task.id)


def _seat_parent(tx: Transaction, caller: Caller, task: Task, found: Bound) -> Seat:
    if any(seat.id == worker_of(task.id) for seat in _seats_at(tx, found.occupant)):
        raise Refused(
            "not-allowed",
            f"{found.seen.pane} is the pane of the worker of {task.id}: it cannot report to itself.",
            "Name another pane as the parent's.",
        )
    known = seat_of(found.seen, seats.all_seats(tx), found.occupant.shell)
    if known is None and found.seen.agent is None:
        raise Refused(
            "not-agent",
            f"No agent runs in {found.seen.pane}: nobody is there to be told.",
            "Start one there first.",
        )
    parent = known or peer_of(found.seen.terminal_id)
    seat = seats.seat_or_none(tx, parent) or seats.take(
        tx, caller, parent, "developer", pane=found.seen.pane, occupant=found.occupant
    )
    table.set_parent(tx, caller, task, SeatId(seat.id))
    return seat


def _seats_at(tx: Transaction, occupant: Occupant) -> list[Seat]:
    return [
        seat
        for seat in seats.all_seats(tx)
        if seat.occupant is not None and seat.occupant.terminal_id == occupant.terminal_id
    ]


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
