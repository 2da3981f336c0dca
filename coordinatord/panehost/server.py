"""Accepts connections, takes one request from each, answers and closes.

Invariant: one broken request ends its own connection and nothing else; everything that waits for a
client is bounded (line, time, bytes, number of connections).
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import socket
from typing import Final

import anyio
import anyio.abc
import msgspec

from coordinatord.panehost import (
    attach,
    decoding,
    methods_agents,
    methods_events,
    methods_layout,
    methods_move,
    methods_panes,
    methods_reports,
    requests,
    requests_agents,
)
from coordinatord.panehost.connection import LINE_TIME, Connection
from coordinatord.panehost.events import Stream
from coordinatord.panehost.failures import Failed
from coordinatord.panehost.host import Host
from coordinatord.panehost.methods import Answer, Table
from coordinatord.sockets.peer import peer_of

MOST_CONNECTIONS: Final = 1024
"""Connections at one time, parked ones counted; one more is closed at once."""
METHODS: Final[Table] = {
    **methods_layout.TABLE,
    **methods_move.TABLE,
    **methods_panes.TABLE,
    **methods_agents.TABLE,
    **methods_reports.TABLE,
    **methods_events.TABLE,
}
_PARKED: Final = (
    requests_agents.AgentWait,
    requests_agents.AgentPrompt,
    requests_agents.PaneWaitForOutput,
    requests_agents.EventsWait,
)
_UNAVAILABLE: Final = Failed("server_unavailable", "the server is stopping")
log = logging.getLogger("coordinatord.panehost")


class Server:
    """Serves one listening socket for one host."""

    def __init__(self, host: Host, listener: socket.socket) -> None:
        self._host = host
        self._listener = listener
        self._open = 0
        self._output_waits: dict[Connection, str] = {}

    async def run(self) -> None:
        """Serve until the host stops."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._accept, tasks)
            await self._host.stopping.wait()
            # only these are told, as in Herdr; others see the end of the connection (recording 06)
            for connection, request_id in self._output_waits.items():
                connection.send_now(_failure(request_id, _UNAVAILABLE))
            tasks.cancel_scope.cancel()

    async def _accept(self, tasks: anyio.abc.TaskGroup) -> None:
        while True:
            await anyio.wait_readable(self._listener)
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                continue
            except OSError as error:
                # out of descriptors, or the client is gone already: others still can come
                log.warning("a connection could not be accepted: %s", error)
                await anyio.sleep(0.1)
                continue
            sock.setblocking(False)
            if self._open >= MOST_CONNECTIONS or not _same_user(sock):
                sock.close()
                continue
            self._open += 1
            tasks.start_soon(self._serve, sock)

    async def _serve(self, sock: socket.socket) -> None:
        connection = Connection(sock)
        try:
            await self._serve_one(connection)
        except anyio.BrokenResourceError:
            pass  # the client did not wait for its answer
        except Exception:  # the one boundary: a bug ends this connection only
            log.exception("a request failed")
        finally:
            self._open -= 1
            await connection.aclose()

    async def _serve_one(self, connection: Connection) -> None:
        line: bytes | None = None
        with anyio.move_on_after(LINE_TIME * self._host.settings.pace):
            line = await connection.line()
        if line is None or not _readable(line):
            return
        try:
            request_id, params = decoding.decode(line.rstrip(b"\r"))
        except Failed as failed:
            await connection.send(_failure("", failed))
            return
        await self._answer(connection, request_id, params)

    async def _answer(
        self, connection: Connection, request_id: str, params: requests.Params
    ) -> None:
        try:
            if isinstance(params, requests_agents.EventsSubscribe):
                await self._subscribe(connection, request_id, params)
            elif isinstance(params, requests.PaneAttach):
                await self._attach(connection, request_id, params)
            elif isinstance(params, _PARKED):
                await self._park(connection, request_id, params)
            else:
                await connection.send(_success(request_id, await self._call(params, request_id)))
            if isinstance(params, requests.ServerStop):
                self._host.stopping.set()
        except Failed as failed:
            await connection.send(_failure(request_id, failed))
        except anyio.BrokenResourceError:
            raise
        except Exception:  # the one boundary: a bug is answered and logged
            log.exception("the method of %s failed", type(params).__name__)
            await connection.send(_failure(request_id, Failed("internal_error", "internal error")))

    async def _call(self, params: requests.Params, request_id: str) -> Answer:
        methods_reports.sweep(self._host)
        if isinstance(params, requests_agents.EventsWait):
            return await methods_events.wait_event(self._host, params, request_id)
        result = METHODS[type(params)](self._host, params)
        answer: Answer = await result if inspect.isawaitable(result) else result
        self._host.announce_focus()
        return answer

    async def _park(self, connection: Connection, request_id: str, params: requests.Params) -> None:
        """A request that may take long: it ends when its client goes or writes again."""
        answer: bytes | None = None
        if isinstance(params, requests_agents.PaneWaitForOutput):
            self._output_waits[connection] = request_id
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_when_gone, connection, tasks.cancel_scope)
                try:
                    answer = _success(request_id, await self._call(params, request_id))
                except Failed as failed:
                    answer = _failure(request_id, failed)
                tasks.cancel_scope.cancel()
        finally:
            self._output_waits.pop(connection, None)
        if answer is not None:
            await connection.send(answer)

    async def _subscribe(
        self, connection: Connection, request_id: str, params: requests_agents.EventsSubscribe
    ) -> None:
        entries = methods_events.entries(self._host, request_id, params.subscriptions)
        stream = Stream(entries)
        stream.output.put(_success(request_id, {"type": "subscription_started"}))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, connection, tasks.cancel_scope)
            tasks.start_soon(_send_stream, stream, connection, tasks.cancel_scope)
            await self._host.hub.run(stream)
            tasks.cancel_scope.cancel()

    async def _attach(
        self, connection: Connection, request_id: str, params: requests.PaneAttach
    ) -> None:
        hosted, terminal = self._host.terminal(params.pane_id)
        if params.columns is not None and params.rows is not None:
            terminal.resize(min(params.columns, 1000), min(params.rows, 1000))
        answer = {
            "type": "pane_attached",
            "pane_id": hosted.pane_id,
            "columns": terminal.screen.columns,
            "rows": terminal.screen.rows,
        }
        await connection.send(_success(request_id, answer))
        await attach.attach(self._host, hosted, terminal, connection)


async def _cancel_when_gone(connection: Connection, scope: anyio.CancelScope) -> None:
    await connection.gone()
    scope.cancel()


async def _send_stream(stream: Stream, connection: Connection, scope: anyio.CancelScope) -> None:
    with contextlib.suppress(anyio.BrokenResourceError):
        await stream.output.send_all(connection)
    scope.cancel()


def _success(request_id: str, result: Answer) -> bytes:
    return msgspec.json.encode({"id": request_id, "result": result}) + b"\n"


def _failure(request_id: str, failed: Failed) -> bytes:
    told = request_id if failed.request_id is None else failed.request_id
    error = {"code": failed.code, "message": failed.message}
    return msgspec.json.encode({"id": told, "error": error}) + b"\n"


def _readable(line: bytes) -> bool:
    """Herdr drops empty lines and invalid UTF-8 without an answer (herdr-protocol.md §1.3)."""
    try:
        return bool(line.decode().strip())
    except UnicodeDecodeError:
        return False


def _same_user(sock: socket.socket) -> bool:
    try:
        return peer_of(sock).uid == os.geteuid()
    except OSError:
        return False
