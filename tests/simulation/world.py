"""The simulated world: the real features and schema, on simulated time, host and crashes.

Nothing runs on threads, so one seed gives one course of events: the store's own functions run inline on
one SQLite connection, and time is trio's mock clock, which jumps when nobody can go on.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from coordinatord.errors import Refused
from coordinatord.ids import PaneId
from coordinatord.store import journal, migrate
from coordinatord.store.changes import Changes
from coordinatord.store.database import PASSING
from coordinatord.store.transaction import Transaction, View
from coordinatord.terminals.fake import FakeTerminal
from coordinatord.terminals.fake_host import Fault
from coordinatord.terminals.port import PaneText, Sighting, Snapshot, Source, TerminalEvent
from tests.simulation.observer import Facts, WatchedHost, facts

T = TypeVar("T")
EPOCH = 1_800_000_000.0
DEADLINE_S = 5.0
"""How long a call of the terminal port may take."""

ENDS_OF_A_STALL: tuple[Fault, ...] = ("uncertain-done", "uncertain-lost")
"""A call that acts may have acted or not; one that reads is `Unreachable` either way."""


class Killed(BaseException):
    """SIGKILL: whatever the daemon was about to do, it does no more."""


class SimClock:
    """Trio's mock time for everything."""

    def wall(self) -> float:
        return EPOCH + anyio.current_time()

    def awake(self) -> float:
        return anyio.current_time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds))


class Life:
    """One life of the daemon. Every step towards disk or host may be the last one."""

    def __init__(self) -> None:
        self._steps_left: int | None = None
        self.steps = 0
        self.over = False
        self.store_fails_until = 0.0
        """Until then (awake seconds) the disk is full."""

    def kill_in(self, steps: int) -> None:
        """Die at the n-th step from now."""
        self._steps_left = steps

    def step(self) -> None:
        """One step. Raises `Killed` once the life is over."""
        self.steps += 1
        if self._steps_left is not None:
            self._steps_left -= 1
            self.over = self.over or self._steps_left < 0
        if self.over:
            raise Killed


class InlineDatabase:
    """`store.database.Database` without threads: the same functions, transactions and wake-ups."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        source: random.Random,
        wall: Callable[[], float],
        life: Life,
    ) -> None:
        self.changes = Changes()
        self._connection = connection
        self._source = source
        self._wall = wall
        self._life = life
        self.committed: Callable[[View], None] | None = None
        """Is told after each commit."""

    @staticmethod
    def file() -> sqlite3.Connection:
        """The disk: it outlives every daemon."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        migrate.migrate(connection, migrate.shipped())
        return connection

    async def write(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        await anyio.lowlevel.checkpoint_if_cancelled()
        self._life.step()
        if anyio.current_time() < self._life.store_fails_until:
            raise Refused("store-full", "The disk is full.")
        tx = Transaction(self._connection, self._wall(), self._source)
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = fn(tx, *args, **kwargs)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._commit()
        if self.committed is not None:
            self.committed(View(self._connection))
        if tx.journaled:
            self.changes.wake()
        self._life.step()
        await anyio.lowlevel.cancel_shielded_checkpoint()
        return result

    def last_seq(self) -> int:
        """Where the journal stands."""
        return journal.last_seq(View(self._connection))

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    async def insist(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        while True:
            try:
                return await self.write(fn, *args, **kwargs)
            except Refused as error:
                if error.reason not in PASSING:
                    raise
            await anyio.sleep(1)

    async def read(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        await anyio.lowlevel.checkpoint()
        self._life.step()
        return fn(View(self._connection), *args, **kwargs)


class SimTerminal(FakeTerminal):
    """A daemon's view of the host, through a wire that loses, repeats, delays and reorders events.

    With ``slow`` its calls take time too, now and then all of what a call may take. Then the daemon is held
    to what it was shown: to the sighting of its last look at a pane and the screen of its last read.
    """

    def __init__(
        self, host: WatchedHost, life: Life, chance: random.Random, *, lossy: bool, slow: bool
    ) -> None:
        super().__init__(host)
        self._watched = host
        self._life = life
        self._chance = chance
        self._lossy = lossy
        self.slow = slow and lossy
        self._shown: dict[PaneId, Facts] = {}

    async def run(self, deliver: Callable[[TerminalEvent], None], *, task_status: Any) -> None:
        late: list[TerminalEvent] = []

        def pass_on(event: TerminalEvent) -> None:
            if self._life.over:
                return
            fate = self._chance.random() if self._lossy else 1.0
            if fate < 0.15:
                return
            if fate < 0.30:
                late.append(event)
                return
            deliver(event)
            if fate < 0.40:
                deliver(event)
            if late and fate < 0.70:
                deliver(late.pop(self._chance.randrange(len(late))))

        await super().run(pass_on, task_status=task_status)

    async def snapshot(self) -> Snapshot:
        found = await super().snapshot()
        for pane in self._watched.panes:
            self._show(pane, screen=False)
        return found

    async def look(self, pane: PaneId) -> Sighting:
        found = await super().look(pane)
        self._show(pane, screen=False)
        return found

    async def read(self, pane: PaneId, source: Source = "visible", **how: Any) -> PaneText:
        found = await super().read(pane, source, **how)
        self._show(pane, screen=True)
        return found

    async def prompt(self, pane: PaneId, text: str) -> None:
        if self._watched.paused:
            self._watched.violated("typed while typing was paused")
        shown = self._shown.get(pane) if self.slow else None
        await self._act("prompt", pane, lambda: self._watched.prompt(pane, text, shown))

    def _show(self, pane: PaneId, *, screen: bool) -> None:
        """Note what the daemon is shown now: the host's record, or what is on the screen."""
        now = facts(self._watched.panes[pane])
        before = self._shown.get(pane, now)
        self._shown[pane] = Facts(
            before.terminal_id if screen else now.terminal_id,
            before.status if screen else now.status,
            now.composer if screen else before.composer,
            now.dialog if screen else before.dialog,
        )

    async def _begin(self, method: str, pane: Any) -> Any:
        self._life.step()
        if self.slow and self._chance.random() < 0.2:
            await anyio.sleep(self._chance.choice((0.02, 0.3, 1.5)))
            if self._chance.random() < 0.1:
                await anyio.sleep(DEADLINE_S)
                return self._chance.choice(ENDS_OF_A_STALL)
        fault = await super()._begin(method, pane)
        self._life.step()
        return fault
