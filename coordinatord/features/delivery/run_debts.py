"""What the store says about everybody who is owed something, kept between two reads of it.

A read is a hint about whom to look at: each claim reads what it names again, in its own transaction.
"""

from __future__ import annotations

import msgspec

from coordinatord.clock import Clock
from coordinatord.features.delivery import pacing, run_wake, table
from coordinatord.features.delivery.records import HoldRecord, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.table import all_seats
from coordinatord.ids import SeatId
from coordinatord.store.database import Database, View


class Owing(msgspec.Struct, frozen=True, kw_only=True):
    """What one read of the store gives the pump."""

    seats: dict[SeatId, Seat]
    groups: dict[SeatId, tuple[Obligation, ...]]
    told: dict[SeatId, dict[str, Told]]
    holds: dict[SeatId, HoldRecord]
    behind: dict[SeatId, frozenset[str]]


class _LastRead(msgspec.Struct, frozen=True):
    """``count`` is where the store's changes stood, ``at`` awake seconds."""

    count: int
    at: float
    owing: Owing


class Debts:
    """Reads the store when it has changed, and at the latest every ``old_after_s`` awake seconds."""

    def __init__(
        self, database: Database, sources: Sources, clock: Clock, old_after_s: float
    ) -> None:
        self._database = database
        self._sources = sources
        self._clock = clock
        self._old_after_s = old_after_s
        self._last: _LastRead | None = None
        self._old = False
        self._outdated: set[SeatId] = set()

    async def known(self) -> Owing:
        """What the store says now."""
        count, now = self._database.changes.count, self._clock.awake()
        last = self._last
        old = self._old or last is None or now - last.at >= self._old_after_s
        if last is None or old or last.count != count:
            self._old = False  # before the read: what is forgotten meanwhile makes this one old
            self._outdated.clear()
            last = _LastRead(count, now, await self._database.read(self._read))
            self._last = last
        return last.owing

    def remembered(self) -> Owing | None:
        """What it said when it was read last, if that is known: without those told since."""
        if self._last is None or not self._outdated:
            return self._last.owing if self._last else None
        owing = self._last.owing
        groups = {seat: owed for seat, owed in owing.groups.items() if seat not in self._outdated}
        return msgspec.structs.replace(owing, groups=groups)

    def forget(self, seat: SeatId | None = None) -> None:
        """What was read is old, also where no line of the journal says so; this seat was told something."""
        self._old = True
        if seat is not None:
            self._outdated.add(seat)

    def _read(self, view: View) -> Owing:
        owed = self._sources.owed(view, self._clock.wall())
        seats = {seat.id: seat for seat in all_seats(view)}
        bindings = {key: seat.binding for key, seat in seats.items()}
        told: dict[SeatId, dict[str, Told]] = {}
        for each in table.told_about(view, owed.items, bindings):
            told.setdefault(each.seat, {})[each.obligation] = each
        groups = pacing.by_seat(owed.items)
        behind = {
            name: run_wake.behind(view, seats[name], items, told.get(name, {}))
            for name, items in groups.items()
            if name in seats
        }
        return Owing(seats=seats, groups=groups, told=told, holds=table.holds(view), behind=behind)
