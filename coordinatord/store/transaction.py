"""What a transaction can do: read rows, change rows, mint ids, append to the journal."""

from __future__ import annotations

import random
import sqlite3
from typing import Any, TypeAlias

from coordinatord import ids

Value: TypeAlias = str | bytes | int | float | None
"""What a column holds and a parameter may be."""


class View:
    """The reading side of one transaction: everything read through it belongs to one moment.

    It works on the thread that runs the transaction and nowhere else.
    """

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def row(self, sql: str, *params: Value) -> tuple[Any, ...] | None:
        """The first row, or None."""
        found: tuple[Any, ...] | None = self._connection.execute(sql, params).fetchone()
        return found

    def rows(self, sql: str, *params: Value) -> list[tuple[Any, ...]]:
        """All rows."""
        return self._connection.execute(sql, params).fetchall()


class Transaction(View):
    """One function's turn on the writer."""

    __slots__ = ("_source", "act", "journaled", "now")

    def __init__(
        self, connection: sqlite3.Connection, now: float, source: random.Random, act: str = ""
    ) -> None:
        super().__init__(connection)
        self.act = act
        """The request that this is done for; empty where nobody asked for it."""
        self.now = now
        """Wall seconds, the same during the whole transaction."""
        self.journaled = False
        """Was a line appended? Then watchers are woken after the commit."""
        self._source = source

    def run(self, sql: str, *params: Value) -> int:
        """Execute one changing statement; returns how many rows changed."""
        return self._connection.execute(sql, params).rowcount

    def journal(
        self,
        kind: str,
        id: str,
        *,
        task: str | None = None,
        seat: str | None = None,
        actor: str = "",
        proof: str = "",
    ) -> int:
        """Append a line saying that a record changed; returns its number, which is never reused.

        Args:
            kind: the sort of record, a word and never prose.
            id: the record.
            task: the task it belongs to.
            seat: the seat that now owes something because of it.
            actor: the seat that did it.
            proof: how that seat was proven.
        """
        self.journaled = True
        cursor = self._connection.execute(
            "INSERT INTO journal (at, kind, id, task, seat, actor, proof, act, host)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?,"
            " coalesce((SELECT value FROM meta WHERE key = 'host'), ''))",
            (self.now, kind, id, task, seat, actor, proof, self.act),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def host(self) -> str:
        """The machine on which this is written, as `h-…`; empty before it was named."""
        found = self.row("SELECT value FROM meta WHERE key = 'host'")
        return str(found[0]) if found else ""

    def mint(self, kind: ids.Kind) -> str:
        """A new id of this kind, unique in the workspace."""
        while True:
            made = ids.make(kind, self._source)
            if self.run("INSERT OR IGNORE INTO taken_ids (id) VALUES (?)", made):
                return made
