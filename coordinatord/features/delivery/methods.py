"""Answers `seat.init`, `delivery.notice` and `delivery.pump`."""

from __future__ import annotations

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.delivery import pacing, table
from coordinatord.features.delivery.records import Initiated, OwedItem, Pass, Told
from coordinatord.features.delivery.requests import InitSeat, NoticeSeat, PumpNow
from coordinatord.features.delivery.run import Pump
from coordinatord.features.delivery.run_switch import first_coordinator
from coordinatord.features.delivery.switch import Switch
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.judgement import occupant_of, refreshed
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.roles import Grant, Owner, Place, grant
from coordinatord.features.panes.run_look import Lookout
from coordinatord.ids import COORDINATOR, AttemptId, SeatId
from coordinatord.store.database import Database, Transaction


class Arrival(msgspec.Struct, frozen=True):
    """What was seen before `init`'s transaction: the caller's pane, and the coordinator in office."""

    place: Place
    owner: Owner | None


class DeliveryMethods:
    """Routes of this feature."""

    def __init__(
        self, database: Database, lookout: Lookout, pump: Pump, sources: Sources, switch: Switch
    ) -> None:
        self._database = database
        self._lookout = lookout
        self._pump = pump
        self._sources = sources
        self._switch = switch

    async def look(self, caller: Caller, request: InitSeat) -> Arrival:
        """Look at the caller's pane, and at the coordinator's if it is to be replaced."""
        pane = _own_pane(caller)
        seen, occupant = await occupant_in(self._lookout, pane)
        owner: Owner | None = None
        if request.reclaim:
            seat = await self._database.read(seats.seat_or_none, COORDINATOR)
            if seat is not None:
                judged = await self._lookout.judge(seat)
                owner = Owner(seat.binding, judged.outcome)
        return Arrival(Place(seen=seen, shell=occupant.shell), owner)

    def init(self, tx: Transaction, caller: Caller, request: InitSeat, found: Arrival) -> Initiated:
        """Grant the seat and list what it is owed; what is listed counts as told."""
        granted = grant(
            found.place,
            seats.all_seats(tx),
            role=request.role,
            task=request.task,
            reclaim=request.reclaim,
            owner=found.owner,
        )
        seat = _take(tx, caller, granted, found.place)
        return Initiated(
            id=granted.seat,
            role=granted.role,
            proof=caller.proof,
            outcome=granted.outcome,
            task=granted.task,
            pane=found.place.pane,
            terminal_id=found.place.seen.terminal_id,
            claimed=granted.taken,
            owed=self._tell_inline(tx, seat) if seat else [],
            events=self._news(tx, granted),
        )

    def _news(self, tx: Transaction, granted: Grant) -> bool | None:
        first = granted.seat == COORDINATOR and first_coordinator(tx)
        return self._switch.on if first else None

    def _tell_inline(self, tx: Transaction, seat: Seat) -> list[OwedItem]:
        owed = [
            item
            for item in self._sources.owed_to(tx, tx.now, seat.id).items
            if not item.alone  # its text is typed: a list does not show it
        ]
        told = table.told_to(tx, seat, owed)
        if owed:
            table.claim(
                tx,
                self._sources,
                seat,
                owed,
                AttemptId(tx.mint("attempt")),
                transport="inline",
                stage="submitted",
                evidence="listed in the answer of init",
            )
        return [self._item(item, told.get(item.id)) for item in owed]

    def _item(self, item: Obligation, told: Told | None) -> OwedItem:
        source = self._sources.of(item)
        return OwedItem(
            id=item.record,
            kind=item.kind,
            to=item.to,
            seq=item.seq,
            since=item.since,
            task=item.task,
            state=pacing.classify(told),
            reading=source.reading(item),
            settling=source.settling(item),
        )

    async def notice(self, caller: Caller, request: NoticeSeat) -> Pass:
        """One explicit, forced delivery to one seat."""
        seat = SeatId(request.seat)
        known = await self._database.read(seats.seat_or_none, seat)
        if known is None:
            raise seats.unknown_seat(request.seat)
        return await self._pump.tell(frozenset({seat}), forced=True)

    async def pump(self, caller: Caller, request: PumpNow) -> Pass:
        """One pass over everything that is owed."""
        return await self._pump.tell(None, forced=False)


def _own_pane(caller: Caller) -> ids.PaneId:
    if caller.pane is None:
        raise Refused(
            "no-pane",
            "A seat belongs to a pane, and you are in none of this workspace's terminal host.",
            "Call init from inside a pane; outside every pane you are the operator already.",
        )
    if not caller.proven:
        raise Refused(
            "not-proven",
            f"You claim to be in {caller.pane}, and no proof of it was found.",
            "Call from a process of that pane, or pass its COORDINATORD_TOKEN.",
        )
    return caller.pane


def _take(tx: Transaction, caller: Caller, granted: Grant, place: Place) -> Seat | None:
    """Store what was granted; a developer's pane gets no seat until somebody addresses it."""
    known = seats.seat_or_none(tx, granted.seat)
    if granted.role == "developer":
        return known
    if granted.taken or known is None or known.occupant is None:
        occupant = occupant_of(place.seen, place.shell)
        return seats.take(
            tx,
            caller,
            granted.seat,
            granted.role,
            pane=place.pane,
            occupant=occupant,
            task=granted.task,
        )
    return seats.refresh(tx, known, place.pane, refreshed(known.occupant, place.seen, place.shell))
