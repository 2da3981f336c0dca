"""Accepts connections of one user and serves each until it ends.

Invariant: nothing that one connection does ends another or the server. Two ways to end: closing the
listener accepts no more and lets the connections go on (a new listener takes over); setting
``stop`` ends them too, each in its orderly way.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskStatus

from coordinatord.server.connection import Connection, Ending, Limits
from coordinatord.server.dispatch import Dispatcher, Log, Route
from coordinatord.sockets.peer import Peer, peer_of
from coordinatord.wire.server_side import encode_farewell

_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE: Final = 0.2
"""Seconds until accepting is tried again when descriptors or memory have run out."""


async def serve(
    listener: SocketListener,
    routes: Iterable[Route],
    *,
    allowed_uid: int,
    log: Log,
    new_log_id: Callable[[], str],
    stop: anyio.Event | None = None,
    limits: Limits | None = None,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve ``routes`` to processes of ``allowed_uid`` until ``stop``, or ``listener`` is closed.

    Returns when the last connection has ended. Reports itself started once clients can be served.

    Args:
        new_log_id: makes the id under which a bug is logged.
        stop: ends accepting, then each connection: what is in hand is finished within the grace.

    Raises:
        ValueError: two routes answer one method.
        OSError: the listening socket itself fails.
    """
    server = _Server(
        listener=listener,
        dispatcher=Dispatcher(tuple(routes), log, new_log_id),
        allowed_uid=allowed_uid,
        log=log,
        limits=limits or Limits(),
        stop=stop or anyio.Event(),
    )
    await server.run(task_status)


@dataclass
class _Server:
    listener: SocketListener
    dispatcher: Dispatcher
    allowed_uid: int
    log: Log
    limits: Limits
    stop: anyio.Event
    connections: set[Connection] = field(default_factory=set)

    async def run(self, task_status: TaskStatus[None]) -> None:
        async with self.listener, anyio.create_task_group() as group:
            group.start_soon(self._stop_when_asked)
            async with anyio.create_task_group() as serving:
                task_status.started()
                with contextlib.suppress(anyio.ClosedResourceError):
                    while True:
                        serving.start_soon(self._serve_one, await self._accept())
            group.cancel_scope.cancel()

    async def _stop_when_asked(self) -> None:
        await self.stop.wait()
        await self.listener.aclose()
        for connection in tuple(self.connections):
            connection.stop()

    async def _accept(self) -> SocketStream:
        """The next connection.

        Raises:
            anyio.ClosedResourceError: the listener was closed.
            OSError: the listening socket itself fails.
        """
        while True:
            try:
                return await self.listener.accept()
            except anyio.BrokenResourceError as problem:
                cause = problem.__cause__
                if not isinstance(cause, OSError) or not await self._may_accept_again(cause):
                    raise

    async def _may_accept_again(self, problem: OSError) -> bool:
        if problem.errno == errno.ECONNABORTED:
            return True
        if problem.errno in _EXHAUSTED:
            self.log.warning("cannot accept a connection", error=problem.strerror)
            await anyio.sleep(_PAUSE)
            return True
        return False

    async def _serve_one(self, stream: SocketStream) -> None:
        try:
            peer = peer_of(stream.extra(SocketAttribute.raw_socket))
        except OSError:
            await stream.aclose()  # gone before it asked anything
            return
        if peer.uid != self.allowed_uid:
            await self._refuse(stream, peer)
            return
        connection = Connection(stream, peer, self.dispatcher, self.limits)
        self.connections.add(connection)
        if self.stop.is_set():
            connection.stop()
        try:
            if await connection.run() is Ending.TOO_SLOW:
                self.log.warning("client dropped", reason="slow-watcher", pid=peer.pid)
        except Exception as failure:  # a bug here must not end the other connections
            self.log.error("connection failed", pid=peer.pid, exc_info=failure)
        finally:
            connection.closed.set()
            self.connections.discard(connection)

    async def _refuse(self, stream: SocketStream, peer: Peer) -> None:
        self.log.warning("foreign user refused", uid=peer.uid, pid=peer.pid)
        message = f"this daemon serves uid {self.allowed_uid}, not uid {peer.uid}"
        with anyio.move_on_after(self.limits.grace):
            async with stream:
                with contextlib.suppress(anyio.BrokenResourceError):
                    await stream.send(encode_farewell("not-allowed", message))
