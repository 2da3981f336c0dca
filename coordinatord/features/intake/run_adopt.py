"""Writes into the seats what their panes show of them: a new terminal, a shell, a conversation.

No event tells of a conversation (T-10), and an agent may report its own only with its first turn. What is not
recorded when the host ends cannot prove afterwards that a resumed agent is the same (coordination.md §2.3).
"""

from __future__ import annotations

from coordinatord.clock import Clock
from coordinatord.features.panes import table
from coordinatord.features.panes.judgement import STANDS, judge, refreshed
from coordinatord.features.panes.proof import find_pane
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.sightings import Sightings
from coordinatord.ids import ProcessId
from coordinatord.store.changes import wait_for_news
from coordinatord.store.database import Database, Transaction
from coordinatord.terminals.port import Sighting

CALM_S = 0.5
"""What an event has set going, such as a delivery, goes first."""


class Registrar:
    """Compares what is recorded with what is seen. A refusal of the judgement changes no record."""

    def __init__(self, database: Database, sightings: Sightings, clock: Clock) -> None:
        self._database = database
        self._sightings = sightings
        self._clock = clock
        self._seats: tuple[int, list[Seat]] | None = None

    async def run(self) -> None:
        """Record for ever what changes in the panes."""
        while True:
            since = self._sightings.changes.from_now()
            if self._sightings.connected:
                await self.record()
            await wait_for_news(since)
            await self._clock.sleep(CALM_S)

    async def record(self) -> None:
        """Hand-offs, restored and new conversations keep their role and are recorded."""
        for seat in await self.seats():
            seen = find_pane(seat, self._sightings.panes)
            if isinstance(seen, Sighting) and seat.occupant is not None:
                shell = self._sightings.shell(seen.terminal_id)
                known = refreshed(seat.occupant, seen, shell)
                if (known, seen.pane) == (seat.occupant, seat.pane):
                    continue
                if judge(seat.occupant, seen, shell) in STANDS:
                    await self._database.write(_refresh, seat, seen, shell)

    async def seats(self) -> list[Seat]:
        """The seats that somebody has, read again when the store has changed."""
        count = self._database.changes.count
        if self._seats is None or self._seats[0] != count:
            self._seats = count, await self._database.read(table.all_seats)
        return self._seats[1]


def _refresh(tx: Transaction, seat: Seat, seen: Sighting, shell: ProcessId | None) -> None:
    now = table.seat_or_none(tx, seat.id)
    if now is not None and now.occupant is not None and now.binding == seat.binding:
        table.refresh(tx, now, seen.pane, refreshed(now.occupant, seen, shell))
