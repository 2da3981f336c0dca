"""What an error of SQLite means to the caller."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from coordinatord.errors import Refused

_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_CORRUPT: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FAILED: Final = {
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
}
_NO_ROOM: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
"""The second is what a full disk gives when the shared index of the log cannot grow."""


def is_busy(error: sqlite3.Error) -> bool:
    """Does another program hold the lock?"""
    return _code(error) & 0xFF in _BUSY


def busy(path: Path) -> Refused:
    """The refusal of a write that waited for another program's lock in vain."""
    return Refused(
        "store-busy",
        f"Another program holds {path}; nothing was accepted.",
        "End the program that has the database open (often an sqlite3 shell), then repeat.",
    )


def full(path: Path) -> Refused:
    """The refusal of a write for which the disk has no room."""
    return Refused(
        "store-full",
        f"There is no room left for {path}; nothing was accepted.",
        "Free space on this disk, then repeat.",
    )


def corrupt(path: Path, detail: str) -> Refused:
    """The refusal of a damaged database."""
    return Refused(
        "store-corrupt",
        f"The database {path} is damaged: {detail}. It was not changed.",
        "Keep a copy, move it away with its -wal file, and put back the newest of "
        f"{path.parent / 'backups'}; or start with an empty one.",
    )


def vanished(path: Path) -> Refused:
    """The refusal of a write into a database that was removed or replaced under the daemon."""
    return Refused(
        "store-failed",
        f"The database {path} was removed or replaced while it was open; nothing was accepted.",
        "Put it back, or stop the daemon and start it again to begin anew.",
    )


def refusal_of(error: sqlite3.Error, path: Path) -> Refused | None:
    """How the world's faults are told to the caller; None: it is a bug of ours."""
    code = _code(error)
    if code in _NO_ROOM:
        return full(path)
    if code & 0xFF in _BUSY:
        return busy(path)
    if code & 0xFF in _CORRUPT:
        return corrupt(path, str(error))
    if code & 0xFF in _FAILED:
        return _failed(path, str(error))
    return None


def refusal_of_os(error: OSError, path: Path) -> Refused:
    """How the system's own errors at opening are told."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full(path)
    return _failed(path, error.strerror or str(error))


def _failed(path: Path, detail: str) -> Refused:
    return Refused(
        "store-failed",
        f"The database {path} cannot be used: {detail}. Nothing was accepted.",
        "Check the disk and the permissions of its folder, then repeat.",
    )


def _code(error: sqlite3.Error) -> int:
    """SQLite's extended code; errors that Python's module raises by itself have none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
