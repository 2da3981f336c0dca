"""Alerts a person, through the terminal host, when something stays undelivered for too long."""

from __future__ import annotations

from functools import partial

import anyio
import anyio.abc

from coordinatord.clock import Clock
from coordinatord.errors import WorldFailed
from coordinatord.features.delivery import ageing, table
from coordinatord.features.delivery.ageing import Ages, Stall
from coordinatord.features.delivery.records import HoldRecord, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.table import all_seats
from coordinatord.ids import SeatId
from coordinatord.store.changes import wait_for_news
from coordinatord.store.database import Database, Transaction, View
from coordinatord.terminals.port import Terminal


class Ager:
    """Watches what is undelivered. ``after_s`` awake seconds; 0: nobody is alerted."""

    def __init__(
        self,
        database: Database,
        terminal: Terminal,
        sources: Sources,
        clock: Clock,
        after_s: float,
    ) -> None:
        self._database = database
        self._terminal = terminal
        self._sources = sources
        self._clock = clock
        self._after_s = after_s

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Watch for ever; returns at once where nobody wants to be alerted."""
        task_status.started()
        stall = Stall()
        while self._after_s:
            since = self._database.changes.from_now()
            waiting, holds = await self._database.read(self._waiting)
            now = self._clock.awake()
            stall = ageing.watch(stall, [item.id for item in waiting], now)
            if late := ageing.late(stall, self._after_s, now):
                stall = ageing.alerted(stall)
                await self._alert([item for item in waiting if item.id in late], holds)
            until = ageing.next_at(stall, self._after_s)
            await wait_for_news(since, pause=None if until is None else partial(self._until, until))

    async def _until(self, awake: float) -> None:
        await self._clock.sleep(max(0.0, awake - self._clock.awake()))

    def _waiting(self, view: View) -> tuple[list[Obligation], dict[SeatId, HoldRecord]]:
        owed = self._sources.owed(view, self._clock.wall()).items
        return ageing.undelivered(owed, told_by(view, owed)), table.holds(view)

    async def _alert(self, items: list[Obligation], holds: dict[SeatId, HoldRecord]) -> None:
        """Journalled first; whether the host shows it is up to its settings."""
        await self._database.write(_journal, items[0])
        try:
            await self._terminal.notify(*ageing.words(items, holds))
        except WorldFailed:
            return  # the journal has it, and the same trouble is in `status`


def told_by(view: View, owed: list[Obligation]) -> dict[str, Told]:
    """How far telling the present occupants has come, by debt."""
    bindings = {seat.id: seat.binding for seat in all_seats(view)}
    return {each.obligation: each for each in table.told_about(view, owed, bindings)}


def ages_of(view: View, owed: list[Obligation], now: float) -> Ages:
    """The ages that `status` shows."""
    return ageing.ages(owed, told_by(view, owed), now)


def _journal(tx: Transaction, item: Obligation) -> None:
    tx.journal("alert", item.record, seat=item.to, task=item.task, actor="coordinatord")
