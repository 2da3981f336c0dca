"""Time, passed in: wall time for display, awake time for deadlines."""

from __future__ import annotations

import time
from typing import Protocol

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
        await anyio.sleep(seconds)
