"""From a path to a database that is ours, sound and of this version's schema."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from coordinatord.store import admission, faults
from coordinatord.store.connection import open_writer
from coordinatord.store.migrate import Migration, back_up, migrate, shipped, sync, version_of


def prepare(
    path: Path, migrations: Sequence[Migration] | None, now: float, busy_ms: int
) -> os.stat_result:
    """Check the database at ``path`` and bring it up to date; make it if there is none.

    Returns which file it is: a path can come to name another.

    Args:
        path: in an existing folder; only the holder of the workspace's lock may call this.
        migrations: in order; None: those of this package.
        now: wall seconds, for the name of the backup of a database that is about to change.
        busy_ms: how long another program's lock is waited for.

    Raises:
        Refused: any ``store-…`` or ``folder-unsafe``; the file is unchanged.
    """
    steps = shipped() if migrations is None else migrations
    try:
        admission.check_place(path.parent)
        if path.exists() or path.is_symlink():
            admission.check_file(path, len(steps), busy_ms)
            _bring_up(path, steps, now, busy_ms)
        else:
            admission.check_absent(path)
            _create(path, steps, busy_ms)
        return path.stat()
    except sqlite3.Error as error:
        raise faults.refusal_of(error, path) or error from error
    except OSError as error:
        raise faults.refusal_of_os(error, path) from error


def _bring_up(path: Path, migrations: Sequence[Migration], now: float, busy_ms: int) -> None:
    path.chmod(0o600)
    connection = open_writer(path, busy_ms)
    try:
        connection.execute("PRAGMA journal_mode = WAL")  # a person's shell may have changed it
        if version_of(connection) < len(migrations):
            back_up(connection, path.parent / "backups", now)
            migrate(connection, migrations)
    finally:
        connection.close()


def _create(path: Path, migrations: Sequence[Migration], busy_ms: int) -> None:
    """Under another name first: whoever is killed here leaves no half-made database."""
    fresh = Path(f"{path}.new")
    for rest in (fresh, Path(f"{fresh}-wal"), Path(f"{fresh}-shm"), Path(f"{fresh}-journal")):
        rest.unlink(missing_ok=True)
    # SQLite gives its other files the mode of this one
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = open_writer(fresh, busy_ms)
    try:
        migrate(connection, migrations)
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    sync(fresh)
    fresh.rename(path)
    sync(path.parent)
