"""Time, passed in: wall time for display, awake time for deadlines."""

from __future__ import annotations

import math
import time
from typing import Final, Protocol

import anyio


class Clock(Protocol):
    """What the daemon may know about time."""

    def wall(self) -> float:
        """Seconds since the epoch; may jump. For display and for records' ``at``."""

    def awake(self) -> float:
        """Seconds of an arbitrary start that only grow while the machine is awake. For deadlines."""

    async def sleep(self, seconds: float) -> None:
        """Wait that long in awake time."""


class SystemClock:
    """The machine's clocks."""

    def wall(self) -> float:
        """See `Clock`; rounded to a millisecond, which is all that records keep."""
        return round(time.time(), 3)

    def awake(self) -> float:
        """See `Clock`. Linux's monotonic clock stands still while the machine sleeps."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        await anyio.sleep(max(0.0, seconds))  # a moment that has just passed


WATCHED: Final = frozenset({"pump", "intake"})
"""The loops without which nobody is told anything: a watchdog watches them."""


class Pulse:
    """Signs of life of the watched loops. Each beats whenever it goes round, and while it waits.

    ``every_s``: longest silence of a loop that waits; without a watchdog nobody listens, and no loop wakes
    up only to beat.
    """

    def __init__(self, every_s: float = math.inf) -> None:
        self.every_s = every_s
        self._beaten: set[str] = set()
        self._rounds = 0

    def beat(self, loop: str) -> None:
        """This loop goes on."""
        self._beaten.add(loop)

    async def sleep(self, clock: Clock, seconds: float, loop: str) -> None:
        """Wait that long in awake time, beating meanwhile."""
        ends = clock.awake() + seconds
        self.beat(loop)
        while (left := ends - clock.awake()) > self.every_s:
            await clock.sleep(self.every_s)
            self.beat(loop)
        await clock.sleep(left)
        self.beat(loop)

    def progress(self) -> int:
        """A number that changes from one call to the next only if every watched loop beat in between."""
        if self._beaten >= WATCHED:
            self._rounds += 1
            self._beaten.clear()
        return self._rounds
