"""The global sequence: strictly growing, never used twice."""

from __future__ import annotations

import random
from pathlib import Path

import anyio
import msgspec
import pytest

from coordinatord import ids
from coordinatord.store import journal
from coordinatord.store.database import Database, Transaction

from .conftest import NOW


async def test_numbers_grow_whatever_fails_in_between(database: Database) -> None:
    given: list[int] = []

    def append(tx: Transaction, fails: bool) -> int:
        seq = tx.journal("question", "q-1")
        if fails:
            raise LookupError
        given.append(seq)
        return seq

    async def one(fails: bool) -> None:
        if fails:
            with pytest.raises(LookupError):
                await database.write(append, True)
        else:
            assert await database.write(append, False) in given

    async with anyio.create_task_group() as tasks:
        for number in range(60):
            tasks.start_soon(one, number % 4 == 1)
    assert given == sorted(set(given))
    assert len(given) == 45
    assert [line.seq for line in await database.read(journal.since, 0, 100)] == given


async def test_a_number_is_not_used_again_when_its_line_is_gone(path: Path) -> None:
    for expected in (1, 2, 3):
        async with await Database.open(
            path, wall=lambda: NOW, source=random.Random(expected)
        ) as database:
            assert await database.read(journal.last_seq) == expected - 1
            assert await database.write(lambda tx: tx.journal("task", "t-1")) == expected
            assert await database.write(lambda tx: tx.run("DELETE FROM journal")) == 1


async def test_since_pages_through_all_lines(database: Database) -> None:
    await database.write(lambda tx: [tx.journal("task", f"t-{number}") for number in range(10)])
    first = await database.read(journal.since, 0, 4)
    rest = await database.read(journal.since, first[-1].seq, 100)
    assert [line.seq for line in first + rest] == list(range(1, 11))
    assert await database.read(journal.since, 10, 4) == []


@pytest.mark.parametrize("cursor", [2**63 - 1, 2**63, 10**30])
async def test_nothing_comes_after_a_cursor_that_no_line_can_reach(
    database: Database, cursor: int
) -> None:
    await database.write(lambda tx: tx.journal("question", "q-1"))
    assert await database.read(journal.since, cursor, 10) == []
    assert await database.read(lambda view: journal.audit(view, after=cursor, limit=10)) == []


async def test_a_line_says_what_changed_and_no_more(database: Database) -> None:
    """interfaces.md, watch line: absent fields are left out, actor and proof are not shown."""

    def append(tx: Transaction) -> None:
        tx.journal(
            "question", "q-1", task="t-1", seat="coordinator", actor="worker:t-1", proof="token"
        )
        tx.journal("pause", "typing")

    await database.write(append)
    lines = await database.read(journal.since, 0, 9)
    assert [msgspec.to_builtins(line) for line in lines] == [
        {
            "seq": 1,
            "at": NOW,
            "kind": "question",
            "id": "q-1",
            "task": "t-1",
            "seat": "coordinator",
        },
        {"seq": 2, "at": NOW, "kind": "pause", "id": "typing"},
    ]
    kept = await database.read(
        lambda view: view.row("SELECT actor, proof FROM journal WHERE seq = 1")
    )
    assert kept == ("worker:t-1", "token")


async def test_an_id_is_given_once(path: Path) -> None:
    """The same randomness again, as after a restored random state, gives other ids."""
    minted: list[str] = []
    for _ in range(2):
        async with await Database.open(path, wall=lambda: NOW, source=random.Random(1)) as database:
            for _ in range(20):
                minted.append(await database.write(lambda tx: tx.mint("question")))
    assert len(set(minted)) == 40
    assert {ids.kind_of(id) for id in minted} == {"question"}


async def test_an_id_of_a_failed_call_is_free_again(database: Database) -> None:
    def mint_and_fail(tx: Transaction) -> None:
        tx.mint("task")
        raise LookupError

    with pytest.raises(LookupError):
        await database.write(mint_and_fail)
    assert await database.read(lambda view: view.rows("SELECT id FROM taken_ids")) == []
