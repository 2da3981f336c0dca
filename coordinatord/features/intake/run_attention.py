"""Turns changes of workers' panes into alerts, after a fresh look and a moment of calm.

An event, a snapshot and a restart all lead to the same look: nothing is believed about what was missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import anyio
import anyio.abc
import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import HostRefused, PaneMissing, Refused, Unreachable
from coordinatord.features.attention import excerpt, rules, table
from coordinatord.features.attention.rules import Verdict, Watched
from coordinatord.features.delivery import table as delivery
from coordinatord.features.delivery.run_setbacks import Setback, Setbacks
from coordinatord.features.delivery.switch import Switch
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.judgement import STANDS, Gone, Unseen
from coordinatord.features.panes.proof import find_pane
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.run_look import Judged, Lookout
from coordinatord.features.panes.table import all_seats
from coordinatord.features.tasks.table import TASKS
from coordinatord.ids import SeatId, TaskId
from coordinatord.store.changes import wait_for_news
from coordinatord.store.database import Database, Transaction, View
from coordinatord.terminals.port import Sighting

CALM_S: Final = 2.0
"""How long a state must last before it is an alert: agents flap between turns, hosts after a restart."""

AFTER_S: Final = 0.05
"""Nothing here is urgent: who is told of a change goes first, and changes are gathered."""

State = tuple[str, str | None, str]


class Watchlist(msgspec.Struct, frozen=True):
    """The workers of tasks that go on."""

    seats: dict[SeatId, Seat]


class Attendant:
    """Watches the panes of workers. It types nothing and answers nothing."""

    def __init__(
        self,
        database: Database,
        lookout: Lookout,
        sources: Sources,
        switch: Switch,
        clock: Clock,
        setbacks: Setbacks,
    ) -> None:
        self._database = database
        self._lookout = lookout
        self._sources = sources
        self._switch = switch
        self._clock = clock
        self._setbacks = setbacks
        self._known: dict[SeatId, State] = {}
        self._due: dict[SeatId, float] = {}
        self._works_since: dict[SeatId, float] = {}

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Watch for ever; the first look at everybody reconciles what was missed."""
        task_status.started()
        watched, read_at = Watchlist({}), -1
        while True:
            since = self._lookout.sightings.changes.from_now(), self._database.changes.from_now()
            stored = self._database.changes.count
            if stored != read_at:  # a pane's change alone changes nobody's seat
                watched, read_at = await self._database.read(_watchlist), stored
            self._notice(watched.seats)
            await self._look_where_due(watched.seats)
            due = min(self._due.values(), default=None)
            await wait_for_news(*since, pause=None if due is None else partial(self._calm, due))
            await self._clock.sleep(AFTER_S)

    def reconcile(self) -> None:
        """Look at everybody again: events were switched on."""
        self._known.clear()

    def _notice(self, seats: Mapping[SeatId, Seat]) -> None:
        """Whose pane changed is looked at once it has been calm for a moment."""
        sightings = self._lookout.sightings
        self._count_ignored(seats)
        if not sightings.connected or not self._switch.on:
            return
        for name in self._known.keys() - seats.keys():
            del self._known[name]
            self._due.pop(name, None)
        for name, seat in seats.items():
            state = _state(find_pane(seat, sightings.panes))
            if self._known.get(name) != state:
                self._known[name] = state
                self._due[name] = self._clock.awake() + CALM_S
                if state[2] == "working":
                    self._works_since[name] = self._clock.wall()

    def _count_ignored(self, seats: Mapping[SeatId, Seat]) -> None:
        ours = {seat.pane for seat in seats.values()}
        others = len([pane for pane in self._lookout.sightings.panes if pane not in ours])
        self._switch.ignored = max(self._switch.ignored, others)

    async def _look_where_due(self, seats: Mapping[SeatId, Seat]) -> None:
        now = self._clock.awake()
        for name in [each for each, due in self._due.items() if due <= now]:
            del self._due[name]
            if name in seats:
                found = await self._setbacks.isolate(name, partial(self._attend, seats[name]))
                if isinstance(found, Setback):
                    self._switch.failed(found.kind)
                    self._due[name] = found.until
        self._setbacks.keep(frozenset(seats))

    async def _attend(self, seat: Seat) -> None:
        try:
            judged = await self._lookout.judge(seat)
            verdict = await self._database.read(self._decide, seat, judged)
            if verdict != Verdict():
                await self._record(seat, judged, verdict)
            self._switch.worked()
        except Refused as error:
            self._switch.failed(error.reason)

    def _decide(self, view: View, seat: Seat, judged: Judged) -> Verdict:
        task = _task_of(seat)
        seen = judged.seen
        if isinstance(seen, Sighting) and judged.outcome not in STANDS:
            # the pane is there and this worker's agent is not: who sits there now is nobody's business
            left = msgspec.structs.replace(seen, agent=None, status="unknown")
            seen = Unseen() if judged.outcome == "unobservable" else left
        owed = self._sources.owed(view, self._clock.wall()).items
        ours = [each for each in owed if each.task == task and each.kind != "attention"]
        since = self._works_since.get(seat.id)
        return rules.decide(
            Watched(
                seen=seen,
                had_agent=seat.occupant is not None and seat.occupant.agent is not None,
                open=table.open_kinds(view, task),
                owed=bool(ours),
                spoke=table.spoke_after(view, task, since or 0.0),
                just_told=_told_since(view, seat, since),
            )
        )

    async def _record(self, seat: Seat, judged: Judged, verdict: Verdict) -> None:
        quoted = await self._quote(judged) if verdict.create else (None, 0)
        await self._database.write(_store, seat, judged, verdict, quoted)

    async def _quote(self, judged: Judged) -> tuple[str | None, int]:
        """What the screen shows, if there is one to read."""
        if not isinstance(judged.seen, Sighting) or judged.outcome not in STANDS:
            return None, 0
        try:
            shown = await self._lookout.terminal.read(judged.seen.pane, "visible")
        except (PaneMissing, Unreachable, HostRefused):
            return None, 0
        return excerpt.cut(shown.text)

    async def _calm(self, due: float) -> None:
        await self._clock.sleep(due - self._clock.awake())


def _watchlist(view: View) -> Watchlist:
    going_on = {task.id for task in TASKS.select(view, "state = 'active'").items}
    return Watchlist(
        {
            seat.id: seat
            for seat in all_seats(view)
            if seat.role == "worker" and seat.task in going_on and seat.occupant is not None
        }
    )


def _state(seen: Sighting | Gone) -> State:
    if isinstance(seen, Gone):
        return "", None, "gone"
    return seen.terminal_id, seen.agent, seen.status


def _task_of(seat: Seat) -> TaskId:
    assert seat.task is not None, "a worker's seat has a task"
    return seat.task


def _told_since(view: View, seat: Seat, since: float | None) -> bool:
    """Was the worker told something since its last stretch of work began?"""
    return since is not None and delivery.told_since(view, seat, since)


def _store(
    tx: Transaction,
    seat: Seat,
    judged: Judged,
    verdict: Verdict,
    quoted: tuple[str | None, int],
) -> None:
    task, seen, stands = _task_of(seat), judged.seen, judged.outcome in STANDS
    for over, why in verdict.close:
        table.close(tx, task, over, why)
    if verdict.create is not None:
        table.create(
            tx,
            task,
            verdict.create,
            observed=seen.status if isinstance(seen, Sighting) and stands else "absent",
            pane=seen.pane if isinstance(seen, Sighting) else seat.pane,
            excerpt=quoted[0],
            redacted=quoted[1],
        )
