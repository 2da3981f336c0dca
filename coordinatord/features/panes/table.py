"""Seats in the database."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord.features.panes.records import Caller, Role, Seat
from coordinatord.ids import PaneId, SeatId, TaskId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import RecordTable
from coordinatord.terminals.port import Occupant

SEATS: Final = RecordTable(
    "seats",
    Seat,
    lambda seat: {
        "pane": seat.pane,
        "terminal": seat.occupant.terminal_id if seat.occupant else None,
    },
)


def all_seats(view: View) -> list[Seat]:
    """Every readable seat that somebody has, oldest first."""
    return SEATS.select(view, "pane IS NOT NULL").items


def seat_or_none(view: View, seat: SeatId) -> Seat | None:
    """One seat, if it was ever taken or addressed."""
    return SEATS.get(view, seat)


def take(
    tx: Transaction,
    caller: Caller | None,
    seat: SeatId,
    role: Role,
    *,
    pane: PaneId | None,
    occupant: Occupant | None,
    task: TaskId | None = None,
) -> Seat:
    """Record who has the seat from now on; a new pane or occupant is a new binding."""
    known = SEATS.get(tx, seat)
    record = Seat(
        id=seat,
        seq=tx.journal("seat", seat, task=task, seat=seat, **_author(caller)),
        at=tx.now,
        role=role,
        task=task,
        pane=pane,
        occupant=occupant,
        binding=known.binding + 1 if known else 1,
        host=tx.host(),
    )
    SEATS.put(tx, record)
    return record


def refresh(tx: Transaction, seat: Seat, pane: PaneId, occupant: Occupant) -> Seat:
    """Adopt what a judgement that stands has shown (new terminal, conversation or pane): same binding."""
    if seat.pane == pane and seat.occupant == occupant:
        return seat
    tx.journal("seat", seat.id, task=seat.task, seat=seat.id, actor="coordinatord")
    record = msgspec.structs.replace(seat, pane=pane, occupant=occupant)
    SEATS.put(tx, record)
    return record


def adopt(tx: Transaction, caller: Caller) -> None:
    """Record what proving this caller has shown (a hand-off, a restored or a new conversation)."""
    known = SEATS.get(tx, caller.seat) if caller.adopts is not None else None
    if known is None or caller.adopts is None or caller.pane is None or not caller.proven:
        return
    if known.binding == caller.binding:
        refresh(tx, known, caller.pane, caller.adopts)


def vacate(tx: Transaction, caller: Caller | None, seat: SeatId) -> None:
    """Nobody has this seat from now on; who was in its pane has one seat less."""
    known = SEATS.get(tx, seat)
    if known is not None and known.occupant is not None:
        take(tx, caller, seat, known.role, pane=None, occupant=None, task=known.task)


def _author(caller: Caller | None) -> dict[str, str]:
    if caller is None:
        return {"actor": "coordinatord"}
    return {"actor": caller.seat, "proof": caller.proof}
