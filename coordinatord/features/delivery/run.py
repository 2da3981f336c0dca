"""The pump: turns what is owed into attempts, one recipient at a time, all recipients at once.

It reads the store again on every wake-up, and on a slow backstop timer: *owed and settled* is enough, no
event is needed. A recipient whose host call hangs delays only itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.abc
import msgspec

from coordinatord.clock import Clock, Pulse
from coordinatord.errors import Refused
from coordinatord.features.delivery import pacing, table
from coordinatord.features.delivery.pacing import Due, Recipient, Waiting
from coordinatord.features.delivery.records import HoldRecord, Pass
from coordinatord.features.delivery.run_attempt import Deliverer, Kept
from coordinatord.features.delivery.run_debts import Debts, Owing
from coordinatord.features.delivery.run_holds import Holds, Reason, suppress_passing
from coordinatord.features.delivery.run_setbacks import Setback, Setbacks
from coordinatord.features.delivery.switch import Switch
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.panes.proof import find_pane
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.sightings import Sightings
from coordinatord.features.typing.records import Held
from coordinatord.ids import AttemptId, SeatId
from coordinatord.store import journal
from coordinatord.store.changes import wait_for_news
from coordinatord.store.database import PASSING, Database
from coordinatord.terminals.port import Sighting
from coordinatord.tracing import Trace

LINES_AT_ONCE: Final = 500
TELLING: Final = frozenset({"question", "message", "report", "verification", "seat", "review"})
"""Journal kinds of commands that tell their recipient by themselves (coordination.md §3.2)."""

PASS_WITHIN_S: Final = 20.0
"""How long an explicit pass waits for what it began (coordination.md §3.1)."""

GIVE_WAY_S: Final = 0.02
"""Seconds that the reading of the store waits after a delivery was begun."""

GIVE_WAY_AT_MOST_S: Final = 0.2
"""And how long it waits at most, while one delivery after the other is begun."""

STORE_PAUSE_S: Final = 1.0
"""Pause while the store is held by somebody or the disk is full."""

STOP_WITHIN_S: Final = 5.0
"""How long a stop waits for the attempts in hand to reach an outcome (case G-11)."""


Seen: TypeAlias = Sighting | Gone | Unseen


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A closer look that held a text: what it saw, and when to look again (awake seconds)."""

    held: Held
    looks: int
    again_at: float
    seen: object


class Pump:
    """Owns the deliveries under way. Build one, `run` it in a task group, and ask for passes."""

    def __init__(
        self,
        database: Database,
        sightings: Sightings,
        sources: Sources,
        deliverer: Deliverer,
        clock: Clock,
        backstop_s: float,
        switch: Switch,
        pulse: Pulse,
        setbacks: Setbacks,
        trace: Trace,
    ) -> None:
        self._database = database
        self._switch = switch
        self._pulse = pulse
        self._read_to = 0
        self._sightings = sightings
        self._sources = sources
        self._deliverer = deliverer
        self._clock = clock
        self._backstop_s = backstop_s
        self._holds = Holds(database)
        self._debts = Debts(database, sources, clock, backstop_s)
        self._setbacks = setbacks
        self._trace = trace
        self._looks: dict[SeatId, Look] = {}
        self._shown: dict[SeatId, Seen] = {}
        self._begun_at = -GIVE_WAY_S
        self._gives_way_since: float | None = None
        self._under_way: dict[SeatId, anyio.Event] = {}
        self._group: anyio.abc.TaskGroup | None = None
        self._stopping = False

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Deliver for ever. What an earlier daemon left in hand becomes uncertain first."""
        await self._deliverer.learn_pause()
        await self._database.write(table.give_up_in_hand, self._sources)
        async with anyio.create_task_group() as group:
            self._group = group
            task_status.started()
            self._read_to = await self._database.read(journal.last_seq)
            while not self._stopping:
                self._pulse.beat("pump")
                since = self._database.changes.from_now(), self._sightings.changes.from_now()
                pause = await self._pass_if_possible()
                sleep = partial(self._pulse.sleep, self._clock, pause, "pump")
                await wait_for_news(*since, pause=sleep)

    async def _pass_if_possible(self) -> float:
        """One pass; seconds until the next. A store that takes nothing now only delays it."""
        try:
            return await (self._pass() if self._switch.on else self._pass_on_command())
        except Refused as error:
            if error.reason not in PASSING:
                raise
            return STORE_PAUSE_S

    async def stop(self) -> None:
        """Begin nothing new and wait, bounded, until every attempt in hand has its outcome."""
        self._stopping = True
        with anyio.move_on_after(STOP_WITHIN_S):
            for finished in list(self._under_way.values()):
                await finished.wait()
        self._database.hurry()

    async def tell(self, only: frozenset[SeatId] | None, forced: bool) -> Pass:
        """One explicit pass over these seats (None: all), waiting for the attempts it begins.

        Whoever asked may go away meanwhile: what was begun is carried to its end all the same. Who is
        not through when the pass's time is over is deferred, and has its turn as always.
        """
        kept: dict[SeatId, Kept] = {}
        for seat in list(self._looks if only is None else only):
            self._looks.pop(seat, None)  # whoever asks may just have cleared what held it
        begun = await self._begin_chosen(only, forced, kept)
        await self._until_finished(begun.values())
        await self._holds.remember(_reasons(kept))
        return self._passed(kept, [seat for seat in begun if seat not in kept])

    async def _until_finished(self, events: Iterable[anyio.Event]) -> None:
        async with anyio.create_task_group() as group:

            async def all_finished() -> None:
                for finished in events:
                    await finished.wait()
                group.cancel_scope.cancel()

            group.start_soon(all_finished)
            await self._clock.sleep(PASS_WITHIN_S)
            group.cancel_scope.cancel()

    async def _begin_chosen(
        self, only: frozenset[SeatId] | None, forced: bool, kept: dict[SeatId, Kept]
    ) -> dict[SeatId, anyio.Event]:
        """Begin what is due; ``kept`` gets what came of it, and the holds at once."""
        self._debts.forget()  # whoever asks wants to know how it is now
        owing = await self._debts.known()
        begun: dict[SeatId, anyio.Event] = {}
        for seat in owing.groups:
            if only is not None and seat not in only:
                continue
            match self._decide(owing, seat, forced):
                case Due():
                    begun[seat] = anyio.Event()
                    if self._group is None or self._stopping:
                        continue  # deferred: this daemon begins nothing any more
                    recipient = owing.seats[seat]
                    self._group.start_soon(self._deliver_next, recipient, forced, kept, begun[seat])
                case Waiting(held=held):
                    kept[seat] = held
                case _:
                    pass
        if self._group is None or self._stopping:
            for event in begun.values():
                event.set()
        return begun

    async def _deliver_next(
        self, seat: Seat, forced: bool, kept: dict[SeatId, Kept], finished: anyio.Event
    ) -> None:
        """A delivery that was asked for, after the one that may be under way."""
        try:
            while (before := self._under_way.get(seat.id)) is not None:
                await before.wait()
            kept[seat.id] = await self._deliver(seat, forced)
        finally:
            finished.set()

    def _passed(self, kept: Mapping[SeatId, Kept], deferred: list[SeatId]) -> Pass:
        now = self._clock.wall()
        return Pass(
            attempts=[AttemptId(each) for each in kept.values() if isinstance(each, str)],
            held=[
                HoldRecord(seat=seat, reason=each.reason, since=now, detail=each.detail)
                for seat, each in kept.items()
                if isinstance(each, Held)
            ],
            deferred=deferred,
        )

    async def _pass_on_command(self) -> float:
        """With events off only those are told to whom a command has just made something owed."""
        lines = await self._database.read(journal.since, self._read_to, LINES_AT_ONCE)
        if lines:
            self._read_to = lines[-1].seq
            fresh = {line.seat for line in lines if line.seat and line.kind in TELLING}
            chosen, kept = frozenset(SeatId(seat) for seat in fresh), dict[SeatId, Kept]()
            await self._begin_chosen(chosen, False, kept)
            await self._holds.remember(_reasons(kept))
        return self._backstop_s

    async def _pass(self) -> float:
        """Begin what is due; seconds until something that is known now has to be decided again."""
        self._begin_changed()
        if (left := self._giving_way()) > 0:
            return left
        self._gives_way_since = None
        owing = await self._debts.known()
        self._setbacks.keep(frozenset(owing.groups))
        now, waiting = self._clock.wall(), dict[SeatId, Reason]()
        pause = self._backstop_s
        free = owing.holds.keys() - owing.groups.keys()
        for seat in owing.groups:
            if seat in self._under_way:
                continue
            decision = self._decide(owing, seat)
            match decision:
                case Due():
                    free.discard(seat)
                    self._begin(owing.seats[seat])
                case Waiting(held=held, until=until):
                    waiting[seat] = held.reason, held.detail
                    pause = min(pause, (until or now + pause) - now)
                case pacing.Resting(reason=reason, until=until):
                    if reason == "quiet":
                        free |= {seat} & owing.holds.keys()
                    else:
                        waiting[seat] = reason, None
                    pause = min(pause, (until or now + pause) - now)
        if await self._holds.remember(waiting, free, owing.holds):
            self._debts.forget()
        return max(pause, 0.01)

    def _begin_changed(self) -> None:
        """Whose pane has changed is told on the word of the last read: the claim reads again anyway."""
        owing = self._debts.remembered()
        if owing is None:
            return
        for name in owing.groups:
            if name in self._under_way or self._shown.get(name) is self._seen(owing, name):
                continue
            if isinstance(self._decide(owing, name), Due):
                self._begin(owing.seats[name])

    def _giving_way(self) -> float:
        """Seconds for which nothing else is done: what has just been begun reaches its pane first, and its
        own claim is what wakes us."""
        now = self._clock.awake()
        left = self._begun_at + GIVE_WAY_S - now
        if left > 0:
            since = self._gives_way_since = self._gives_way_since or now
            left = min(left, since + GIVE_WAY_AT_MOST_S - now)
        return left

    def _decide(self, owing: Owing, name: SeatId, forced: bool = False) -> pacing.Decision:
        recipient, now = self._recipient(owing, name, forced), self._clock.wall()
        decision = pacing.decide(recipient, now)
        self._trace.tell(pacing.Decided(recipient, now, decision))
        return decision

    def _recipient(self, owing: Owing, name: SeatId, forced: bool) -> Recipient:
        seat = owing.seats.get(name)
        seen = self._shown[name] = self._seen(owing, name)
        held, until = self._rest(name, seen) or (None, None)
        return Recipient(
            seat=name,
            items=owing.groups.get(name, ()),
            told=owing.told.get(name, {}),
            seen=seen,
            bound=seat is not None and seat.pane is not None and seat.occupant is not None,
            replaced=seat is not None and self._sightings.replaced(seat.occupant, seen),
            settled_since=self._sightings.settled_since(seen.pane)
            if isinstance(seen, Sighting)
            else None,
            held=held,
            relook_at=None if until is None else self._as_wall(until),
            forced=forced,
            paused=self._deliverer.paused,
            behind=owing.behind.get(name, frozenset()),
        )

    def _seen(self, owing: Owing, name: SeatId) -> Seen:
        seat = owing.seats.get(name)
        if seat is None or not self._sightings.connected:
            return Unseen()
        return find_pane(seat, self._sightings.panes)

    def _rest(self, name: SeatId, seen: Seen) -> tuple[Held, float] | None:
        """Why this seat is not looked at again yet, and until when (awake seconds)."""
        setback = self._setbacks.resting(name)
        if setback is not None:
            return _failed(setback), setback.until
        look = self._looks.get(name)
        over = look is not None and look.held.reason == "shadow" and not self._switch.shadow
        if look is not None and (over or look.seen != seen):
            del self._looks[name]  # the pane has been seen to change since
            return None
        return (look.held, look.again_at) if look else None

    def _as_wall(self, awake: float) -> float:
        return self._clock.wall() + awake - self._clock.awake()

    def _begin(self, seat: Seat) -> None:
        if self._group is not None and not self._stopping:
            self._under_way[seat.id] = anyio.Event()
            self._begun_at = self._clock.awake()
            self._group.start_soon(self._deliver_and_note, seat)

    async def _deliver_and_note(self, seat: Seat) -> None:
        kept = await self._deliver(seat, False)
        if isinstance(kept, Held):
            with suppress_passing():  # the next pass finds the same hold again
                await self._holds.remember(_reasons({seat.id: kept}))

    async def _deliver(self, seat: Seat, forced: bool) -> Kept:
        """One delivery; nobody else delivers to this seat meanwhile."""
        finished = self._under_way.setdefault(seat.id, anyio.Event())
        try:
            kept = await self._setbacks.isolate(seat.id, partial(self._try, seat, forced))
        finally:
            self._debts.forget(seat.id)
            if self._under_way.get(seat.id) is finished:
                del self._under_way[seat.id]
            finished.set()
            self._sightings.changes.wake()
        if isinstance(kept, Setback):
            return _failed(kept)
        self._remember_look(seat, kept)
        return kept

    async def _try(self, seat: Seat, forced: bool) -> Kept:
        try:
            return await self._deliverer.deliver(seat, forced)
        except Refused as error:
            if error.reason not in PASSING:
                raise
            return None  # nothing was claimed, so nothing was typed; it is as due as before

    def _remember_look(self, seat: Seat, kept: Kept) -> None:
        if not isinstance(kept, Held):
            self._looks.pop(seat.id, None)
            return
        before = self._looks.get(seat.id)
        looks = before.looks + 1 if before else 1
        self._looks[seat.id] = Look(
            held=kept,
            looks=looks,
            again_at=self._clock.awake() + pacing.relook_pause(looks),
            seen=find_pane(seat, self._sightings.panes) if self._sightings.connected else Unseen(),
        )


def _failed(setback: Setback) -> Held:
    return Held("pacing", f"telling it failed in the daemon: {setback.kind}")


def _reasons(kept: Mapping[SeatId, Kept]) -> dict[SeatId, Reason]:
    return {
        seat: (each.reason, each.detail) for seat, each in kept.items() if isinstance(each, Held)
    }
