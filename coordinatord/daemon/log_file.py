"""A log file of bounded size: ``daemon.log``, older lines in ``daemon.log.1`` and so on.

Invariant: writing never raises. What cannot be written (a full disk) is counted, and the count is
the first thing written when there is room again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from pathlib import Path
from typing import Final

LIMIT_BYTES: Final = 1024 * 1024
FILES: Final = 3
"""The current one and those before it: at most 3 MiB in all."""


class LogFile:
    """Appends lines, private to the user, and turns the file over before it gets too long.

    Args:
        path: of the current file; its folder exists.
        limit: bytes of one file. A longer single line gets a file of its own.
        files: how many to keep, the current one included; at least 1.
    """

    def __init__(self, path: Path, *, limit: int = LIMIT_BYTES, files: int = FILES) -> None:
        self._path = path
        self._limit = limit
        self._files = files
        self._descriptor: int | None = None
        self._size = 0
        self._lost = 0

    def write(self, line: str) -> None:
        """Append one line; the line break is added."""
        encoded = line.encode("utf-8", "backslashreplace") + b"\n"
        try:
            if self._lost:
                self._append(b'{"event":"log.lines-lost","count":%d}\n' % self._lost)
                self._lost = 0
            self._append(encoded)
        except OSError:  # the disk is full or the folder is gone; told above when that has passed
            self._lost += 1

    def close(self) -> None:
        """Give the file back; a later write opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(self, encoded: bytes) -> None:
        descriptor = self._open()
        if self._size and self._size + len(encoded) > self._limit:
            self._turn_over()
            descriptor = self._open()
        self._size += os.write(descriptor, encoded)

    def _open(self) -> int:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags | os.O_NONBLOCK, 0o600)
            self._size = os.fstat(self._descriptor).st_size
        return self._descriptor

    def _turn_over(self) -> None:
        self.close()
        names = [self._path, *(Path(f"{self._path}.{n}") for n in range(1, self._files))]
        for newer, older in reversed(list(itertools.pairwise(names))):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        if self._files == 1:
            self._path.unlink(missing_ok=True)


class Stream:
    """A stream of the process, standard error as a rule. Writing never raises either."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = sys.stderr.fileno() if descriptor is None else descriptor

    def write(self, line: str) -> None:
        """Write one line; the line break is added."""
        with contextlib.suppress(OSError):  # the terminal was closed: the file has the line
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace") + b"\n")

    def close(self) -> None:
        """Nothing to give back: the stream is not ours."""
