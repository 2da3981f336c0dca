"""Follows the journal for watchers. A watcher that reads too slowly is dropped and can resume."""

from __future__ import annotations

from typing import Final, Protocol

import anyio
import anyio.abc

from coordinatord.features.panes.records import Caller
from coordinatord.features.views.records import Watching
from coordinatord.features.views.requests import SubscribeWatch
from coordinatord.store import journal
from coordinatord.store.database import Database

LINES_AT_ONCE: Final = 200


class Listener(Protocol):
    """The connection of a watcher, as far as following needs it."""

    closed: anyio.Event

    def notify(self, method: str, params: object) -> bool:
        """Queue a notification; False once the watcher is gone or was dropped."""
        ...


class Watches:
    """Owns the followers' tasks. Run it in a task group before the first watch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._group: anyio.abc.TaskGroup | None = None

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep the followers until cancelled."""
        async with anyio.create_task_group() as group:
            self._group = group
            task_status.started()
            await anyio.sleep_forever()

    async def subscribe(
        self, listener: Listener, caller: Caller, request: SubscribeWatch
    ) -> Watching:
        """Answer `watch.subscribe`; without a cursor only what is new follows."""
        seq = await self._database.read(journal.last_seq)
        since = seq if request.since is None else min(request.since, seq)
        if self._group is not None:
            self._group.start_soon(self._follow, listener, since)
        return Watching(since=since, seq=seq)

    async def _follow(self, listener: Listener, since: int) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._send, listener, since, group.cancel_scope)
            await listener.closed.wait()
            group.cancel_scope.cancel()

    async def _send(self, listener: Listener, since: int, scope: anyio.CancelScope) -> None:
        while True:
            count = self._database.changes.count
            lines = await self._database.read(journal.since, since, LINES_AT_ONCE)
            for line in lines:
                if not listener.notify("watch.line", line):
                    scope.cancel()
                    return
                since = line.seq
            if len(lines) < LINES_AT_ONCE:
                await self._database.changes.wait_past(count)
