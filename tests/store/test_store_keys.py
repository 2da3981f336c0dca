"""Idempotency keys (D-40, the store's part)."""

from __future__ import annotations

import pytest

from coordinatord.errors import Refused
from coordinatord.store import journal, keys
from coordinatord.store.database import Database, Transaction

from .conftest import NOW

WEEK = 7 * 24 * 3600.0


def ask(tx: Transaction, key: str, body: bytes, scope: str = "t-1") -> bytes:
    """What the server does with a mutating request."""
    kept = keys.replay(tx, "question.ask", scope, key, body)
    if kept is not None:
        return kept
    answer = b'{"id": "%s"}' % tx.mint("question").encode()
    tx.journal("question", "q-1")
    keys.keep(tx, "question.ask", scope, key, body, answer)
    return answer


async def test_the_same_request_again_gives_the_same_answer(database: Database) -> None:
    """D-40: it is done once."""
    first = await database.write(ask, "k", b"body")
    assert await database.write(ask, "k", b"body") == first
    assert await database.read(journal.last_seq) == 1


async def test_another_body_under_the_key_is_a_conflict(database: Database) -> None:
    await database.write(ask, "k", b"body")
    with pytest.raises(Refused) as refused:
        await database.write(ask, "k", b"other")
    assert refused.value.reason == "key-conflict"
    assert await database.read(journal.last_seq) == 1


async def test_keys_of_other_scopes_and_methods_are_others(database: Database) -> None:
    first = await database.write(ask, "k", b"body")
    assert await database.write(ask, "k", b"other", "t-2") != first
    assert await database.read(keys.replay, "question.answer", "t-1", "k", b"other") is None


async def test_no_key_keeps_nothing(database: Database) -> None:
    assert await database.write(ask, "", b"body") != await database.write(ask, "", b"body")
    assert await database.read(lambda view: view.rows("SELECT * FROM keys")) == []


async def test_a_failed_request_leaves_its_key_free(database: Database) -> None:
    def fail(tx: Transaction) -> None:
        ask(tx, "k", b"body")
        raise LookupError

    with pytest.raises(LookupError):
        await database.write(fail)
    assert await database.write(ask, "k", b"other")


async def test_answers_are_kept_for_seven_days(database: Database) -> None:
    first = await database.write(ask, "k", b"body")
    assert await database.write(keys.expire, NOW + WEEK) == 0
    assert await database.write(ask, "k", b"body") == first
    assert await database.write(keys.expire, NOW + WEEK + 1) == 1
    assert await database.write(ask, "k", b"another") != first
