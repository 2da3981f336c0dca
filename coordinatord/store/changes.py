"""After-commit wake-ups. They carry no facts: whoever is woken reads the store again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

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
        self._waiting: set[anyio.Event] = set()

    def wake(self) -> None:
        """Wake everyone who waits."""
        self.count += 1
        for waiting in self._waiting:
            waiting.set()
        self._waiting.clear()

    def from_now(self) -> Since:
        """To wait for what changes from now on: taken before the store is read."""
        return self, self.count

    async def wait_past(self, seen: int) -> None:
        """Return once there was a wake-up after the count stood at ``seen``."""
        await wait_for_news((self, seen))

    def listen(self, waiting: anyio.Event) -> None:
        """Set this event at the next wake-up."""
        self._waiting.add(waiting)

    def leave(self, waiting: anyio.Event) -> None:
        """This event waits no more."""
        self._waiting.discard(waiting)


Since: TypeAlias = tuple[Changes, int]
"""Changes, and where their count stood before what they tell of was read."""


async def wait_for_news(
    *since: Since, pause: Callable[[], Awaitable[object]] | None = None
) -> None:
    """Return once any of these has changed since, or when ``pause`` is over.

    This is how every loop waits: for the store, for panes, for both, and for a moment that is known to
    come. What has changed already ends the wait at once, without beginning the pause.
    """
    if any(changes.count > seen for changes, seen in since):
        await anyio.lowlevel.checkpoint()
        return
    woken = anyio.Event()
    for changes, _ in since:
        changes.listen(woken)
    try:
        await _until(woken, pause)
    finally:
        for changes, _ in since:
            changes.leave(woken)


async def _until(woken: anyio.Event, pause: Callable[[], Awaitable[object]] | None) -> None:
    if pause is None:
        await woken.wait()
        return
    async with anyio.create_task_group() as group:

        async def end_of_pause() -> None:
            await pause()
            woken.set()

        group.start_soon(end_of_pause)
        await woken.wait()
        group.cancel_scope.cancel()
