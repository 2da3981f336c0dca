"""Seats in the database."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.panes.judgement import STANDS
from coordinatord.features.panes.proof import judged_in
from coordinatord.features.panes.records import Caller, Present, Role, Seat
from coordinatord.ids import PaneId, SeatId, TaskId, peer_of
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


def unknown_seat(name: str) -> Refused:
    """Nobody is addressed like this."""
    return Refused(
        "unknown-seat",
        f"There is no seat {name!r:.80}.",
        "Seats are coordinator, worker:TASK, reviewer:TASK, peer:TERMINAL; coordctl rundown and"
        " coordctl pane list show them.",
    )


def seats_in(view: View, present: Present) -> list[Seat]:
    """The seats whose occupant is proven to be the one who is there, the most important first."""
    here = judged_in(present.seen, all_seats(view), present.occupant.shell)
    return [seat for seat, outcome in here if outcome in STANDS]


def awaited_in(view: View, present: Present) -> list[Seat]:
    """Seats whose conversation may still be restored in this pane: it was theirs, and shows no other one."""
    seen = present.seen
    return [
        seat
        for seat in all_seats(view)
        if seat.pane == seen.pane
        and seat.occupant is not None
        and seat.occupant.session is not None
        and seat.occupant.terminal_id != seen.terminal_id
        and seen.session in (None, seat.occupant.session)
    ]


def addressed(tx: Transaction, caller: Caller, present: Present) -> Seat:
    """The seat of the one who is there; a peer's seat is made if there is none.

    Raises:
        Refused: ``not-agent``: no agent is there, so nobody would be told.
    """
    here, (seen, occupant) = seats_in(tx, present), present
    if here:
        return here[0]
    if seen.agent is None:
        raise Refused(
            "not-agent",
            f"No agent runs in {seen.pane}: nobody is there to be told.",
            "Start one there, or type into the shell: coordctl pane send",
        )
    peer = peer_of(seen.terminal_id)
    return take(tx, caller, peer, "developer", pane=seen.pane, occupant=occupant)


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
    if seat.occupant is not None:
        # a launch token stays the occupant's when a host hands the pane over under a new terminal
        tx.run(
            "UPDATE launches SET terminal = ?, pane = ? WHERE terminal = ?",
            occupant.terminal_id,
            pane,
            seat.occupant.terminal_id,
        )
    record = msgspec.structs.replace(seat, pane=pane, occupant=occupant)
    SEATS.put(tx, record)
    return record


def adopt(tx: Transaction, caller: Caller) -> None:
    """Record what proving this caller has shown (a hand-off, a restored or a new conversation)."""
    for new in caller.adopts if caller.proven else ():
        known = SEATS.get(tx, new.seat)
        if known is not None and known.binding == new.binding:
            refresh(tx, known, new.pane, new.occupant)


def vacate(tx: Transaction, caller: Caller | None, seat: SeatId) -> None:
    """Nobody has this seat from now on; who was in its pane has one seat less."""
    known = SEATS.get(tx, seat)
    if known is not None and known.occupant is not None:
        take(tx, caller, seat, known.role, pane=None, occupant=None, task=known.task)


def _author(caller: Caller | None) -> dict[str, str]:
    if caller is None:
        return {"actor": "coordinatord"}
    return {"actor": caller.seat, "proof": caller.proof}
