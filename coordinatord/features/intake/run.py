"""Keeps `Sightings` true while the daemon runs, and re-judges every seat after a gap.

Subscribe, then snapshot, then look again at what an event names (herdr-protocol.md §4.6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import anyio
import anyio.abc

from coordinatord.clock import Clock, Pulse
from coordinatord.features.intake.run_adopt import Registrar
from coordinatord.features.panes.proof import find_pane
from coordinatord.features.panes.run_look import Lookout
from coordinatord.ids import PaneId
from coordinatord.store.changes import Changes, Since, wait_for_news
from coordinatord.store.database import Database
from coordinatord.terminals.port import (
    LookAround,
    LookAt,
    Sighting,
    StreamDown,
    StreamUp,
    Terminal,
    TerminalEvent,
)

SETTLE_S = 0.02
"""Least time from one look to the next: the first event of a burst is looked into at once, those that follow
together, so that a burst costs one look a pane."""

AFTER_S = 0.05
"""What a commit has set going, such as a text on its way to a pane, goes first."""

MANY = 8
"""From this many panes to look at on, one snapshot is cheaper than single looks."""


class Intake:
    """Listens to the host. Events only fill a list of panes to look at; a task of its own looks."""

    def __init__(
        self,
        database: Database,
        terminal: Terminal,
        lookout: Lookout,
        clock: Clock,
        backstop: Callable[[int], float],
        pulse: Pulse,
    ) -> None:
        """``backstop`` gives the seconds between snapshots for a number of panes."""
        self._database = database
        self._terminal = terminal
        self._lookout = lookout
        self._clock = clock
        self._backstop = backstop
        self._pulse = pulse
        self._panes: set[PaneId] = set()
        self._around = True
        self._down: str | None = None
        self._looked_at = -SETTLE_S
        self._around_due = 0.0
        self._registrar = Registrar(database, lookout.sightings, clock)
        self._news = Changes()

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Listen and look for ever; ready once the first snapshot was taken or failed."""
        async with anyio.create_task_group() as group:
            await group.start(self._listen)
            heard = await self._look()
            group.start_soon(self._keep_watch)
            group.start_soon(self._registrar.run)
            task_status.started()
            while True:
                self._pulse.beat("intake")
                await self._wait(heard)
                due = self._clock.awake() >= self._around_due
                told = None if self._around else frozenset(self._panes)
                self._around = self._around or due
                before = dict(self._lookout.sightings.panes)
                heard = await self._look()
                if due and told is not None:
                    self._count_missed(before, told)

    async def _wait(self, heard: Since) -> None:
        """Until there is news, gathered for a moment, or the backstop is due."""
        pause = max(0.0, self._around_due - self._clock.awake())
        await wait_for_news(heard, pause=partial(self._pulse.sleep, self._clock, pause, "intake"))
        gather = self._looked_at + SETTLE_S - self._clock.awake()
        if gather > 0 and self._news.count > heard[1]:
            await self._clock.sleep(gather)

    async def _listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        await self._terminal.run(self._hear, task_status=task_status)

    def _hear(self, event: TerminalEvent) -> None:
        match event:
            case StreamUp() | LookAround():
                self._around, self._down = True, None
            case LookAt(pane):
                self._panes.add(pane)
            case StreamDown(why):
                # everything is held until the stream is up again and a snapshot was taken
                self._lookout.sightings.lose(why)
                self._down = why
        self._news.wake()

    async def _look(self) -> Since:
        """Look at what was heard of; what is heard from now on is for the next time."""
        panes, around, heard = self._panes, self._around, self._news.from_now()
        self._panes, self._around = set(), False
        if around or len(panes) >= MANY:
            gap = not self._lookout.sightings.connected
            if await self._lookout.look_around() and gap:
                await self._registrar.record()
        else:
            await self._look_at(panes)
        self._looked_at = self._clock.awake()
        if around:
            self._around_due = self._looked_at + self._backstop(len(self._lookout.sightings.panes))
        if around:
            await self._watch()
        return heard

    def _count_missed(self, before: Mapping[PaneId, Sighting], told: frozenset[PaneId]) -> None:
        """What the backstop's snapshot shows and no event announced was lost on the way."""
        after = self._lookout.sightings.panes
        if self._lookout.sightings.connected:
            changed = [
                pane
                for pane in (before.keys() | after.keys()) - told
                if _told(before, pane) != _told(after, pane)
            ]
            self._terminal.missed(len(changed))

    async def _look_at(self, panes: set[PaneId]) -> None:
        if len(panes) == 1:  # the usual case, and on the way of every delivery
            await self._lookout.look(*panes)
            return
        async with anyio.create_task_group() as group:
            for pane in sorted(panes):  # the same course every time, for whoever repeats it
                group.start_soon(self._lookout.look, pane)

    async def _keep_watch(self) -> None:
        """A seat that is taken is watched at once: its next status event may be the only one."""
        while True:
            count = self._database.changes.count
            await self._watch()
            await self._database.changes.wait_past(count)
            await self._clock.sleep(AFTER_S)

    async def _watch(self) -> None:
        """Status events are asked for the panes of seats only, and dropped when the pane is gone."""
        seats, panes = await self._registrar.seats(), self._lookout.sightings.panes
        found = (find_pane(seat, panes) for seat in seats)
        self._terminal.watch(frozenset(seen.pane for seen in found if isinstance(seen, Sighting)))


def _told(panes: Mapping[PaneId, Sighting], pane: PaneId) -> tuple[str, str] | None:
    """The part of a sighting that events announce."""
    seen = panes.get(pane)
    return None if seen is None else (seen.terminal_id, seen.status)
