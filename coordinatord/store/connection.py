"""How connections are opened, and by what a file is known as ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

APPLICATION_ID: Final = 0x436F6F72
"""In the header of every database of ours ("Coor"), so that another program's is never touched."""

_LOG_LIMIT: Final = 16 * 1024 * 1024
"""Bytes to which the write-ahead log is cut back once it was longer."""


def open_writer(path: Path, busy_ms: int) -> sqlite3.Connection:
    """The connection that writes. A commit returns when it is on disk (``synchronous=FULL``)."""
    return _open(path, "rw", busy_ms, "synchronous = FULL", f"journal_size_limit = {_LOG_LIMIT}")


def open_reader(path: Path, busy_ms: int) -> sqlite3.Connection:
    """A connection that can read only. It needs write access to the shared index of the log."""
    return _open(path, "rw", busy_ms, "query_only = ON")


def open_untouching(path: Path, busy_ms: int, *, whole: bool = False) -> sqlite3.Connection:
    """A connection that leaves the file and its log byte for byte, also when it is closed.

    ``whole``: nobody else has the file open and no log stands beside it, and none is made then.
    """
    return _open(path, "ro&immutable=1" if whole else "ro", busy_ms)


def _open(path: Path, mode: str, busy_ms: int, *pragmas: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=busy_ms / 1000,
        isolation_level=None,
        cached_statements=256,
    )
    try:
        # the schema of a file that came with a cloned repository is not ours to trust
        for pragma in ("trusted_schema = OFF", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
