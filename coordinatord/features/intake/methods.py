"""Answers `delivery.enable`, `delivery.disable` and `delivery.status`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import anyio.to_thread

from coordinatord.features.delivery.files import keep_events
from coordinatord.features.delivery.requests import DisableDelivery, EnableDelivery, ReadDelivery
from coordinatord.features.delivery.run_ageing import ages_of
from coordinatord.features.delivery.run_switch import remember
from coordinatord.features.delivery.switch import EventsState, Switch
from coordinatord.features.intake.run_attention import Attendant
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.records import Caller
from coordinatord.store.database import Database, Transaction, View


class EventMethods:
    """Routes of this feature. ``config`` is the workspace's file, in which the preference is kept."""

    def __init__(
        self,
        database: Database,
        sources: Sources,
        switch: Switch,
        attendant: Attendant,
        config: Path,
        wall: Callable[[], float],
        failing: Mapping[str, str],
    ) -> None:
        self._database = database
        self._sources = sources
        self._switch = switch
        self._attendant = attendant
        self._config = config
        self._wall = wall
        self._failing = failing

    async def enable(self, caller: Caller, request: EnableDelivery) -> EventsState:
        """Switch on, keep it, and look at everybody."""
        await self._turn(caller, on=True)
        self._attendant.reconcile()
        return await self._database.read(self._state)

    async def disable(self, caller: Caller, request: DisableDelivery) -> EventsState:
        """Switch off and keep it; what is owed stays owed."""
        await self._turn(caller, on=False)
        return await self._database.read(self._state)

    def status(self, view: View, caller: Caller, request: ReadDelivery) -> EventsState:
        """How delivery by events is getting on."""
        return self._state(view)

    async def _turn(self, caller: Caller, on: bool) -> None:
        await anyio.to_thread.run_sync(keep_events, self._config, on)
        self._switch.on = on
        # the journal line wakes the pump, which then goes by the new preference
        await self._database.write(_journal, caller, on)

    def _state(self, view: View) -> EventsState:
        now = self._wall()
        found = ages_of(view, self._sources.owed(view, now).items, now)
        return EventsState(
            events=self._switch.on,
            shadow=self._switch.shadow,
            degraded=self._switch.degraded or self._failed(),
            handled=self._switch.handled,
            ignored=self._switch.ignored,
            undelivered=found.undelivered,
            oldest_undelivered_s=found.oldest_undelivered_s,
            oldest_decision_s=found.oldest_decision_s,
        )

    def _failed(self) -> str | None:
        """Loops that failed lately, in a word each."""
        return ", ".join(f"{part}: {kind}" for part, kind in self._failing.items()) or None


def _journal(tx: Transaction, caller: Caller, on: bool) -> None:
    remember(tx, on)
    tx.journal("delivery", "events", actor=caller.seat, proof=caller.proof)
