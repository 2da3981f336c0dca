"""Cuts a stream of bytes into lines, with a limit on the length of one."""

from __future__ import annotations

from collections import deque
from typing import Final

MAX_LINE: Final = 1 << 20
"""Longest request line in bytes, its newline not counted. Source: architecture, API socket."""


class LineTooLong(Exception):
    """A line went over the limit; nothing after it can be trusted to begin a line."""


class LineBuffer:
    """Holds what has come and hands out whole lines, in any sizes of pieces.

    What it holds is bounded by the limit and the size of one piece.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._begun_size = 0
        self._overlong = False

    def feed(self, piece: bytes) -> None:
        """Take bytes as they came. After a line that is too long, all are thrown away."""
        first, *others = piece.split(b"\n")
        self._extend(first)
        for part in others:
            self._finish()
            self._extend(part)

    def end(self) -> None:
        """The stream is over: what stands unfinished is a line too."""
        if self._begun_size:
            self._finish()

    def next_line(self) -> bytes | None:
        """The next whole line without its newline, or None until more bytes come.

        Raises:
            LineTooLong: instead of the line that is too long, and ever after.
        """
        if self._lines:
            return self._lines.popleft()
        if self._overlong:
            raise LineTooLong
        return None

    def _extend(self, part: bytes) -> None:
        self._begun_size += len(part)
        if self._overlong or self._begun_size > self._limit:
            self._overlong = True
            self._begun.clear()
        elif part:
            self._begun.append(part)

    def _finish(self) -> None:
        if not self._overlong:
            self._lines.append(b"".join(self._begun))
            self._begun.clear()
            self._begun_size = 0
