"""A whole daemon in one process: the real store and features on a scripted terminal host.

Time runs faster than outside, so bounded waits are short; nothing asserts how long anything took.
"""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec

from coordinatord import kinds
from coordinatord.daemon.ground import Ground
from coordinatord.daemon.parts import Parts
from coordinatord.daemon.requests import Hello
from coordinatord.daemon.settings import Settings
from coordinatord.features.delivery.table import ATTEMPTS
from coordinatord.features.launches.run import Surroundings
from coordinatord.features.tool_runs.files import Place
from coordinatord.features.upkeep.files import Premises
from coordinatord.features.views.methods import Running
from coordinatord.ids import PaneId, ProcessId
from coordinatord.sockets.peer import Peer
from coordinatord.store.database import Database
from coordinatord.terminals.fake import FakeTerminal
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.wire.requests import Request, params_of, result_of

R = TypeVar("R")
HOST_SOCKET = "/run/test/panes.sock"
KINDS = kinds.load(None)
CALLER = ProcessId("boot", 999_999, 1)


class FastClock:
    """Real time, ``speed`` times faster."""

    def __init__(self, speed: float = 20.0) -> None:
        self._speed = speed
        self._start = time.monotonic()

    def wall(self) -> float:
        return 1_800_000_000.0 + self.awake()

    def awake(self) -> float:
        return (time.monotonic() - self._start) * self._speed

    def skip(self, seconds: float) -> None:
        """So much time passes at once."""
        self._start -= seconds / self._speed

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds) / self._speed)


class FakeLink:
    """One connection of a caller with this ancestry."""

    def __init__(self, ancestry: tuple[ProcessId, ...]) -> None:
        self.peer = Peer(0, 999_999, ancestry)
        self.peer.__dict__["arguments"] = ((),) * len(ancestry)
        self.peer.__dict__["environment"] = {}
        self.greeting: object | None = None
        self.caller: object | None = None
        self.closed = anyio.Event()
        self.notes: list[tuple[str, Any]] = []
        self.news = anyio.Event()

    def notify(self, method: str, params: object) -> bool:
        if self.closed.is_set():
            return False
        self.notes.append((method, params))
        self.news.set()
        self.news = anyio.Event()
        return True

    async def drained(self) -> None:
        """Everything is read at once."""


class House:
    """Calls go through the same routes as from the socket."""

    def __init__(self, host: FakeHost, parts: Parts, clock: FastClock) -> None:
        self.host = host
        self.parts = parts
        self.clock = clock
        self.database = parts.ground.database
        self.setbacks: list[tuple[str, str, str]] = []
        """Failures that nobody expected: none but what a test provokes, and takes out of here."""
        self._routes = {route.request: route for route in parts.routes()}

    def link(self, pane: PaneId | None = None) -> FakeLink:
        """A caller in ``pane``; None: a person outside every pane."""
        shell = () if pane is None else (self.host.panes[pane].shell,)
        return FakeLink((CALLER, *shell))

    async def call(
        self, request: Request[R], pane: PaneId | None = None, link: FakeLink | None = None
    ) -> R:
        """What the daemon answers, decoded as a client would."""
        route = self._routes[type(request)]
        decoded = msgspec.json.decode(msgspec.json.encode(params_of(request)), type=type(request))
        result = route.run(link or self.link(pane), decoded)
        if inspect.isawaitable(result):
            result = await result
        answer: R = msgspec.json.decode(msgspec.json.encode(result), type=result_of(type(request)))
        return answer

    async def claim_link(self, pane: PaneId) -> FakeLink:
        """A caller that only says that it is in ``pane``."""
        link = FakeLink((CALLER,))
        hello = Hello(client="t", version="0", pane_id=pane, terminal_socket=HOST_SOCKET)
        await self.call(hello, link=link)
        return link

    def prompts(self, pane: PaneId) -> list[str]:
        """What was typed into this pane as agent text, in order."""
        return [each.text for each in self.host.typed if each.pane == pane and each.how == "prompt"]

    async def until(self, true: Callable[[], Any] | Callable[[], Awaitable[Any]]) -> None:
        """Wait, bounded, until something is so."""
        with anyio.fail_after(10):
            while True:
                self.host.settle()
                found = true()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return
                await self.clock.sleep(0.05)

    async def rest(self) -> None:
        """Wait until nobody has a delivery in hand and everything that is due was looked at."""
        await self.clock.sleep(0.5)
        await self.until(lambda: not self.parts.pump._under_way)

    async def attempts(self) -> list[Any]:
        """All attempts, oldest first."""
        return (await self.database.read(ATTEMPTS.select)).items


@asynccontextmanager
async def living(
    folder: Path,
    host: FakeHost | None = None,
    *,
    clock: FastClock | None = None,
    settings: Settings | None = None,
    run: bool = True,
    attend: bool = False,
) -> AsyncIterator[House]:
    """A daemon on ``folder``'s database; entering again on the same folder is a restart.

    Args:
        run: with everything that works by itself; False: only what is called.
        attend: also records what needs attention. That is owed too, some moments after a worker's
            agent stands idle, and would come into the counts of tests about other records.
    """
    clock = clock or FastClock()
    host = host or FakeHost(clock.awake)
    async with await Database.open(
        folder / "coordinator.db", wall=clock.wall, source=random.Random()
    ) as database:
        ground = Ground(
            database=database,
            terminal=FakeTerminal(host),
            kinds=KINDS,
            clock=clock,
            source=random.Random(),
            settings=settings or Settings(backstop_s=15),
            surroundings=Surroundings(
                root="/work", name="work", coordctl="/opt/bin/coordctl", path="/usr/bin"
            ),
            letters=folder / "messages",
            environment=lambda pid: {"HOME": str(folder / "home")},
            running=Running(pid=1, version="0", workspace="/work", socket="/s", started_at=0.0),
            config=folder / "config.toml",
            host_socket=HOST_SOCKET,
            host_kind="embedded",
            in_repository=False,
            premises=Premises(folder=folder),
            stop=lambda panes: None,
            tools=Place(runs=str(folder / "runs"), launcher=f"{folder}/w.run", python="python"),
        )
        setbacks: list[tuple[str, str, str]] = []
        ground = msgspec.structs.replace(
            ground, tell_setback=lambda name, kind, trace: setbacks.append((name, kind, trace))
        )
        parts = Parts(ground)
        async with anyio.create_task_group() as group:
            if run:
                await group.start(parts.watches.run)
                await group.start(parts.intake.run)
                await group.start(parts.pump.run)
                await group.start(parts.settler.run)
                if attend:
                    await group.start(parts.attendant.run)
                await group.start(parts.ager.run)
                await group.start(parts.tool_runs.run)
            house = House(host, parts, clock)
            house.setbacks = setbacks
            yield house
            group.cancel_scope.cancel()
        assert setbacks == []
