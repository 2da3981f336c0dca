"""After-commit wake-ups. They carry no facts: whoever is woken reads the store again."""

from __future__ import annotations

import anyio
import anyio.lowlevel


class Changes:
    """A counter of wake-ups that many tasks can wait on without missing one.

    Take ``seen = changes.count`` *before* reading the store, then ``await
    changes.wait_past(seen)``: a change after the reading ends the wait at once. Used on the event
    loop's thread only.
    """

    def __init__(self) -> None:
        self.count = 0
        self._woken: anyio.Event | None = None

    def wake(self) -> None:
        """Wake everyone who waits."""
        self.count += 1
        if self._woken is not None:
            self._woken.set()
            self._woken = None

    async def wait_past(self, seen: int) -> None:
        """Return once there was a wake-up after the count stood at ``seen``."""
        if self.count > seen:
            await anyio.lowlevel.checkpoint()
        while self.count <= seen:
            if self._woken is None:
                self._woken = anyio.Event()
            await self._woken.wait()
