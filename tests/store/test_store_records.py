"""Record tables: the Struct as JSON beside its index columns."""

from __future__ import annotations

import sqlite3

import msgspec
import pytest

from coordinatord.errors import Refused
from coordinatord.store.database import Database, Transaction
from coordinatord.store.records import Found, RecordTable, Unreadable


class Note(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    seq: int
    topic: str
    text: str = ""


NOTES = RecordTable("notes", Note, lambda note: {"topic": note.topic})


def set_up(tx: Transaction) -> None:
    tx.run(
        "CREATE TABLE notes"
        " (id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, body BLOB, topic TEXT)"
    )
    for seq, topic in ((3, "a"), (1, "a"), (2, "b")):
        NOTES.put(tx, Note(id=f"n-{seq}", seq=seq, topic=topic, text="ü"))


def seqs(found: Found[Note]) -> list[int]:
    return [note.seq for note in found.items]


async def test_a_record_comes_back_as_it_was_put(database: Database) -> None:
    await database.write(set_up)
    assert await database.read(NOTES.get, "n-1") == Note(id="n-1", seq=1, topic="a", text="ü")
    assert await database.read(NOTES.get, "n-9") is None


async def test_search_by_column_in_order(database: Database) -> None:
    await database.write(set_up)
    assert seqs(await database.read(NOTES.select)) == [1, 2, 3]
    assert seqs(await database.read(NOTES.select, "topic = ?", "a")) == [1, 3]
    newest = await database.read(NOTES.select, order="seq DESC", limit=1)
    assert seqs(newest) == [3]
    assert not newest.incomplete


async def test_putting_again_replaces_record_and_columns(database: Database) -> None:
    await database.write(set_up)
    await database.write(NOTES.put, Note(id="n-1", seq=9, topic="c"))
    assert seqs(await database.read(NOTES.select, "topic = 'c'")) == [9]
    assert seqs(await database.read(NOTES.select)) == [2, 3, 9]


async def test_a_clash_in_a_unique_column_deletes_no_other_record(database: Database) -> None:
    await database.write(set_up)
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(NOTES.put, Note(id="n-9", seq=1, topic="a"))
    assert seqs(await database.read(NOTES.select)) == [1, 2, 3]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"id": "n-1", "seq": "x", "topic": "a"}', b"\xff\xfe", None, 7]
)
async def test_an_unreadable_record_affects_only_itself(
    database: Database, body: bytes | int | None
) -> None:
    """C-48: the others are found, and the answer says that it is incomplete."""
    await database.write(set_up)
    await database.write(lambda tx: tx.run("UPDATE notes SET body = ? WHERE id = 'n-1'", body))
    found = await database.read(NOTES.select, "topic = ?", "a")
    assert seqs(found) == [3]
    assert found.unreadable == ["n-1"]
    assert found.incomplete
    with pytest.raises(Unreadable) as raised:
        await database.read(NOTES.get, "n-1")
    assert isinstance(raised.value, Refused)
    assert raised.value.reason == "unreadable"
    assert raised.value.id == "n-1"
    assert "n-1" in raised.value.message


async def test_a_record_of_a_newer_program_is_read_without_its_new_field(
    database: Database,
) -> None:
    await database.write(set_up)
    body = b'{"id": "n-1", "seq": 1, "topic": "a", "colour": "red"}'
    await database.write(lambda tx: tx.run("UPDATE notes SET body = ? WHERE id = 'n-1'", body))
    assert await database.read(NOTES.get, "n-1") == Note(id="n-1", seq=1, topic="a")
