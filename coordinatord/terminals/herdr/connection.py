"""One connection to the host's socket: a line out in one go, lines in.

Raw non-blocking sockets on purpose: connecting and writing happen in one step of the event loop.
The host looks for the line once and else sleeps 100 ms (herdr-protocol.md §1.3), so a scheduling
point between the two would cost every request that pause. The write side is never closed: the host
takes that as "the peer has gone" (§4.1).
"""

from __future__ import annotations

import socket
from typing import Final

import anyio

_LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes. A snapshot of a thousand panes is a hundredth of this; more is no answer but a fault."""

_QUEUE_FULL_PAUSE: Final = 0.01
"""Seconds until the next try while the host's accept queue is full."""


class Lost(Exception):
    """The connection ended, or never was."""


class Connection:
    """A connection that has sent its one line, or is about to."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._buffer = bytearray()

    async def open(self, path: str, line: bytes) -> None:
        """Connect and write the whole line at once.

        Raises:
            Lost: nobody listens, or the host left before it had the whole line.
        """
        try:
            while not self._connected(path):  # noqa: ASYNC110 - nothing tells when it has room
                await anyio.sleep(_QUEUE_FULL_PAUSE)
            await self._write(memoryview(line))
        except OSError as error:
            raise Lost(error.strerror or str(error)) from error

    async def read_line(self) -> bytes:
        """The next line, without its end.

        Raises:
            Lost: the host closed or reset the connection; half a line counts as none.
        """
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > _LONGEST_LINE:
                raise Lost("the host sent a line without an end")
            self._buffer += await self._receive()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def close(self) -> None:
        """Let go of the socket; the host sees the end at once."""
        self._socket.close()

    def _connected(self, path: str) -> bool:
        try:
            self._socket.connect(path)
        except BlockingIOError:
            return False
        return True

    async def _write(self, rest: memoryview) -> None:
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    async def _receive(self) -> bytes:
        try:
            await anyio.wait_readable(self._socket)
            piece = self._socket.recv(65536)
        except BlockingIOError:
            return b""  # woken without cause
        except OSError as error:
            raise Lost(error.strerror or str(error)) from error
        if not piece:
            raise Lost("the host closed the connection")
        return piece
