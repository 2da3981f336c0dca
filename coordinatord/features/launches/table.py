"""Launches in the database: the intent comes before the pane."""

from __future__ import annotations

import hashlib

import msgspec

from coordinatord.features.panes.records import Caller
from coordinatord.ids import PaneId
from coordinatord.store.database import Transaction, View


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """``token`` is the SHA-256 of the launch token; ``typed`` says that a command may have been typed."""

    token: str
    key: str
    at: float
    pane: PaneId | None = None
    terminal: str | None = None
    typed: bool = False


_COLUMNS = "token, key, at, pane, terminal, typed"


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def intend(tx: Transaction, caller: Caller, key: str, token: str) -> None:
    """A pane is about to be opened."""
    tx.journal("launch", key, actor=caller.seat, proof=caller.proof)
    tx.run("INSERT INTO launches (token, key, at) VALUES (?, ?, ?)", digest(token), key, tx.now)


def opened(tx: Transaction, token_digest: str, pane: PaneId, terminal: str) -> None:
    """The pane exists."""
    tx.run(
        "UPDATE launches SET pane = ?, terminal = ? WHERE token = ?", pane, terminal, token_digest
    )


def about_to_type(tx: Transaction, token_digest: str) -> bool:
    """Mark that the command is typed now; False if it may have been typed before."""
    return tx.run("UPDATE launches SET typed = 1 WHERE token = ? AND typed = 0", token_digest) == 1


def by_key(view: View, key: str) -> list[Launch]:
    """The launches that earlier tries of the same request began: one for each time the intent was stored
    and no pane of an earlier one was there."""
    rows = view.rows(f"SELECT {_COLUMNS} FROM launches WHERE key = ? ORDER BY at", key)
    return [_launch(row) for row in rows]


def terminal_of(view: View, token: str) -> str | None:
    """The terminal that a launch token was made for; None: unknown token."""
    row = view.row("SELECT terminal FROM launches WHERE token = ?", digest(token))
    return row[0] if row else None


def terminals(view: View) -> frozenset[str]:
    """Terminals that we opened: their panes find `coordctl` on PATH."""
    return frozenset(
        row[0] for row in view.rows("SELECT terminal FROM launches WHERE terminal > ''")
    )


def panes(view: View) -> list[PaneId]:
    """Panes that we opened."""
    return [PaneId(row[0]) for row in view.rows("SELECT pane FROM launches WHERE pane > ''")]


def _launch(row: tuple[object, ...]) -> Launch:
    fields = dict(zip(Launch.__struct_fields__, row, strict=True))
    return msgspec.convert(fields, Launch, strict=False)
