"""Multiplies a history: every record of it again and again under other ids, with later numbers.

A history of 100,000 tasks takes minutes when each record is made as the daemon makes it; a block of it,
copied in one transaction, has the same tables, indexes and sizes.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

SIGNS = "0123456789abcdefghjkmnpqrstvwxyz"
ID = re.compile(rf"(?<![a-z0-9])[a-z]{{1,3}}-[{SIGNS}]{{8}}(?![a-z0-9])")
VARYING = re.compile(rf"{ID.pattern}|(?<=\"seq\":)\d+")
SPREAD = 0x9E3779B97F | 1
"""Odd, so that numbers below 2**40 stay different ones; and far apart, as random ids are."""

SHARED = {"meta", "keys", "holds", "sqlite_sequence"}
"""What there is once in a workspace."""


class Row:
    """A row, with the texts in it as templates: what varies stands in a list that each copy has anew."""

    def __init__(self, row: tuple[Any, ...], places: dict[str, int]) -> None:
        self.fixed = list(row)
        self.varying: list[tuple[int, bool, str, itemgetter[Any]]] = []
        for place, value in enumerate(row):
            text = value.decode() if isinstance(value, bytes) else value
            if isinstance(text, str) and (found := VARYING.findall(text)):
                template = VARYING.sub("%s", text.replace("%", "%%"))
                getter = itemgetter(*(places.setdefault(each, len(places)) for each in found))
                self.varying.append((place, isinstance(value, bytes), template, getter))


class Block:
    """Everything in a database, ready to be written again."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._places: dict[str, int] = {}
        self._tables = {name: self._rows(name) for name in self._names()}
        self._span = connection.execute("SELECT max(seq) FROM journal").fetchone()[0]

    def again(self, copy: int) -> None:
        """Write it once more; every ``copy``, counted from 1, has ids and numbers of its own."""
        shift = copy * self._span
        now = [
            str(int(old) + shift) if old.isdigit() else _other(old, (copy << 20) | number)
            for number, old in enumerate(self._places)
        ]
        for name, (columns, rows) in self._tables.items():
            marks = ", ".join("?" * len(columns))
            sql = f"INSERT OR IGNORE INTO {name} ({', '.join(columns)}) VALUES ({marks})"
            seq = columns.index("seq") if "seq" in columns else -1
            self._connection.executemany(sql, _filled(rows, now, seq, shift))

    def _names(self) -> list[str]:
        found = self._connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return [name for (name,) in found if name not in SHARED]

    def _rows(self, name: str) -> tuple[list[str], list[Row]]:
        found = self._connection.execute(f"SELECT * FROM {name}")
        columns = [each[0] for each in found.description]
        return columns, [Row(row, self._places) for row in found]


def _filled(rows: list[Row], now: list[str], seq: int, shift: int) -> Iterator[list[Any]]:
    for row in rows:
        made = row.fixed.copy()
        for place, blob, template, getter in row.varying:
            text = template % getter(now)
            made[place] = text.encode() if blob else text
        if seq >= 0:
            made[seq] += shift
        yield made


def _other(name: str, number: int) -> str:
    spread = (number * SPREAD) % (1 << 40)
    signs = "".join(SIGNS[spread >> at & 31] for at in range(35, -1, -5))
    return f"{name.partition('-')[0]}-{signs}"


def multiply(path: Path, times: int) -> None:
    """Let the database at ``path`` hold ``times`` as much as it does. Nobody else may have it open."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in ("synchronous = OFF", "cache_size = -400000", "journal_mode = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        block = Block(connection)
        connection.execute("BEGIN")
        for copy in range(1, times):
            block.again(copy)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
