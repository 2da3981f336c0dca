"""`coordinatord.pane.attach`: after its answer the connection is the pane's terminal.

To the client go raw bytes: first what repaints the screen, then the pane's output as it comes. From
the client come JSON lines: ``{"input": "text"}``, ``{"bytes": "<base64>"}``, ``{"resize": [columns,
rows]}``. Questions that the host answers itself are not passed on (`passing.py`). The connection
ends when the pane ends, when the client closes or half-closes, or at a line that is none of these.
When the last client leaves, the terminal gets its usual size back.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import math
from typing import Final

import anyio
import msgspec

from coordinatord.panehost.connection import Connection
from coordinatord.panehost.host import Host
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.pane import Pane, PaneClosed, QueueFull
from coordinatord.panehost.passing import Passing

_MOST_WAITING: Final = 1 << 20
"""Bytes that may wait for a slow terminal; over it they are dropped and the screen is repainted."""
_WIDEST: Final = 1000
_LAST_WORDS_TIME: Final = 0.5
"""Seconds that a client has to take what the pane wrote last."""


class _Input(msgspec.Struct, frozen=True):
    input: str | None = None
    bytes: str | None = None
    resize: tuple[int, int] | None = None


class _Feed:
    """What waits for one attached client; a repaint replaces what a slow one missed."""

    def __init__(self, terminal: Pane) -> None:
        self._terminal = terminal
        self._passing = Passing()
        self._waiting = bytearray()
        self._missed = True
        self._news = anyio.Event()
        self._news.set()

    def take(self, data: bytes) -> None:
        """Output of the pane."""
        passed = self._passing.on(data)
        if not self._missed:
            self._waiting += passed
        if len(self._waiting) > _MOST_WAITING:
            self.repaint()
        self._news.set()

    def repaint(self) -> None:
        """Forget what waits; the whole screen is sent next."""
        self._waiting.clear()
        self._missed = True
        self._news.set()

    async def next(self) -> bytes:
        """What to send now."""
        await self._news.wait()
        self._news = anyio.Event()
        return self.rest()

    def rest(self) -> bytes:
        """What waits."""
        if self._missed:
            self._missed = False
            self._waiting[:] = self._terminal.redraw()
        sent = bytes(self._waiting)
        self._waiting.clear()
        return sent


async def attach(host: Host, hosted: HostedPane, terminal: Pane, connection: Connection) -> None:
    """Pass bytes until one of both ends."""
    feed = _Feed(terminal)
    connection.write_time = math.inf  # a terminal may be stopped for long: the feed is bounded
    remove = terminal.tap(feed.take)
    hosted.attached += 1
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_send, feed, connection, tasks.cancel_scope)
            tasks.start_soon(_until_gone, host, hosted, tasks.cancel_scope)
            await _take_input(host, hosted, terminal, feed, connection)
            tasks.cancel_scope.cancel()
        if hosted.gone:
            await _last_words(feed, connection)
    finally:
        remove()
        hosted.attached -= 1
        if hosted.attached == 0 and not hosted.gone:
            terminal.resize(host.settings.columns, host.settings.rows)


async def _send(feed: _Feed, connection: Connection, scope: anyio.CancelScope) -> None:
    try:
        while True:
            await connection.send(await feed.next())
    except anyio.BrokenResourceError:
        scope.cancel()


async def _last_words(feed: _Feed, connection: Connection) -> None:
    with (
        anyio.move_on_after(_LAST_WORDS_TIME, shield=True),
        contextlib.suppress(anyio.BrokenResourceError),
    ):
        await connection.send(feed.rest())


async def _until_gone(host: Host, hosted: HostedPane, scope: anyio.CancelScope) -> None:
    while not hosted.gone:
        await host.hub.next_touch(hosted.terminal_id).wait()
    scope.cancel()


async def _take_input(
    host: Host, hosted: HostedPane, terminal: Pane, feed: _Feed, connection: Connection
) -> None:
    while (line := await connection.line()) is not None:
        try:
            wanted = msgspec.json.decode(line, type=_Input)
            data = (wanted.input or "").encode() + base64.b64decode(wanted.bytes or "")
        except (msgspec.MsgspecError, UnicodeEncodeError, binascii.Error):
            return
        if wanted.resize is not None:
            columns, rows = (max(1, min(size, _WIDEST)) for size in wanted.resize)
            terminal.resize(columns, rows)
            feed.repaint()
        try:
            host.type_bytes(hosted, terminal, data)
        except PaneClosed:
            return
        except QueueFull:
            continue  # the program takes no input: what is typed now is lost, as on any terminal
