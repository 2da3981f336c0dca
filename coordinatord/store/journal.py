"""The global sequence of what changed: the cursor of every watch, and the audit trail."""

from __future__ import annotations

import msgspec

from coordinatord.store.transaction import View


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


def since(view: View, seq: int, limit: int) -> list[JournalLine]:
    """At most ``limit`` lines after ``seq``, in order."""
    found = view.rows(
        "SELECT seq, at, kind, id, task, seat FROM journal WHERE seq > ? ORDER BY seq LIMIT ?",
        seq,
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
