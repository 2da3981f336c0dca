"""The async client: any number of calls at once over one connection, on asyncio and trio."""

from __future__ import annotations

import contextlib
import os
import socket as sockets
from collections.abc import AsyncIterator, Mapping
from typing import Final, TypeVar

import anyio
from anyio import to_thread
from anyio.abc import SocketAttribute, TaskGroup, UNIXSocketStream

from coordinatord import locate
from coordinatord.client import calls
from coordinatord.client.calls import SILENCE_S, Change, Lost, Target
from coordinatord.starting import PAUSE_S, Start
from coordinatord.wire.client_side import Answered, ClientSide, Event, Failed, Notified
from coordinatord.wire.requests import Request

R = TypeVar("R")

_FAREWELL_S: Final = 0.5
"""How long in seconds a cancelled call may take to tell the daemon so."""


@contextlib.asynccontextmanager
async def connect(
    *,
    socket: str | None = None,
    directory: str | None = None,
    environ: Mapping[str, str] | None = None,
    client: str = "python",
    start: bool = True,
) -> AsyncIterator[Client]:
    """A client of this workspace's daemon. The connection is opened by the first call.

    Args:
        socket: path of the API socket; nothing is started for it.
        directory: where to look for the workspace instead of the working directory.
        environ: environment instead of ours: settings for finding, and what it claims about a pane.
        client: name under which the daemon's log shows this program.
        start: may a daemon be started if none answers?

    Raises:
        NoDaemon: there is no workspace.
    """
    target = await to_thread.run_sync(calls.target, socket, directory, environ, client, start)
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        made = Client(target, tasks)
        try:
            yield made
        except Exception as error:  # noqa: BLE001 - raised below, outside the task group
            failure = error
        finally:
            await made.aclose()
            tasks.cancel_scope.cancel()
    if failure is not None:
        # what the caller's block raises reaches it as it is, not in a group of ours
        raise failure


class Client:
    """Calls a daemon; made by `connect`."""

    def __init__(self, target: Target, tasks: TaskGroup) -> None:
        self._target = target
        self._tasks = tasks
        self._link: _Link | None = None
        self._opening = anyio.Lock()
        self._watches: list[Watch] = []

    async def call(self, request: Request[R], *, timeout: float | None = SILENCE_S) -> R:
        """The answer to one request.

        Args:
            timeout: seconds until the daemon counts as not answering; None waits for ever.

        Raises:
            CallFailed: it was refused. NoDaemon: nothing answers. OutcomeUncertain: see there.
        """
        request = calls.with_key(request)
        for last in (False, True):
            try:
                with anyio.fail_after(timeout):
                    link = await self._linked()
                    event = await link.ask(request)
                return calls.decode(request, event)
            except TimeoutError:
                raise calls.silent() from None
            except Lost:
                if last:
                    raise calls.lost_twice(request) from None
        raise AssertionError("unreachable")

    def watch(self, since: int | None = None) -> Watch:
        """Every change after the cursor, for ever, over connections of its own."""
        made = Watch(self._target, since)
        self._watches.append(made)
        return made

    async def aclose(self) -> None:
        """Close what the watches hold; `connect` does it at the end."""
        for each in self._watches:
            await each.aclose()

    async def _linked(self) -> _Link:
        async with self._opening:
            if self._link is None or self._link.over:
                self._link = _Link(await _open(self._target), self._target)
                self._tasks.start_soon(self._link.read)
            return self._link


class _Slot:
    """Where one open call waits for its answer; ``event`` stays None if the connection is lost."""

    def __init__(self) -> None:
        self.ready = anyio.Event()
        self.event: Event | None = None


class _Link:
    def __init__(self, stream: UNIXSocketStream, target: Target) -> None:
        self._stream = stream
        self._side = ClientSide()
        self._greeting = calls.greeting(self._side, target)
        self._open: dict[int, _Slot] = {}
        self._sending = anyio.Lock()
        self.over = False

    async def ask(self, request: Request[R]) -> Event:
        id, line = calls.encode(self._side, request)
        slot = self._open[id] = _Slot()
        try:
            await self._send(line)
            await slot.ready.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), anyio.move_on_after(_FAREWELL_S):
                await self._send(self._side.cancel(id))
            raise
        finally:
            self._open.pop(id, None)
        if slot.event is None:
            raise Lost
        return slot.event

    async def read(self) -> None:
        """Hand every answer to the call that waits for it, until the connection ends."""
        try:
            async with self._stream:
                while True:
                    self._side.feed(await self._stream.receive())
                    for event in self._side.events():
                        self._hand_out(event)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self.over = True
            for slot in self._open.values():
                slot.ready.set()

    def _hand_out(self, event: Event) -> None:
        if isinstance(event, Notified):
            return
        if event.id is None:  # a farewell: it belongs to every call that is open
            waiting = list(self._open.values())
        else:
            waiting = [self._open[event.id]] if event.id in self._open else []
        for slot in waiting:
            slot.event = event
            slot.ready.set()

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            greeting, self._greeting = self._greeting, b""
            # the reader sees the end of a connection, and what was said before it
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._stream.send(greeting + line)


class Watch:
    """The changes after a cursor, one by one: ``async for change in client.watch(since)``.

    It goes on from its cursor when the daemon goes away and comes back.
    """

    def __init__(self, target: Target, since: int | None) -> None:
        self._target = target
        self._cursor = since
        self._stream: UNIXSocketStream | None = None
        self._side = ClientSide()
        self._call = 0

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Change:
        while True:
            try:
                change = await self._next_change()
            except Lost:
                await self.aclose()
            except calls.CallFailed as failure:
                await self.aclose()
                if failure.reason not in calls.RESUMABLE:
                    raise
            else:
                if self._cursor is None or change.seq > self._cursor:
                    self._cursor = change.seq
                    return change

    async def aclose(self) -> None:
        """Close the connection; the next change would open another."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await anyio.aclose_forcefully(stream)

    async def _next_change(self) -> Change:
        stream = self._stream or await self._subscribe()
        while True:
            for event in self._side.events():
                if isinstance(event, Failed) and event.id in (self._call, None):
                    raise calls.failure_of(event.error)
                if isinstance(event, Answered) and event.id == self._call:
                    self._cursor = calls.beginning_of(event)
                change = calls.change_of(event) if isinstance(event, Notified) else None
                if change is not None:
                    return change
            try:
                self._side.feed(await stream.receive())
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                raise Lost from None

    async def _subscribe(self) -> UNIXSocketStream:
        stream = self._stream = await _open(self._target)
        self._side = ClientSide()
        greeting = calls.greeting(self._side, self._target)
        params = {} if self._cursor is None else {"since": self._cursor}
        self._call, line = self._side.call(calls.SUBSCRIBE, params)
        with contextlib.suppress(anyio.BrokenResourceError):
            await stream.send(greeting + line)
        return stream


async def _open(target: Target) -> UNIXSocketStream:
    try:
        with anyio.fail_after(SILENCE_S):
            stream = await _try(target)
            if stream is None and await to_thread.run_sync(lambda: target.may_start):
                stream = await _start(target)
    except TimeoutError:
        raise calls.silent() from None
    if stream is None:
        raise await to_thread.run_sync(calls.nobody, target)
    return stream


async def _start(target: Target) -> UNIXSocketStream:
    workspace = target.address.workspace
    assert workspace is not None
    begun = await to_thread.run_sync(Start, workspace, target.environ)
    while not await to_thread.run_sync(lambda: begun.failed):
        stream = await _try(target)
        if stream is not None:
            return stream
        await anyio.sleep(PAUSE_S)
    sentence = await to_thread.run_sync(lambda: begun.sentence)
    raise calls.NoDaemon("no-daemon", sentence, begun.hint)


async def _try(target: Target) -> UNIXSocketStream | None:
    for path in await to_thread.run_sync(lambda: target.paths):
        try:
            stream = await anyio.connect_unix(path)
        except (OSError, ValueError):
            continue
        raw: sockets.socket = stream.extra(SocketAttribute.raw_socket)
        uid = locate.peer_uid(raw)
        if uid is not None and uid != os.geteuid():
            await stream.aclose()
            raise calls.foreign(path, uid)
        return stream
    return None
