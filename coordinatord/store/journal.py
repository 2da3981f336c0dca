"""The global sequence of what changed: the cursor of every watch, and the audit trail."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from coordinatord.store.transaction import View

_BEYOND: Final = 2**63 - 1
"""The largest number that SQLite takes: nothing comes after it, nor after a cursor above it."""


class JournalLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line as watchers see it: which record changed, never what it says.

    Who did it and how that was proven stays in the table, for the audit log.
    """

    seq: int
    at: float
    kind: str
    id: str
    task: str | None = None
    seat: str | None = None


class Act(NamedTuple):
    """One act: which record changed, who did it, how that one was proven, and on which machine.

    ``act`` is the request that it was done for, and empty where nobody asked for it.
    """

    id: str
    seq: int
    at: float
    kind: str
    actor: str
    proof: str
    task: str | None
    seat: str | None
    host: str
    act: str


def audit(
    view: View,
    *,
    task: str | None = None,
    record: str | None = None,
    actor: str | None = None,
    after: int | None = None,
    limit: int,
) -> list[Act]:
    """At most ``limit`` acts in order: those after a line, or without one the newest.

    ``task``, ``record`` and ``actor`` keep only what is about them, or done by them.
    """
    wanted = {"task": task, "id": record, "actor": actor}
    given = {column: value for column, value in wanted.items() if value is not None}
    conditions = [f"{column} = ?" for column in given] + ["seq > ?"]
    order = "DESC" if after is None else "ASC"
    found = view.rows(
        "SELECT id, seq, at, kind, actor, proof, task, seat, host, act FROM journal"
        f" WHERE {' AND '.join(conditions)} ORDER BY seq {order} LIMIT ?",
        *given.values(),
        min(after or 0, _BEYOND),
        limit,
    )
    return sorted((Act(*row) for row in found), key=lambda act: act.seq)


def since(view: View, seq: int, limit: int) -> list[JournalLine]:
    """At most ``limit`` lines after ``seq``, in order."""
    found = view.rows(
        "SELECT seq, at, kind, id, task, seat FROM journal WHERE seq > ? ORDER BY seq LIMIT ?",
        min(seq, _BEYOND),
        limit,
    )
    return [
        JournalLine(seq=seq, at=at, kind=kind, id=id, task=task, seat=seat)
        for seq, at, kind, id, task, seat in found
    ]


def last_seq(view: View) -> int:
    """The newest sequence number ever given, 0 before the first; also when old lines are gone."""
    found = view.row("SELECT seq FROM sqlite_sequence WHERE name = 'journal'")
    return int(found[0]) if found else 0
