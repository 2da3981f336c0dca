"""Idempotency keys: the answer of a mutating request is kept with its key (interfaces.md, Keys).

`replay` and `keep` belong into the transaction that does the work: then a repeated request either
finds the kept answer, or finds that nothing was done.
"""

from __future__ import annotations

import hashlib
from typing import Final

from coordinatord.errors import Refused
from coordinatord.store.transaction import Transaction, View

KEPT_SECONDS: Final = 7 * 24 * 3600.0
"""How long an answer is kept. Source: interfaces.md, Keys."""


def replay(view: View, method: str, scope: str, key: str, body: bytes) -> bytes | None:
    """The answer that was kept for this request, or None if it is new. An empty key is no key.

    Raises:
        Refused: ``key-conflict``, the key was used with another body.
    """
    found = view.row(
        "SELECT body_hash, answer FROM keys WHERE method = ? AND scope = ? AND key = ?",
        method,
        scope,
        key,
    )
    if not key or found is None:
        return None
    body_hash, answer = found
    if body_hash != _hash(body):
        raise Refused(
            "key-conflict",
            f"The key {key!r} was used before for another {method} request.",
            "Repeat the first request unchanged, or take a new key.",
        )
    return bytes(answer)


def keep(tx: Transaction, method: str, scope: str, key: str, body: bytes, answer: bytes) -> None:
    """Keep the answer of a success. The caller has asked `replay` in the same transaction."""
    if not key:
        return
    tx.run(
        "INSERT INTO keys (method, scope, key, body_hash, answer, at) VALUES (?, ?, ?, ?, ?, ?)",
        method,
        scope,
        key,
        _hash(body),
        answer,
        tx.now,
    )


def expire(tx: Transaction, now: float) -> int:
    """Forget the answers that are older than `KEPT_SECONDS`; returns how many."""
    return tx.run("DELETE FROM keys WHERE at < ?", now - KEPT_SECONDS)


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
