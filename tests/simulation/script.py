"""One seed's course of events: lives of the daemon in a workspace where much happens, then rest."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec

from coordinatord import kinds
from coordinatord.daemon.ground import Ground
from coordinatord.daemon.parts import Parts
from coordinatord.daemon.settings import Settings
from coordinatord.daemon.supervision import Supervisor
from coordinatord.features.delivery import pacing
from coordinatord.features.delivery import table as delivery
from coordinatord.features.launches.run import Surroundings
from coordinatord.features.panes.table import all_seats
from coordinatord.features.views.methods import Running
from tests.house import HOST_SOCKET, House
from tests.simulation import observer
from tests.simulation.actions import Actors
from tests.simulation.traced import TraceFile
from tests.simulation.world import InlineDatabase, Killed, Life, SimClock, SimTerminal

# without transcripts: reading them takes threads, and threads would take the course out of the seed's hands
KINDS = {
    name: msgspec.structs.replace(kind, transcript=None) for name, kind in kinds.load(None).items()
}

REST_S: Final = 40.0
"""How long nothing stands in the way: longer than the longest pause after a failure."""

BOUND_S: Final = 20.0
"""Then whoever is owed something and settled is told within this time, whatever events are lost: an interval
of the backstop, and a few host calls."""

TICK_S: Final = 5.0
REST_CHANCE: Final = 0.01
"""How often the world comes to rest after an action."""


class Simulation:
    """One seed's course of events. Every third seed has a host whose answers take time.

    With ``kill_at`` nothing is in the way, and the daemon dies once: at that step towards disk or host.
    """

    def __init__(
        self, seed: int, kill_at: int | None = None, trace: TraceFile | None = None
    ) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.faulty = kill_at is None
        self.slow = self.faulty and seed % 3 == 2
        self.clock = SimClock()
        self.disk = InlineDatabase.file()
        self.host = observer.WatchedHost(self.clock.awake, self.disk)
        self.actors = Actors(self.chance, self.host, self.clock, faults=self.faulty)
        self.life = Life()
        self._kill_at = kill_at
        self._trace = trace
        self.lives = 0
        self.steps = 0

    async def run(self, steps: int) -> None:
        """``steps`` actions, across as many lives of the daemon as it takes; then everything settles."""
        while self.steps < steps:
            await self._live(steps)
        await self._settle_down()

    async def _live(self, steps: int) -> None:
        self.life = Life()
        self.lives += 1
        if self._kill_at is not None and self.lives == 1:
            self.life.kill_in(self._kill_at)
        try:
            async with anyio.create_task_group() as group:
                parts = await self._start(group, lossy=self.faulty)
                while self.steps < steps and not self.life.over:
                    self.steps += 1
                    # never at the same instant as the daemon: what changes between its look and its prompt
                    # cannot be seen by anybody (coordination.md §3.8, 9)
                    pause = self.chance.choice((0.001, 0.01, 0.2, 0.7, 2.0, 6.0))
                    await anyio.sleep(pause * self.chance.uniform(0.5, 1.5))
                    self.host.settle()
                    await self.actors.act()
                    self.host.follow()
                    observer.nothing_broken(self.host)
                    if self.chance.random() < REST_CHANCE:
                        await self._rest(parts)
                self.life.over = True
                group.cancel_scope.cancel()
        except* Killed:
            pass
        observer.nothing_broken(self.host)
        observer.nothing_lost(self.disk, self.actors.accepted)

    async def _start(self, group: Any, *, lossy: bool) -> Parts:
        """A daemon's life begins: its parts and loops, as `daemon/app.py` builds and keeps them."""
        parts = Parts(self._ground(lossy))
        if self._trace is not None:
            self._trace.begin(parts, KINDS)
        self.actors.house = House(self.host, parts, self.clock)  # type: ignore[arg-type]
        self.actors.life = self.life
        keep = Supervisor(self.clock, _Log(self.host), parts.pulse, parts.failing).keep
        for name in ("intake", "pump", "settler", "attendant", "ager"):
            await group.start(keep, name, getattr(parts, name).run)
        return parts

    def _ground(self, lossy: bool) -> Ground:
        database: Any = InlineDatabase(
            self.disk, random.Random(self.chance.random()), self.clock.wall, self.life
        )
        return Ground(
            database=database,
            terminal=SimTerminal(self.host, self.life, self.chance, lossy=lossy, slow=self.slow),
            kinds=KINDS,
            clock=self.clock,
            source=random.Random(self.chance.random()),
            settings=Settings(backstop_s=15),
            surroundings=Surroundings(root="/work", name="work", coordctl=None, path="/bin"),
            letters=Path("/nowhere/messages"),
            environment=lambda pid: {},
            running=Running(pid=1, version="0", workspace="/work", socket="/s", started_at=0.0),
            host_socket=HOST_SOCKET,
            host_kind="embedded",
            in_repository=False,
            stop=lambda panes: None,
            tell_setback=lambda name, kind, trace: self.host.broken.append(
                f"{name}: {kind}\n{trace}"
            ),
        )

    # rest: nothing stands in the way any more, and everything that is owed must have been told

    async def _rest(self, parts: Parts, ticks: int = round(REST_S / TICK_S)) -> None:
        """The world comes to rest, and turns end, until at last nothing happens for the bound. Events go on
        being lost, late or muted all the while."""
        terminal: Any = parts.ground.terminal
        slow, terminal.slow = terminal.slow, False
        await self.actors.come_to_rest()
        for _ in range(ticks):
            await anyio.sleep(TICK_S)
            self.host.settle()
            self.actors.end_turns()
        await anyio.sleep(BOUND_S)
        self.host.settle()
        await self._check_rest(parts)
        terminal.slow = slow

    async def _settle_down(self) -> None:
        """The last life: the host says all there is to say, and nothing is left in the air."""
        self.life = Life()
        self.host.mute = False
        async with anyio.create_task_group() as group:
            parts = await self._start(group, lossy=False)
            await self._rest(parts, 40)
            observer.no_attempt_in_the_air(self.disk)
            observer.nothing_lost(self.disk, self.actors.accepted)
            self.life.over = True
            group.cancel_scope.cancel()

    async def _check_rest(self, parts: Parts) -> None:
        database = parts.ground.database
        owed = (await database.read(parts.sources.owed, self.clock.wall())).items
        seats = {seat.id: seat for seat in await database.read(all_seats)}
        bindings = {seat.id: seat.binding for seat in seats.values()}
        told = {
            (each.obligation, each.seat): pacing.classify(each)
            for each in await database.read(delivery.told_about, owed, bindings)
        }
        holds = await database.read(delivery.holds)
        at = {
            item.to: observer.standing(
                seats.get(item.to),
                self.host.panes.values(),
                (told.get((each.id, each.to), "pending") for each in owed if each.to == item.to),
            )
            for item in owed
        }
        observer.nothing_broken(self.host)
        observer.everything_told(owed, told, holds)
        observer.holds_are_true(holds, at)


class _Log:
    """A part that fails for another reason than its store is a broken promise."""

    def __init__(self, host: observer.WatchedHost) -> None:
        self._host = host

    def error(self, event: str, **facts: Any) -> None:
        error = facts.get("exc_info")
        self._host.broken.append(f"{event}: {facts} {_innermost(error)!r}")

    def warning(self, event: str, **facts: Any) -> None:
        """A store that takes nothing for a while."""


def _innermost(error: Any) -> Any:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def command(seed: int, steps: int, kill_at: int | None = None) -> str:
    """How one course of events is run again."""
    kill = "" if kill_at is None else f" --kill-at {kill_at}"
    return f"python -m tests.simulation --from {seed} --seeds 1 --steps {steps}{kill}"


def run(
    seed: int, steps: int, kill_at: int | None = None, trace: TraceFile | None = None
) -> Simulation:
    """One simulation from its seed, the same every time. A failure says how it is seen again."""
    import trio
    import trio._core._run as scheduling
    from trio.testing import MockClock

    scheduling._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduling._r.seed(seed)
    simulation = Simulation(seed, kill_at, trace)
    try:
        trio.run(simulation.run, steps, clock=MockClock(autojump_threshold=0))
    except BaseException as error:
        error.add_note(f"see it again: {command(seed, steps, kill_at)}")
        raise
    finally:
        simulation.disk.close()
    return simulation
