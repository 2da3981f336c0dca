"""Another program's lock, a full disk, a kill, a vanished file."""

# ruff: noqa: ASYNC240 - nobody else runs on the loops of these tests

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from coordinatord.errors import Refused
from coordinatord.store import journal
from coordinatord.store.database import Database, Transaction, View

from .conftest import NOW, Gate, another_program


def append(tx: Transaction, id: str = "q-1") -> int:
    return tx.journal("question", id)


def journaled(view: View) -> list[str]:
    return [line.id for line in journal.since(view, 0, 100_000)]


async def test_a_short_lock_only_delays(database: Database, path: Path) -> None:
    """G-7: calls take longer, nothing is lost, no error; reading goes on meanwhile."""
    done: list[int] = []

    async def write(number: int) -> None:
        done.append(await database.write(append, f"q-{number}"))

    with another_program(path) as other, anyio.fail_after(10):
        other.execute("BEGIN EXCLUSIVE")
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(write, number)
            for _ in range(50):
                assert await database.read(journal.last_seq) == 0
            assert done == []
            other.execute("ROLLBACK")
    assert sorted(done) == list(range(1, 21))
    assert sorted(await database.read(journaled)) == sorted(f"q-{number}" for number in range(20))


async def test_a_long_lock_refuses_and_is_recovered_from(impatient: Database, path: Path) -> None:
    """G-7: "store busy, not accepted" in bounded time, and no restart is needed afterwards."""
    refused: list[Refused] = []

    async def write() -> None:
        with pytest.raises(Refused) as caught:
            await impatient.write(append)
        refused.append(caught.value)

    with another_program(path) as other, anyio.fail_after(10):
        other.execute("BEGIN EXCLUSIVE")
        async with anyio.create_task_group() as tasks:
            for _ in range(300):  # more than one commit takes
                tasks.start_soon(write)
            while len(refused) < 300:
                assert await impatient.read(journal.last_seq) == 0
    assert {error.reason for error in refused} == {"store-busy"}
    assert await impatient.write(append, "q-after") == 1
    assert await impatient.read(journaled) == ["q-after"]


async def test_a_lock_on_the_whole_file_is_told_at_opening(impatient: Database, path: Path) -> None:
    """Whoever takes the whole file for itself stops even readers."""
    await impatient.aclose()
    with another_program(path) as other, anyio.fail_after(10):
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Refused) as refused:
            await Database.open(path, wall=lambda: NOW, source=random.Random(7), busy_seconds=0.2)
        assert refused.value.reason == "store-busy"


async def test_a_full_disk_accepts_nothing_and_is_recovered_from(database: Database) -> None:
    """G-7: not accepted, clear text, goes on after space is freed."""

    def fill(tx: Transaction) -> None:
        append(tx, "q-lost")
        tx.run("INSERT INTO meta VALUES ('big', ?)", "x" * 1_000_000)

    def limit(tx: Transaction, more: int) -> None:
        (pages,) = tx.row("PRAGMA page_count") or (0,)
        tx.row(f"PRAGMA max_page_count = {pages + more}")

    await database.write(limit, 1)
    with pytest.raises(Refused) as refused:
        await database.write(fill)
    assert refused.value.reason == "store-full"
    assert "room" in refused.value.message
    assert await database.read(journaled) == []
    await database.write(limit, 1000)
    await database.write(fill)
    assert await database.read(journaled) == ["q-lost"]


async def test_in_a_full_disk_no_call_is_lost_in_silence(database: Database, gate: Gate) -> None:
    """Calls that share a commit with what does not fit are kept or refused, never in between."""
    (pages,) = await database.read(lambda view: view.row("PRAGMA page_count")) or (0,)
    await database.write(lambda tx: tx.row(f"PRAGMA max_page_count = {pages + 3}"))
    kept: set[str] = set()
    refused: dict[str, str] = {}

    async def write(id: str, size: int) -> None:
        def insert(tx: Transaction) -> None:
            append(tx, id)
            tx.run("INSERT INTO meta VALUES (?, ?)", id, "x" * size)

        try:
            await database.write(insert)
            kept.add(id)
        except Refused as error:
            refused[id] = error.reason

    async with anyio.create_task_group() as tasks:
        await gate.close(database, tasks)
        for number in range(12):
            tasks.start_soon(write, f"q-{number}", 100_000 if number % 4 == 2 else 10)
        await anyio.wait_all_tasks_blocked()
        gate.open()
    assert set(await database.read(journaled)) == kept
    assert {"q-2", "q-6", "q-10"} <= set(refused)
    assert set(refused.values()) == {"store-full"}
    assert len(kept | set(refused)) == 12


async def test_a_removed_database_is_not_written_into(database: Database, path: Path) -> None:
    """Somebody cleans the work tree: what nobody could find again is not accepted."""
    await database.write(append, "q-1")
    path.rename(path.with_name("gone"))
    with pytest.raises(Refused) as refused:
        await database.write(append, "q-2")
    assert refused.value.reason == "store-failed"
    assert "removed" in refused.value.message
    path.with_name("gone").rename(path)
    await database.write(append, "q-3")
    assert await database.read(journaled) == ["q-1", "q-3"]


CHILD = """
import os, random, sys, time
from pathlib import Path
import anyio
from coordinatord.store.database import Database

async def main():
    database = await Database.open(Path(sys.argv[1]), wall=time.time, source=random.Random())

    def record(tx, body):
        id = tx.mint("question")
        seq = tx.journal("question", id)
        tx.run("INSERT INTO meta VALUES (?, ?)", id, body)
        return seq, id

    async def write():
        while True:
            seq, id = await database.write(record, "x" * random.randrange(3000))
            os.write(1, f"{seq} {id}\\n".encode())

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(write)

anyio.run(main)
"""


@pytest.mark.parametrize("acknowledged", [1, 40, 300])
async def test_an_acknowledged_write_survives_a_kill(path: Path, acknowledged: int) -> None:
    """C-47: after SIGKILL in the middle of writes all that was acknowledged is there, whole."""
    for _ in range(2):
        lines = await anyio.to_thread.run_sync(_write_until_killed, path, acknowledged)
        assert len(lines) >= acknowledged
        async with await Database.open(path, wall=lambda: NOW, source=random.Random(7)) as database:
            found = await database.read(
                lambda view: view.rows("SELECT seq, id FROM journal JOIN meta ON meta.key = id")
            )
            assert set(lines) <= {f"{seq} {id}" for seq, id in found}
            assert len(found) == await database.read(journal.last_seq)  # no line without its body


def _write_until_killed(path: Path, acknowledged: int) -> list[str]:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline().strip() for _ in range(acknowledged)]
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read().splitlines(keepends=True)
        return lines + [line.strip() for line in rest if line.endswith("\n")]
