"""Comparing, repairing and exporting in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.attention.table import ATTENTION
from coordinatord.features.briefs import table as briefs
from coordinatord.features.delivery.run_shadow import SHADOWS
from coordinatord.features.delivery.run_wake import EPISODES
from coordinatord.features.delivery.table import ATTEMPTS
from coordinatord.features.messages.table import MESSAGES
from coordinatord.features.obligations.recomputation import Everything, recomputed
from coordinatord.features.obligations.table import Communication
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Question
from coordinatord.features.reports import table as reports
from coordinatord.features.tasks import table as tasks
from coordinatord.features.tool_runs.table import PANES, RUNS
from coordinatord.features.upkeep.records import Exported, Page
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import RecordTable, listed

EVERY: Final[tuple[RecordTable[Any], ...]] = (
    seats.SEATS,
    tasks.TASKS,
    questions.QUESTIONS,
    MESSAGES,
    reports.REPORTS,
    reports.REVIEWS,
    reports.VERIFICATIONS,
    reports.PUBLICATIONS,
    reports.NOTES,
    briefs.REVISIONS,
    briefs.DECISIONS,
    ATTENTION,
    ATTEMPTS,
    EPISODES,
    SHADOWS,
    RUNS,
    PANES,
)
"""All kinds of records, in the order in which they are exported."""


_DEBTS_FROM: Final[tuple[RecordTable[Any], ...]] = (
    tasks.TASKS,
    questions.QUESTIONS,
    reports.REPORTS,
    reports.REVIEWS,
    reports.VERIFICATIONS,
    reports.PUBLICATIONS,
    briefs.REVISIONS,
)
"""In the order of the fields of `Everything`."""


def differing(view: View, now: float) -> tuple[frozenset[str], frozenset[str]]:
    """Debts on tasks that the indexes miss, and those that they invent.

    Nothing is said about a task one of whose records cannot be read: what that one settled is not known.
    """
    found = [table.select(view) for table in _DEBTS_FROM]
    unsure = {
        task
        for table, each in zip(_DEBTS_FROM, found, strict=True)
        for task in _tasks_of(view, table, each.unreadable)
    }
    sure = [[each for each in kind.items if _task_of(each) not in unsure] for kind in found]
    by_index = frozenset(
        item.id
        for item in Communication().derive(view, now).items
        if item.task is not None and item.task not in unsure
    )
    truth = recomputed(Everything(**dict(zip(Everything.__struct_fields__, sure, strict=True))))
    return truth - by_index, by_index - truth


def _task_of(record: Any) -> str:
    return str(getattr(record, "task", record.id))


def _tasks_of(view: View, table: RecordTable[Any], ids: list[str]) -> list[str]:
    column = "id" if table is tasks.TASKS else "task"
    sql = f"SELECT {column} FROM {table.name} WHERE id IN (SELECT value FROM json_each(?))"
    return [str(row[0]) for row in view.rows(sql, listed(ids))]


_COLUMNS: Final[Mapping[str, tuple[str, str, str]]] = {
    "report": ("reports", "unverified", "verified"),
    "review": ("reviews", "open", "acted"),
    "refresh": ("briefs", "requested", "ended"),
}
"""Kind of debt: its table, and the value of ``state`` while it is owed and after."""


def put_right(
    tx: Transaction, caller: Caller, missing: Sequence[str], invented: Sequence[str]
) -> None:
    """Let the index columns say what the records say."""
    for name, is_owed in (
        *((each, True) for each in missing),
        *((each, False) for each in invented),
    ):
        kind, _, record = name.partition(":")
        if kind in _COLUMNS:
            table, owed, over = _COLUMNS[kind]
            tx.run(f"UPDATE {table} SET state = ? WHERE id = ?", owed if is_owed else over, record)
        else:
            _put_question_right(tx, record, is_owed)
    tx.journal("repair", "obligations", actor=caller.seat, proof=caller.proof)


def _put_question_right(tx: Transaction, record: str, is_owed: bool) -> None:
    question: Question | None = questions.QUESTIONS.get(tx, record)
    if question is not None and is_owed:
        questions.QUESTIONS.put(tx, question)
    else:
        tx.run("UPDATE questions SET state = 'ended' WHERE id = ?", record)


def unreadable(view: View) -> list[str]:
    """Every record that cannot be decoded."""
    return [name for table in EVERY for name in table.select(view).unreadable]


def export(view: View, after: str | None, limit: int) -> Page:
    """Records in the order of `EVERY`, then of their ids. A part is of one moment, the whole is not.

    Raises:
        Refused: ``bad-params`` where ``after`` is not what a part ended with.
    """
    names = [table.name for table in EVERY]
    name, colon, last = (f"{names[0]}:" if after is None else after).partition(":")
    if not colon or name not in names:
        raise Refused(
            "bad-params",
            f"{after!r:.80} is not where a part ended.",
            "Give the ``next`` of a part, or nothing to begin.",
        )
    items: list[Exported] = []
    lost: list[str] = []
    for table in EVERY[names.index(name) :]:
        found = table.select(view, "id > ?", last, order="id", limit=limit - len(items) - len(lost))
        items += (
            Exported(id=each.id, table=table.name, record=msgspec.to_builtins(each))
            for each in found.items
        )
        lost += found.unreadable
        if len(items) + len(lost) >= limit:
            end = max([each.id for each in found.items] + found.unreadable)
            return Page(
                items=items, next=f"{table.name}:{end}", incomplete=bool(lost), unreadable=lost
            )
        last = ""
    return Page(items=items, incomplete=bool(lost), unreadable=lost)


def clock_oddities(view: View, now: float, tolerance_s: float) -> list[int]:
    """Lines that were written in the future, or before the line that precedes them."""
    rows = view.rows(
        "SELECT seq FROM (SELECT seq, at, lag(at) OVER (ORDER BY seq) AS before FROM journal)"
        " WHERE at > ? OR at < before - ? ORDER BY seq LIMIT 20",
        now + tolerance_s,
        tolerance_s,
    )
    return [int(row[0]) for row in rows]


def is_sound(view: View) -> str:
    """``ok``, or the first thing that is wrong with a page."""
    row = view.row("PRAGMA quick_check(1)")
    return str(row[0]) if row else "no answer"


def forget_the_world(tx: Transaction) -> None:
    """After a restore: nobody sits anywhere, no terminal host is pinned, no launch token is known.

    What was told after the backup was made is not known here, so nothing is told by itself: somebody
    takes the coordinator's seat, and binds each worker, first.
    """
    for seat in seats.all_seats(tx):
        seats.vacate(tx, None, seat.id)
    for table in ("holds", "launches"):
        tx.run(f"DELETE FROM {table}")
    tx.run("DELETE FROM meta WHERE key NOT IN ('host', 'events', 'shadow', 'shadow-seq')")
    tx.journal("restore", "database", actor="coordinatord")
