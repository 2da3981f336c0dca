"""One accepted connection: a bounded line in, bytes out, and a sign when the client is gone."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

import anyio
from anyio.abc import ByteSendStream

LONGEST_LINE: Final = 1 << 20
"""Bytes of a request line; a longer one is dropped without an answer (herdr-protocol.md §1.3)."""
LINE_TIME: Final = 5.0
"""Seconds in which the line must be there."""
_WRITE_TIME: Final = 5.0
"""Seconds that a blocked client is waited for before its connection ends."""
_PIECE: Final = 64 << 10


class Connection(ByteSendStream):
    """A client's socket, not blocking."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._rest = b""
        self.write_time = _WRITE_TIME

    async def line(self) -> bytes | None:
        """The next line without its end, or None if it is too long or never comes.

        What follows the first line stays unread where it is not asked for: the rule is one request
        per connection.
        """
        data = bytearray()
        while b"\n" not in data:
            if len(data) > LONGEST_LINE:
                return None
            piece = await self.receive()
            if not piece:
                return None
            data += piece
        line, _, self._rest = bytes(data).partition(b"\n")
        return line if len(line) <= LONGEST_LINE else None

    async def receive(self) -> bytes:
        """What comes next; empty at the end."""
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        while True:
            try:
                return self._sock.recv(_PIECE)
            except BlockingIOError:
                await anyio.wait_readable(self._sock)
            except OSError:
                return b""

    async def send(self, item: bytes) -> None:
        """Send all of it.

        Raises:
            anyio.BrokenResourceError: the client is gone, or took nothing for ``write_time``
                seconds.
        """
        rest = memoryview(item)
        while rest:
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                with anyio.move_on_after(self.write_time) as scope:
                    await anyio.wait_writable(self._sock)
                if scope.cancelled_caught:
                    raise anyio.BrokenResourceError from None
            except OSError:
                raise anyio.BrokenResourceError from None

    def send_now(self, line: bytes) -> None:
        """Send what the kernel takes at once: a last word."""
        with contextlib.suppress(OSError):
            self._sock.send(line)

    async def gone(self) -> None:
        """Return when the client half-closes, closes, or writes again: for a parked one all mean
        gone.
        """
        if not self._rest:
            await anyio.wait_readable(self._sock)

    async def aclose(self) -> None:
        """Close; bytes that were never read make the client see a reset, as with Herdr."""
        self._sock.close()
