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

from coordinatord.store import migrate
from coordinatord.store.changes import Changes
from coordinatord.store.transaction import Transaction, View
from coordinatord.terminals.fake import FakeTerminal
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.port import TerminalEvent

T = TypeVar("T")
EPOCH = 1_800_000_000.0


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

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._steps_left: int | None = None
        self.steps = 0
        self.over = False

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

    @staticmethod
    def file() -> sqlite3.Connection:
        """The disk: it outlives every daemon."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        migrate.migrate(connection, migrate.shipped())
        return connection

    async def write(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        await anyio.lowlevel.checkpoint_if_cancelled()
        self._life.step()
        tx = Transaction(self._connection, self._wall(), self._source)
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = fn(tx, *args, **kwargs)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        if tx.journaled:
            self.changes.wake()
        self._life.step()
        await anyio.lowlevel.cancel_shielded_checkpoint()
        return result

    async def insist(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await self.write(fn, *args, **kwargs)

    async def read(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        await anyio.lowlevel.checkpoint()
        self._life.step()
        return fn(View(self._connection), *args, **kwargs)


class SimTerminal(FakeTerminal):
    """A daemon's view of the host, through a wire that loses, repeats, delays and reorders events."""

    def __init__(self, host: FakeHost, life: Life, chance: random.Random) -> None:
        super().__init__(host)
        self._life = life
        self._chance = chance
        self.lossy = True

    async def run(self, deliver: Callable[[TerminalEvent], None], *, task_status: Any) -> None:
        late: list[TerminalEvent] = []

        def pass_on(event: TerminalEvent) -> None:
            if self._life.over:
                return
            fate = self._chance.random() if self.lossy else 1.0
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

    async def _begin(self, method: str, pane: Any) -> Any:
        self._life.step()
        fault = await super()._begin(method, pane)
        self._life.step()
        return fault
