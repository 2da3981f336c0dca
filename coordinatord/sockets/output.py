"""What waits to be sent to one client, bounded in bytes.

Answers are always queued, and whoever reads the client's requests waits for `room` first: a client
that does not read is not read from. What we say by ourselves (`offer`) has no such brake: a client
that lets it pile up is dropped with a last line that says why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

import anyio

DEFAULT_LIMIT: Final = 4 << 20
"""Bytes that may wait for one client: a few of the longest lines."""

_PIECE: Final = 64 << 10
"""Bytes handed to the kernel at once, where lines are shorter."""


class Sink(Protocol):
    """Where lines go: a socket stream."""

    async def send(self, item: bytes, /) -> None:
        """Send all of ``item``."""
        ...


class Output:
    """One client's queue.

    Args:
        overflow: the last line for a client that was dropped.
        on_overflow: called once, when that happens.
        limit: bytes that may wait.
    """

    def __init__(
        self, overflow: bytes, on_overflow: Callable[[], None], limit: int = DEFAULT_LIMIT
    ) -> None:
        self._overflow = overflow
        self._on_overflow = on_overflow
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._work = anyio.Event()
        self._sent = anyio.Event()
        self.closed = False
        """Nothing more is taken."""

    def put(self, line: bytes) -> bool:
        """Queue an answer, however much waits; False if the queue is closed."""
        if self.closed:
            return False
        if line:
            self._lines.append(line)
            self._size += len(line)
            self._work.set()
        return True

    def offer(self, line: bytes) -> bool:
        """Queue what nobody asked for; False if the queue is closed, or overflowed by this."""
        if not self.closed and self._size + len(line) > self._limit:
            self._drop()
        return self.put(line)

    def close(self, last: bytes = b"") -> None:
        """Take nothing more; what waits and the ``last`` line are still sent."""
        self.put(last)
        self.closed = True
        self._work.set()
        self._tell_sent()

    @property
    def full(self) -> bool:
        """Does as much wait as may? Then nothing more should be asked for."""
        return self._size >= self._limit and not self.closed

    async def room(self) -> None:
        """Wait until the queue is not `full`."""
        while self.full:
            await self._sent.wait()

    async def drained(self) -> None:
        """Wait until all that is queued was sent: who has much to say keeps pace with its reader so."""
        while self._lines and not self.closed:
            await self._sent.wait()

    async def send_all(self, stream: Sink) -> None:
        """Send what is queued until the queue is closed and empty.

        Raises:
            anyio.BrokenResourceError: the client is gone.
        """
        while True:
            while self._lines:
                await stream.send(self._next_piece())
                self._tell_sent()
            if self.closed:
                return
            self._work = anyio.Event()
            await self._work.wait()

    def _next_piece(self) -> bytes:
        piece = [self._lines.popleft()]
        size = len(piece[0])
        while self._lines and size + len(self._lines[0]) <= _PIECE:
            piece.append(self._lines.popleft())
            size += len(piece[-1])
        self._size -= size
        return b"".join(piece)

    def _drop(self) -> None:
        """What waits is thrown away; the piece the kernel has been given ends at a line's end."""
        self._lines.clear()
        self._size = 0
        self.close(self._overflow)
        self._on_overflow()

    def _tell_sent(self) -> None:
        self._sent.set()
        self._sent = anyio.Event()
