"""Settles attempts after their delivery: *seen*, *closed*, and what was uncertain.

It looks at files, seldom at a pane, and bounded: after the last pause only a change of the pane makes
it look again. It types nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import anyio
import anyio.abc

from coordinatord.clock import Clock
from coordinatord.errors import Refused
from coordinatord.features.delivery import settling, table
from coordinatord.features.delivery.records import OPEN, Attempt
from coordinatord.features.delivery.run_evidence import Witness
from coordinatord.features.delivery.run_setbacks import Setback, Setbacks
from coordinatord.features.delivery.settling import Schedule
from coordinatord.features.messages import table as messages
from coordinatord.features.obligations.records import Owed
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.sightings import Sightings
from coordinatord.features.typing.run import Typist
from coordinatord.ids import AttemptId
from coordinatord.kinds import AgentKind, Reading
from coordinatord.store.changes import wait_for_news
from coordinatord.store.database import Database, Transaction, View
from coordinatord.terminals.port import Sighting

CALM_S: Final = 0.1
"""Pause after a change before it is looked at: delivering goes first, and changes come in bursts."""


class Settler:
    """Run it in a task group beside the pump."""

    def __init__(
        self,
        database: Database,
        sightings: Sightings,
        typist: Typist,
        sources: Sources,
        witness: Witness,
        kinds: Mapping[str, AgentKind],
        clock: Clock,
        followed: Callable[[AttemptId], bool],
        backstop_s: float,
        setbacks: Setbacks,
    ) -> None:
        """``followed``: does a delivery have this attempt in hand?"""
        self._database = database
        self._sightings = sightings
        self._typist = typist
        self._sources = sources
        self._witness = witness
        self._kinds = kinds
        self._clock = clock
        self._followed = followed
        self._backstop_s = backstop_s
        self._setbacks = setbacks
        self._schedules: dict[AttemptId, Schedule] = {}

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Settle for ever."""
        task_status.started()
        while True:
            since = self._database.changes.from_now(), self._sightings.changes.from_now()
            try:
                pause = await self._pass()
            except Refused:
                pause = self._backstop_s  # the store is busy or full: nothing is lost by waiting
            await wait_for_news(*since, pause=partial(self._clock.sleep, pause))
            await self._clock.sleep(CALM_S)

    async def _pass(self) -> float:
        """Look at what is due; seconds until something is due again."""
        living, owed, expiry = await self._database.read(self._read)
        ids = frozenset(item.id for item in owed.items)
        finished = [
            each.id
            for each in living
            if settling.over(each, ids, owed.unreadable) and not self._followed(each.id)
        ]
        left = [each for each in living if each.stage in OPEN and not each.stranded]
        dropped = [each.id for each in left if not self._followed(each.id)]
        wall = self._clock.wall()
        if finished or dropped or (expiry is not None and expiry <= wall):
            await self._database.write(self._end, finished, dropped)
        waits = [self._backstop_s]
        if expiry is not None and expiry > wall:
            waits.append(expiry - wall)
        for attempt in living:
            if attempt.id not in finished and settling.worth_a_look(attempt):
                waits.append(await self._look_if_due(attempt))
        self._setbacks.keep(frozenset(each.id for each in living))
        self._schedules = {
            each.id: self._schedules[each.id] for each in living if each.id in self._schedules
        }
        return max(0.02, min(waits))

    def _read(self, view: View) -> tuple[list[Attempt], Owed, float | None]:
        living = table.living(view)
        owed = self._sources.owed(view, self._clock.wall()) if living else Owed(items=[])
        return living, owed, messages.next_expiry(view)

    def _end(self, tx: Transaction, finished: list[AttemptId], dropped: list[AttemptId]) -> None:
        messages.expire(tx)
        for attempt in dropped:
            words = "its delivery was broken off"
            table.reach(tx, self._sources, attempt, "uncertain", words)
        for attempt in finished:
            words = "what it told is dealt with"
            table.reach(tx, self._sources, attempt, "closed", words)

    async def _look_if_due(self, attempt: Attempt) -> float:
        """Seconds until it is due again. One that fails concerns only itself."""
        rests = self._setbacks.resting(attempt.id)
        if rests is None:
            found = await self._setbacks.isolate(attempt.id, partial(self._follow_up, attempt))
            if not isinstance(found, Setback):
                return found
            rests = found
        return rests.until - self._clock.awake()

    async def _follow_up(self, attempt: Attempt) -> float:
        now = self._clock.awake()
        seen = self._pane_of(attempt)
        schedule = settling.next_look(self._schedules.get(attempt.id), _signs(seen), now)
        if schedule.again_at <= now:
            await self._look(attempt, seen)
            schedule = settling.looked(schedule, self._clock.awake())
        self._schedules[attempt.id] = schedule
        return schedule.again_at - self._clock.awake()

    async def _look(self, attempt: Attempt, seen: Sighting | None) -> None:
        age = self._clock.wall() - attempt.at
        mark = attempt.mark
        said = "unknown" if mark is None else await self._witness.testify(mark, seen)
        reading: Reading | None = None
        screen = ""
        if seen is not None and settling.needs_screen(attempt, said, seen, age):
            kind = self._kinds.get(seen.agent or "")
            if kind is not None:
                reading, screen = await self._typist.screen(seen.pane, kind)
        found = settling.settle(attempt, said, seen, reading, screen, age)
        if found is not None:
            await self._database.write(table.reach, self._sources, attempt.id, *found)

    def _pane_of(self, attempt: Attempt) -> Sighting | None:
        if not self._sightings.connected or attempt.pane is None:
            return None
        return self._sightings.panes.get(attempt.pane)


def _signs(seen: Sighting | None) -> object:
    """What about a pane has to change for an attempt to be looked at anew."""
    return None if seen is None else (seen.terminal_id, seen.status, seen.state_change_seq)
