"""Numbered migrations, each whole or not at all, with a backup of what was before."""

# ruff: noqa: ASYNC240 - nobody else runs on the loops of these tests

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from coordinatord.store.database import Database, Transaction
from coordinatord.store.migrate import Migration, in_order, shipped

from .conftest import NOW

FIRST = shipped()[0]
SECOND = Migration(
    2,
    "notes",
    """
    CREATE TABLE notes (text TEXT);
    CREATE TRIGGER no_delete BEFORE DELETE ON notes BEGIN SELECT raise(ABORT, 'kept; always'); END;
    -- a comment without a line end""",
)
BROKEN = Migration(3, "broken", "CREATE TABLE half (x); INSERT INTO missing VALUES (1);")


async def open_at(path: Path, migrations: Sequence[Migration]) -> Database:
    return await Database.open(
        path, wall=lambda: NOW, source=random.Random(3), migrations=migrations
    )


def line(tx: Transaction, id: str) -> int:
    """A journal line as the first schema has it."""
    return tx.run(
        "INSERT INTO journal (at, kind, id, actor, proof) VALUES (?, 'task', ?, '', '')", NOW, id
    )


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    connection.close()
    return found


def test_the_shipped_ones_are_numbered_without_a_gap() -> None:
    assert [step.number for step in shipped()] == list(range(1, len(shipped()) + 1))
    assert (FIRST.number, FIRST.name) == (1, "store")


@pytest.mark.parametrize("numbers", [[2], [1, 3], [1, 1], [0, 1]])
def test_a_gap_or_a_double_is_a_mistake(numbers: list[int]) -> None:
    with pytest.raises(ValueError, match="not numbered"):
        in_order([Migration(number, "x", "") for number in numbers])


async def test_an_old_database_is_brought_up_after_a_backup(path: Path) -> None:
    async with await open_at(path, [FIRST]) as database:
        await database.write(line, "t-1")
    assert not (path.parent / "backups").exists()  # a new one needs none

    async with await open_at(path, [FIRST, SECOND]) as database:
        assert await database.write(lambda tx: tx.run("INSERT INTO notes VALUES ('x')")) == 1
        with pytest.raises(sqlite3.IntegrityError, match="kept; always"):
            await database.write(lambda tx: tx.run("DELETE FROM notes"))
        assert await database.write(line, "t-2") == 1
    assert version(path) == 2

    [backup] = (path.parent / "backups").iterdir()
    assert backup.name == "coordinator-v1-20231114T221320Z.db"
    assert backup.stat().st_mode & 0o777 == 0o600
    assert backup.parent.stat().st_mode & 0o777 == 0o700
    backup.rename(path)  # it is a database like any other
    async with await open_at(path, [FIRST]) as database:
        assert await database.read(lambda view: view.rows("SELECT id FROM journal")) == [("t-1",)]


async def test_one_that_is_up_to_date_is_not_backed_up(path: Path) -> None:
    for _ in range(2):
        async with await open_at(path, [FIRST, SECOND]):
            pass
    assert not (path.parent / "backups").exists()


async def test_a_migration_that_fails_leaves_the_number_before_it(path: Path) -> None:
    async with await open_at(path, [FIRST]) as database:
        await database.write(line, "t-1")
    with pytest.raises(sqlite3.OperationalError, match="missing"):
        await open_at(path, [FIRST, SECOND, BROKEN])
    assert version(path) == 2

    def tables(tx: Transaction) -> list[tuple[str]]:
        return tx.rows("SELECT name FROM sqlite_master WHERE name IN ('half', 'notes')")

    async with await open_at(path, [FIRST, SECOND]) as database:
        assert await database.write(tables) == [("notes",)]


async def test_a_new_database_whose_making_fails_does_not_appear(path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        await open_at(path, [FIRST, SECOND, BROKEN])
    assert not path.exists()
