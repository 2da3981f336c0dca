"""The one database: `Database.write` and `Database.read` run plain functions in transactions."""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from coordinatord.errors import Refused
from coordinatord.store import opening
from coordinatord.store.call import Call, poster
from coordinatord.store.changes import Changes
from coordinatord.store.migrate import Migration
from coordinatord.store.readers import Readers
from coordinatord.store.transaction import Transaction, Value, View
from coordinatord.store.writer import Writer

__all__ = ["Changes", "Database", "Transaction", "Value", "View"]

P = ParamSpec("P")
T = TypeVar("T")

BUSY_SECONDS: Final = 8.0
"""How long a call waits while another program holds the database (interfaces.md, Exit codes)."""

_READERS: Final = 2


PASSING: Final = frozenset({"store-busy", "store-full", "store-failed"})
"""Reasons for which the store takes nothing now and may later."""

_AGAIN_AFTER_S: Final = 1.0


class Database:
    """The database of a workspace, open. It belongs to the event loop that opened it."""

    def __init__(
        self, writer: Writer, readers: Readers, changes: Changes, busy_seconds: float
    ) -> None:
        self.changes = changes
        """Wakes after each commit that appended to the journal."""
        self._writer = writer
        self._readers = readers
        self._busy_seconds = busy_seconds
        self._closing = False
        self._hurried = False

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        wall: Callable[[], float],
        source: random.Random,
        busy_seconds: float = BUSY_SECONDS,
        migrations: Sequence[Migration] | None = None,
    ) -> Database:
        """Open the database at ``path``, or make one there; call it with the workspace's lock held.

        Args:
            path: in an existing folder.
            wall: wall seconds; asked on another thread.
            source: randomness for ids; used on another thread.
            busy_seconds: how long a call waits for another program's lock.
            migrations: the schema; by default the one in this package.

        Raises:
            Refused: ``store-…`` or ``folder-unsafe``, with the file left as it was.
        """
        busy_ms = int(busy_seconds * 1000)
        identity = await anyio.to_thread.run_sync(
            opening.prepare, path, migrations, wall(), busy_ms
        )
        changes, post = Changes(), poster()
        writer = Writer(
            path,
            identity,
            post=post,
            committed=changes.wake,
            wall=wall,
            monotonic=time.monotonic,
            source=source,
        )
        readers = Readers(path, post=post, monotonic=time.monotonic, threads=_READERS)
        return cls(writer, readers, changes, busy_seconds)

    async def write(
        self, fn: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run ``fn`` in a transaction; when this returns, what it wrote is on disk.

        If ``fn`` raises, nothing of it was written and the exception is raised here. A caller that
        is cancelled meanwhile still gets the outcome, and its cancellation at its next wait.

        Raises:
            Refused: ``store-busy``, ``store-full``, ``store-failed``, ``store-corrupt`` or
                ``stopping``: nothing was written.
            TypeError: ``fn`` can await.
        """
        if inspect.iscoroutinefunction(fn):
            raise TypeError("a transaction is a plain function: it cannot await")
        await anyio.lowlevel.checkpoint_if_cancelled()
        call = self._call(fn, args, kwargs)
        self._writer.submit(call)
        with anyio.CancelScope(shield=True):
            await call.done.wait()
        result: T = call.outcome()
        return result

    async def insist(
        self, fn: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Like `write`, for what has happened already and has to be known: tried until it is written.

        Raises:
            Refused: trying again does not help, or there is no time for it (`hurry`).
        """
        while True:
            try:
                return await self.write(fn, *args, **kwargs)
            except Refused as error:
                if error.reason not in PASSING or self._hurried:
                    raise
            await anyio.sleep(_AGAIN_AFTER_S)

    def hurry(self) -> None:
        """The daemon ends: nobody insists any more."""
        self._hurried = True

    async def read(
        self, fn: Callable[Concatenate[View, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run ``fn`` on what is committed now, all of it seen at one moment.

        Raises:
            Refused: ``store-busy``, ``store-failed``, ``store-corrupt`` or ``stopping``.
        """
        call = self._call(fn, args, kwargs)
        self._readers.submit(call)
        await call.done.wait()
        result: T = call.outcome()
        return result

    async def aclose(self) -> None:
        """Finish what was accepted and close the file cleanly. Later calls are refused."""
        self._closing = True
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._readers.finish)
            await anyio.to_thread.run_sync(self._writer.finish)

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        if self._closing:
            raise Refused("stopping", "The daemon is stopping; the database is closed.")
        return Call(fn, args, kwargs, time.monotonic() + self._busy_seconds)
