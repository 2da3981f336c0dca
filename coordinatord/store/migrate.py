"""Numbered migrations, each in one transaction together with the number it brings the file to."""

from __future__ import annotations

import importlib.resources
import os
import re
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coordinatord.store.connection import APPLICATION_ID

_NAME: Final = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True)
class Migration:
    """One step of the schema. ``number`` becomes the file's ``user_version``."""

    number: int
    name: str
    sql: str


def shipped() -> list[Migration]:
    """The migrations in this package, in order: ``migrations/NNNN_name.sql``, numbered from 1."""
    found = []
    for entry in (importlib.resources.files("coordinatord.store") / "migrations").iterdir():
        if match := _NAME.fullmatch(entry.name):
            found.append(Migration(int(match[1]), match[2], entry.read_text("utf-8")))
    return in_order(found)


def in_order(migrations: Sequence[Migration]) -> list[Migration]:
    """Sorted by number.

    Raises:
        ValueError: a number is missing or stands twice.
    """
    ordered = sorted(migrations, key=lambda migration: migration.number)
    if [migration.number for migration in ordered] != list(range(1, len(ordered) + 1)):
        raise ValueError(f"migrations are not numbered 1, 2, 3 …: {[m.number for m in ordered]}")
    return ordered


def version_of(connection: sqlite3.Connection) -> int:
    """The number of the last migration that the database went through."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Apply what is missing. A migration that fails leaves the database at the number before it."""
    for migration in migrations[version_of(connection) :]:
        try:
            # the script holds its own transaction: `executescript` would commit one begun before
            connection.executescript(
                "BEGIN IMMEDIATE;\n"
                f"{migration.sql}\n;"
                f"PRAGMA application_id = {APPLICATION_ID};\n"
                f"PRAGMA user_version = {migration.number};\n"
                "COMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def back_up(connection: sqlite3.Connection, folder: Path, now: float) -> Path:
    """Write a copy of the database into ``folder``, complete and on disk when this returns.

    Args:
        connection: a connection to the database, with no transaction open.
        folder: made with mode 0700 if it is missing.
        now: wall seconds, for the file's name.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    target = folder / f"coordinator-v{version_of(connection)}-{stamp}.db"
    partial = target.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    # an empty file of the right mode first: VACUUM INTO would create it with the umask's
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection.execute("VACUUM INTO ?", (str(partial),))
    sync(partial)
    partial.rename(target)
    sync(folder)
    return target


def sync(path: Path) -> None:
    """Wait until the file's contents, or the folder's names, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
