"""May this file be opened as our database? Every refusal leaves the file as it is."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Final

from coordinatord.errors import Refused
from coordinatord.store import faults
from coordinatord.store.connection import APPLICATION_ID, open_untouching
from coordinatord.store.migrate import version_of
from coordinatord.store.network import fstype_at, is_network

_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100
_VERSION: Final = slice(60, 64)
_APPLICATION: Final = slice(68, 72)
"""Source of the three: SQLite's description of its file format, section 1.3."""

LOGS: Final = ("-wal", "-journal")
"""Suffixes of the files in which SQLite keeps what is not carried over yet."""

_LARGE: Final = 256 * 1024 * 1024
"""Bytes that are looked through at every start: about 2 ms for each MiB. Damage in a larger file that was
closed cleanly shows when it is read, and to `coordctl doctor`."""

_ASIDE: Final = "Move it away and start again, or name another workspace with -C."


def check_place(folder: Path) -> None:
    """Refuse a folder in which SQLite's locks do not hold.

    Raises:
        Refused: ``store-network``.
    """
    fstype = fstype_at(folder)
    if is_network(fstype):
        raise Refused(
            "store-network",
            f"{folder} lies on a network file system ({fstype}), where the database is not safe.",
            "Put the workspace on a local disk.",
        )


def check_absent(path: Path) -> None:
    """Refuse to begin a new database beside the remains of an old one, which would leak into it.

    Raises:
        Refused: ``store-corrupt``.
    """
    for suffix in LOGS:
        rest = Path(f"{path}{suffix}")
        if rest.exists():
            raise Refused(
                "store-corrupt",
                f"{rest} is there, but its database {path} is missing.",
                f"Put {path.name} back beside it, or move {rest.name} away to begin anew.",
            )


def check_file(path: Path, newest: int, busy_ms: int, looked_through: float = _LARGE) -> None:
    """Refuse what is not ours, what we do not understand and what is damaged.

    Every page is looked at in a file of up to ``looked_through`` bytes, and after an unclean stop.

    Raises:
        Refused: ``folder-unsafe``, ``store-foreign``, ``store-newer`` or ``store-corrupt``.
        sqlite3.Error: another program holds the file, or the disk fails.
    """
    header = _header_of(path)
    _check_version(path, int.from_bytes(header[_VERSION], "big"), newest)
    whole = _stands_in_one_file(path)
    if whole and path.stat().st_size > looked_through:
        return
    # what was committed last may stand in the log only, and reading it must not carry it over
    connection = open_untouching(path, busy_ms, whole=whole)
    try:
        _check_version(path, version_of(connection), newest)
        check_pages(connection, path)
    finally:
        connection.close()


def _stands_in_one_file(path: Path) -> bool:
    """The last connection to close removes the logs: one with content is from a killed program."""
    logs = (Path(f"{path}{suffix}") for suffix in LOGS)
    return not any(log.exists() and log.stat().st_size > 0 for log in logs)


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Look at every page.

    Raises:
        Refused: ``store-corrupt``.
    """
    found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if found != "ok":
        raise faults.corrupt(path, found)


def _header_of(path: Path) -> bytes:
    """Decided on the bytes alone: SQLite never sees a file that is not ours."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise _foreign(path, "is not a regular file")
    if status.st_uid != os.geteuid():
        raise Refused(
            "folder-unsafe",
            f"{path} belongs to another user (uid {status.st_uid}).",
            "Start as its owner, or remove the file if it came with somebody else's work.",
        )
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header:
        raise _foreign(path, "is empty")
    if header[:16] != _MAGIC:
        raise _foreign(path, "is not an SQLite database")
    if len(header) < _HEADER_BYTES:
        raise faults.corrupt(path, f"it ends after {len(header)} bytes")
    if int.from_bytes(header[_APPLICATION], "big") != APPLICATION_ID:
        raise _foreign(path, "is a database of another program")
    return header


def _check_version(path: Path, version: int, newest: int) -> None:
    if version > newest:
        raise Refused(
            "store-newer",
            f"The database {path} has schema {version}, this program knows {newest}. "
            "It was not changed.",
            "Start the newer coordinatord. To go back, move the database and its -wal file away "
            f"and put an older copy from {path.parent / 'backups'} in its place.",
        )


def _foreign(path: Path, what: str) -> Refused:
    return Refused("store-foreign", f"{path} {what}. It was not changed.", _ASIDE)
