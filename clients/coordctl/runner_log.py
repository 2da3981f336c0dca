"""The log that a tool pane's runner writes: everything, within bounds.

The first `HEAD` bytes go to the log itself, what follows to numbered pieces of which the last two
stay; at the end they are joined. The daemon reads it meanwhile
(``coordinatord/features/tool_runs/files.py`` knows the same numbers).
"""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

HEAD: Final = 8 << 20
PIECE: Final = 4 << 20
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Log:
    """Append only. A disk that is full loses output and never the command."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.written = 0
        """Bytes of output so far, kept or not."""
        self.trouble: str | None = None
        """Why some of it was not kept, though there was room."""
        self._number = 0
        self._room = HEAD
        self._file = self._open(path)

    def write(self, raw: bytes) -> None:
        """Add output."""
        self.written += len(raw)
        while raw:
            now, raw = raw[: self._room], raw[self._room :]
            self._put(now)
            self._room -= len(now)
            if not self._room:
                self._next_piece()

    def close(self) -> None:
        """Join the pieces into the log, with a line that says what was left out."""
        if self._file is None:
            return
        os.close(self._file)
        self._file = None
        if self._number:
            with contextlib.suppress(OSError):  # else the pieces stay where they are
                self._join()

    def _put(self, raw: bytes) -> None:
        while raw and self._file is not None:
            try:
                raw = raw[os.write(self._file, raw) :]
            except OSError as error:
                self.trouble = error.strerror
                return

    def _next_piece(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._number += 1
        self._room = PIECE
        self._file = self._open(self._name(self._number))
        self._remove(self._number - 2)

    def _join(self) -> None:
        numbers = [number for number in (self._number - 1, self._number) if number > 0]
        tail = b"".join(self._content(number) for number in numbers)
        gap = self.written - HEAD - len(tail)
        left_out = f"\n[{gap} bytes of output were left out here]\n".encode() if gap else b""
        with open(self.path, "ab") as file:
            file.write(left_out + tail)
        for number in numbers:
            self._remove(number)

    def _content(self, number: int) -> bytes:
        with open(self._name(number), "rb") as file:
            return file.read(PIECE)

    def _name(self, number: int) -> str:
        return f"{self.path}.{number}"

    def _remove(self, number: int) -> None:
        if number > 0:
            with contextlib.suppress(OSError):  # gone already
                os.unlink(self._name(number))

    def _open(self, path: str) -> int | None:
        try:
            return os.open(path, _FLAGS, 0o600)
        except OSError as error:
            self.trouble = error.strerror
            return None
