"""Reading goes on beside writing, sees one moment and changes nothing."""

from __future__ import annotations

import threading

import anyio
import pytest

from coordinatord.errors import Refused
from coordinatord.store import journal
from coordinatord.store.database import Database, Transaction, View


async def test_one_reading_sees_one_moment(database: Database) -> None:
    reading, written = threading.Event(), threading.Event()
    seen: list[int] = []

    def twice(view: View) -> None:
        seen.append(journal.last_seq(view))
        reading.set()
        assert written.wait(5)
        seen.append(journal.last_seq(view))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(database.read, twice)
        assert await anyio.to_thread.run_sync(reading.wait, 5)
        await database.write(lambda tx: tx.journal("question", "q-1"))
        written.set()
    assert seen == [0, 0]
    assert await database.read(journal.last_seq) == 1


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(Refused):
        await database.read(lambda view: view.row("DELETE FROM journal"))


async def test_a_long_reading_holds_up_neither_writers_nor_readers(database: Database) -> None:
    end = threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(database.read, lambda view: end.wait(5))
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            await database.write(lambda tx: tx.journal("question", "q-1"))
            assert await database.read(journal.last_seq) == 1
        end.set()


async def test_a_cancelled_reader_is_gone_at_once(database: Database) -> None:
    end = threading.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(database.read, lambda view: end.wait(5))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert not end.is_set()
    end.set()


async def test_what_a_reading_raises_reaches_its_caller_alone(database: Database) -> None:
    def broken(view: View) -> None:
        raise LookupError("no")

    with pytest.raises(LookupError):
        await database.read(broken)
    assert await database.read(lambda view: view.row("SELECT 1")) == (1,)


async def test_no_row_is_none_and_rows_are_lists(database: Database) -> None:
    def look(tx: Transaction) -> tuple[object, object]:
        return tx.row("SELECT 1 WHERE 0"), tx.rows("SELECT ? UNION SELECT ?", 1, 2)

    assert await database.write(look) == (None, [(1,), (2,)])
