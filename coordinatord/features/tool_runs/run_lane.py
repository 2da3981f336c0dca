"""What is kept in memory about runs that have not ended, and the lines in which runs wait."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio

from coordinatord.clock import Clock
from coordinatord.features.panes.records import Caller
from coordinatord.features.tool_runs.records import Running, ToolRun, Typing
from coordinatord.ids import ProcessId
from coordinatord.store.changes import Changes


class Descent(Protocol):
    """A process and its ancestors, nearest first."""

    @property
    def ancestry(self) -> tuple[ProcessId, ...]: ...


class Link(Protocol):
    """The connection of a caller, as far as runs need it."""

    closed: anyio.Event

    @property
    def peer(self) -> Descent: ...

    def notify(self, method: str, params: object) -> bool:
        """Queue a notification; False once the caller is gone."""
        ...

    async def drained(self) -> None:
        """Wait until what was queued is sent, or the connection ends."""
        ...


class Live:
    """A run that has not ended: its record as last written, and who waits for what.

    ``caller`` and ``environment`` are not stored: a restarted daemon does not have them.
    """

    def __init__(
        self, record: ToolRun, caller: Caller | None, environment: bytes | None, space: str
    ) -> None:
        self.record = record
        self.caller = caller
        self.environment = environment
        self.space = space
        """The host workspace that the caller's pane was in."""
        self.runner: Link | None = None
        self.waiters: list[Link] = []
        self.stopped: frozenset[int] | None = None
        """The jobs that were stopped in the pane's shell before it was given an in-shell command."""
        self.claimed = anyio.Event()
        self.over = anyio.Event()
        """Ended, or past its limit: the next of its line may have a turn."""
        self.ended = anyio.Event()

    @property
    def terminal(self) -> str | None:
        """The terminal that it was typed into."""
        state = self.record.state
        return state.terminal if isinstance(state, Typing | Running) else None


class Lane:
    """The runs of one label in one host workspace: first come, first served, by sequence number."""

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.busy = False
        self._changed = Changes()

    @asynccontextmanager
    async def turn(self, seq: int) -> AsyncIterator[None]:
        """Be the only one of this line; ``seq`` stands in ``waiting`` already."""
        try:
            while self.busy or min(self.waiting) != seq:
                await self._changed.wait_past(self._changed.count)
            self.busy = True
            self.waiting.remove(seq)
            try:
                yield
            finally:
                self.busy = False
        finally:
            if seq in self.waiting:
                self.waiting.remove(seq)
            self._changed.wake()


async def first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return as soon as one of them does; the others are cancelled."""
    async with anyio.create_task_group() as group:

        async def one(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            group.cancel_scope.cancel()

        for wait in waits:
            group.start_soon(one, wait)


async def within(clock: Clock, seconds: float, event: anyio.Event) -> bool:
    """Wait for the event at most so long; whether it is set."""
    await first_of(event.wait, lambda: clock.sleep(seconds))
    return event.is_set()
