"""Keeps the background loops going: one that fails is begun anew, and ends neither the daemon nor the others.

Besides `server/dispatch.py` the one place that catches what nobody expected (docs/decisions/0006): a loop
re-reads everything when it begins, so beginning anew loses nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import anyio
from anyio.abc import TaskStatus

from coordinatord.clock import Clock, Pulse
from coordinatord.errors import Refused
from coordinatord.store.database import PASSING

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
"""Pauses double from the first to the longest; a loop that lives longer than its pause starts afresh."""


class Log(Protocol):
    """Where failures are told."""

    def error(self, event: str, **facts: Any) -> object: ...
    def warning(self, event: str, **facts: Any) -> object: ...


class Supervisor:
    """Runs loops. ``failing`` names those that failed lately, with the kind of error, for `status`."""

    def __init__(self, clock: Clock, log: Log, pulse: Pulse, failing: dict[str, str]) -> None:
        self._clock = clock
        self._log = log
        self._pulse = pulse
        self.failing = failing
        self._told: dict[str, str] = {}

    async def keep(
        self,
        name: str,
        run: Callable[..., Awaitable[None]],
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Run a loop until it returns, beginning it anew after each failure. A failure before it had
        started counts as started: the rest of the daemon does not wait for it."""
        status, pause = Begun(task_status), FIRST_PAUSE_S
        while True:
            began = self._clock.awake()
            try:
                await self._live(name, run, status, pause)
                return
            except BaseExceptionGroup as errors:  # docs/decisions/0006
                failed, ended = errors.split(Exception)
                pause = FIRST_PAUSE_S if self._clock.awake() - began > pause else pause
                if failed is not None:
                    self._tell(name, failed)
                if ended is not None:
                    raise ended from None  # it is to end, and failed on the way
                if not only_the_store(errors):
                    status.started()
            await self._pulse.sleep(self._clock, pause, name)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _live(
        self, name: str, run: Callable[..., Awaitable[None]], status: Begun, trial: float
    ) -> None:
        """One life; after ``trial`` seconds without a failure the loop counts as well."""
        async with anyio.create_task_group() as group:

            async def forgive() -> None:
                await self._clock.sleep(trial)
                self.failing.pop(name, None)

            group.start_soon(forgive)
            await run(task_status=status)
            group.cancel_scope.cancel()
        self.failing.pop(name, None)

    def _tell(self, name: str, error: BaseException) -> None:
        """Whole the first time, in a word when the same loop fails the same way again."""
        kind = _kind(error)
        if only_the_store(error):
            self._log.warning("store-passing", part=name)
            return
        self.failing[name] = kind
        if self._told.get(name) == kind:
            self._log.warning("part-failed-again", part=name, kind=kind)
            return
        self._told[name] = kind
        self._log.error("part-failed", part=name, kind=kind, exc_info=error)


class Begun:
    """A task status that may be told twice: a part that begins anew has started already."""

    def __init__(self, status: TaskStatus[None]) -> None:
        self._status = status
        self._told = False

    def started(self, value: None = None) -> None:
        """The part runs."""
        if not self._told:
            self._told = True
            self._status.started()


def only_the_store(error: BaseException) -> bool:
    """Is it nothing but a store that takes nothing now?"""
    if isinstance(error, BaseExceptionGroup):
        return all(map(only_the_store, error.exceptions))
    return isinstance(error, Refused) and error.reason in PASSING


def _kind(error: BaseException) -> str:
    """The first error's type: its words may hold a text of somebody."""
    if isinstance(error, BaseExceptionGroup):
        return _kind(error.exceptions[0])
    return type(error).__name__
