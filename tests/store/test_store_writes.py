"""Group commit, isolation of the calls in it, cancellation, and what a transaction may not be."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from coordinatord.errors import Refused
from coordinatord.store import journal
from coordinatord.store.database import Database, Transaction, View

from .conftest import Gate, another_program


def append(tx: Transaction, id: str) -> int:
    return tx.journal("question", id)


def fail_after_append(tx: Transaction, id: str) -> int:
    append(tx, id)
    raise LookupError(id)


def journaled(view: View) -> list[str]:
    return [line.id for line in journal.since(view, 0, 10_000)]


async def test_a_written_line_is_read_back(database: Database) -> None:
    seq = await database.write(append, "q-1")
    assert seq == 1
    assert await database.read(journaled) == ["q-1"]


async def test_a_commit_returns_when_it_is_on_disk(database: Database) -> None:
    """Architecture, rule 2: synchronous=FULL (2) with a write-ahead log."""
    assert await database.write(lambda tx: tx.row("PRAGMA synchronous")) == (2,)
    assert await database.write(lambda tx: tx.row("PRAGMA journal_mode")) == ("wal",)


async def test_waiting_calls_share_one_commit(database: Database, gate: Gate) -> None:
    async with anyio.create_task_group() as tasks:
        await gate.close(database, tasks)
        for number in range(20):
            tasks.start_soon(database.write, append, f"q-{number}")
        await anyio.wait_all_tasks_blocked()
        gate.open()
    assert database.changes.count == 1  # one wake-up for each commit that journaled
    assert len(await database.read(journaled)) == 20


async def test_a_call_that_raises_undoes_only_itself(database: Database, gate: Gate) -> None:
    raised: list[str] = []

    async def expect_failure(id: str) -> None:
        with pytest.raises(LookupError, match=id):
            await database.write(fail_after_append, id)
        raised.append(id)

    async with anyio.create_task_group() as tasks:
        await gate.close(database, tasks)
        for number in range(9):
            if number % 3 == 1:
                tasks.start_soon(expect_failure, f"bad-{number}")
            else:
                tasks.start_soon(database.write, append, f"q-{number}")
        await anyio.wait_all_tasks_blocked()
        gate.open()
    assert database.changes.count == 1
    assert sorted(raised) == ["bad-1", "bad-4", "bad-7"]
    assert sorted(await database.read(journaled)) == ["q-0", "q-2", "q-3", "q-5", "q-6", "q-8"]


async def test_a_commit_in_which_all_fail_wakes_nobody(database: Database) -> None:
    with pytest.raises(LookupError):
        await database.write(fail_after_append, "q-1")
    assert database.changes.count == 0


async def test_writes_of_one_caller_keep_their_order(database: Database) -> None:
    assert [await database.write(append, f"q-{n}") for n in range(10)] == list(range(1, 11))


async def test_a_cancelled_caller_splits_nothing(database: Database, path: Path) -> None:
    """Architecture, rule 2: the write is carried out, once and whole."""
    outcome: list[int] = []
    reached_next_wait = False

    def two_lines(tx: Transaction) -> int:
        return append(tx, "q-1") + append(tx, "q-2")

    async def caller() -> None:
        nonlocal reached_next_wait
        outcome.append(await database.write(two_lines))
        await anyio.lowlevel.checkpoint()
        reached_next_wait = True

    with another_program(path) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(caller)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
            other.execute("ROLLBACK")
    assert outcome == [3]
    assert not reached_next_wait
    assert await database.read(journaled) == ["q-1", "q-2"]


async def test_a_caller_cancelled_before_writes_nothing(database: Database) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await database.write(append, "q-1")
    assert await database.read(journaled) == []


async def test_what_can_await_is_refused(database: Database) -> None:
    """Architecture, rule 2: nothing awaits inside a transaction."""

    async def coroutine(tx: Transaction) -> None:
        append(tx, "q-1")

    def returns_coroutine(tx: Transaction) -> Any:
        append(tx, "q-2")
        return coroutine(tx)

    def generator(tx: Transaction) -> Any:
        yield append(tx, "q-3")

    for function in (coroutine, returns_coroutine, generator):
        with pytest.raises(TypeError, match="plain function"):
            await database.write(function)
    assert await database.read(journaled) == []


async def test_a_transaction_is_of_no_use_outside_its_thread(database: Database) -> None:
    leaked = await database.write(lambda tx: [tx])
    with pytest.raises(sqlite3.ProgrammingError, match="thread"):
        await anyio.to_thread.run_sync(leaked[0].run, "DELETE FROM journal")


async def test_a_mistake_in_sql_stays_a_bug(database: Database) -> None:
    """It is not told as a fault of the world, which would hide it."""
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await database.write(lambda tx: tx.run("DELETE FROM nowhere"))
    assert await database.write(append, "q-1") == 1


async def test_closing_finishes_what_was_accepted(database: Database, path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(database.write, append, f"q-{number}")
        await anyio.wait_all_tasks_blocked()
        await database.aclose()
    with sqlite3.connect(path) as reopened:
        assert reopened.execute("SELECT count(*) FROM journal").fetchone() == (50,)
    reopened.close()
    with pytest.raises(Refused) as refused:
        await database.write(append, "q-late")
    assert refused.value.reason == "stopping"
    await database.aclose()  # a second time is harmless
