"""One table for one kind of record: the Struct as JSON, beside it the columns that are searched by.

The columns are derived from the record at every `put`, so they cannot disagree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import msgspec

from coordinatord.errors import Refused
from coordinatord.store.transaction import Transaction, Value, View


class Record(Protocol):
    """What every stored record carries."""

    @property
    def id(self) -> str: ...
    @property
    def seq(self) -> int: ...


T = TypeVar("T", bound=Record)


class Unreadable(Refused):
    """A stored record cannot be decoded. It affects only itself (coordination.md C-48)."""

    def __init__(self, table: str, id: str) -> None:
        super().__init__(
            "unreadable",
            f"The stored record {id} in {table} cannot be read.",
            "The rest goes on without it. A copy may stand in .coordinatord/backups.",
        )
        self.id = id


@dataclass(frozen=True)
class Found(Generic[T]):
    """What a search found; ``unreadable`` names the records that could not be decoded."""

    items: list[T]
    unreadable: list[str] = field(default_factory=list)

    @property
    def incomplete(self) -> bool:
        """Is something missing from ``items``?"""
        return bool(self.unreadable)


class RecordTable(Generic[T]):
    """Put and find the records of one type.

    The table has ``id TEXT PRIMARY KEY, seq INTEGER, body BLOB`` and the index columns.

    Args:
        name: the table.
        type: the Struct.
        columns: the index columns of a record; always the same names.
    """

    def __init__(
        self, name: str, type: type[T], columns: Callable[[T], Mapping[str, Value]] = lambda _: {}
    ) -> None:
        self.name = name
        self._columns = columns
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(type)
        self._upsert = ""

    def put(self, tx: Transaction, record: T) -> None:
        """Insert the record, or replace the one with its id."""
        columns = self._columns(record)
        if not self._upsert:
            self._upsert = _upsert(self.name, columns)
        body = self._encoder.encode(record)
        tx.run(self._upsert, record.id, record.seq, body, *columns.values())

    def get(self, view: View, id: str) -> T | None:
        """The record with this id, or None.

        Raises:
            Unreadable: it is there and cannot be decoded.
        """
        found = view.row(f"SELECT body FROM {self.name} WHERE id = ?", id)
        return self._decode(id, found[0]) if found else None

    def select(
        self,
        view: View,
        where: str = "",
        *params: Value,
        order: str = "seq",
        limit: int | None = None,
    ) -> Found[T]:
        """The records that match, in order; one that cannot be decoded is only named."""
        condition = f"WHERE {where}" if where else ""
        sql = f"SELECT id, body FROM {self.name} {condition} ORDER BY {order} LIMIT ?"
        result: Found[T] = Found([])
        for id, body in view.rows(sql, *params, -1 if limit is None else limit):
            try:
                result.items.append(self._decode(id, body))
            except Unreadable:
                result.unreadable.append(id)
        return result

    def among(self, view: View, ids: Iterable[str]) -> Found[T]:
        """Those of these records that are there, in one look."""
        return self.select(view, "id IN (SELECT value FROM json_each(?))", listed(ids))

    def _decode(self, id: str, body: bytes) -> T:
        try:
            return self._decoder.decode(body)
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            raise Unreadable(self.name, id) from error


def listed(names: Iterable[str]) -> str:
    """These names as one parameter: ``IN (SELECT value FROM json_each(?))``."""
    return msgspec.json.encode(list(dict.fromkeys(names))).decode()


def _upsert(table: str, columns: Mapping[str, Value]) -> str:
    """Not ``INSERT OR REPLACE``: that would delete another record equal in a unique column."""
    names = ["id", "seq", "body", *columns]
    changed = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    marks = ", ".join("?" * len(names))
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
        f" ON CONFLICT (id) DO UPDATE SET {changed}"
    )
