"""Archiving, removing, comparing and exporting in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.attention.table import ATTENTION
from coordinatord.features.briefs import table as briefs
from coordinatord.features.delivery.table import ATTEMPTS
from coordinatord.features.messages.table import MESSAGES
from coordinatord.features.obligations.recomputation import Everything, recomputed
from coordinatord.features.obligations.table import Communication, Sources
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Question
from coordinatord.features.reports import table as reports
from coordinatord.features.tasks import table as tasks
from coordinatord.features.tasks.records import Archived, Task
from coordinatord.features.tool_runs.table import RUNS
from coordinatord.features.upkeep.records import Exported, Page, Pruned
from coordinatord.ids import TaskId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import RecordTable

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
    RUNS,
)
"""All kinds of records, in the order in which they are exported."""

_OF_TASK: Final = (
    "questions",
    "reports",
    "reviews",
    "verifications",
    "publications",
    "task_notes",
    "briefs",
    "decisions",
    "attention",
    "runs",
    "journal",
)
"""Tables whose rows belong to a task by their column ``task``."""

_AT_ONCE: Final = 200
"""Tasks removed in one transaction: others wait for it."""


def archive(
    tx: Transaction, caller: Caller, name: str, acknowledge: bool, sources: Sources
) -> Task:
    """End a task. Its seats are vacated, so that their panes have no role in it any more.

    Raises:
        Refused: ``wrong-state`` where something is owed on it and that is not acknowledged.
    """
    task = tasks.task_named(tx, name)
    if isinstance(task.state, Archived):
        return task
    worker = ids.worker_of(task.id)
    owed = [
        item for item in sources.owed(tx, tx.now).items if item.task == task.id or item.to == worker
    ]
    if owed and not acknowledge:
        raise Refused(
            "wrong-state",
            f"Still owed on {task.id}: {', '.join(each.record for each in owed[:5])}.",
            f"Deal with them, or end them: coordctl archive {task.id} --acknowledge",
        )
    for ender in (questions.end_of_task, reports.end_of_task, briefs.end_of_task):
        ender(tx, task.id)
    tx.run(
        "UPDATE messages SET state = 'ended' WHERE recipient = ? AND state IN ('owed', 'in-hand')",
        worker,
    )
    for seat in (worker, ids.reviewer_of(task.id)):
        seats.vacate(tx, caller, seat)
    return tasks.archive(tx, caller, task)


def prune(tx: Transaction, older_than_s: float, dry_run: bool, sources: Sources) -> Pruned:
    """Remove tasks that were archived longer ago, with all that is recorded about them."""
    old = [
        task
        for task in tasks.TASKS.select(tx, "state = 'archived'").items
        if isinstance(task.state, Archived) and task.state.at <= tx.now - older_than_s
    ]
    owed = sources.owed(tx, tx.now).items
    needed = {item.task for item in owed} | {
        seat.task for seat in seats.all_seats(tx) if not seat.vacant
    }
    going = [task.id for task in old if task.id not in needed][:_AT_ONCE]
    if not dry_run:
        for task in going:
            _remove(tx, task)
    return Pruned(tasks=going, kept=len(old) - len(going), removed=not dry_run)


def _remove(tx: Transaction, task: TaskId) -> None:
    worker, reviewer = ids.worker_of(task), ids.reviewer_of(task)
    for seat in (worker, reviewer):
        tx.run("DELETE FROM named WHERE attempt IN (SELECT id FROM attempts WHERE seat = ?)", seat)
        for table, column in (("attempts", "seat"), ("told", "seat"), ("holds", "seat")):
            tx.run(f"DELETE FROM {table} WHERE {column} = ?", seat)
        tx.run("DELETE FROM seats WHERE id = ?", seat)
        tx.run("DELETE FROM messages WHERE recipient = ?", seat)
    for table in ("questions", "reports", "reviews", "briefs", "attention"):
        kind_rows = f"SELECT id FROM {table} WHERE task = ?"
        tx.run(f"DELETE FROM named WHERE record IN ({kind_rows})", task)
        tx.run(
            f"DELETE FROM told WHERE substr(obligation, instr(obligation, ':') + 1) IN ({kind_rows})",
            task,
        )
    for table in _OF_TASK:
        tx.run(f"DELETE FROM {table} WHERE task = ?", task)
    tx.run("DELETE FROM tasks WHERE id = ?", task)


def differing(view: View, now: float) -> tuple[frozenset[str], frozenset[str]]:
    """Debts on tasks that the indexes miss, and those that they invent."""
    by_index = frozenset(
        item.id for item in Communication().derive(view, now).items if item.task is not None
    )
    truth = recomputed(
        Everything(
            tasks=tasks.TASKS.select(view).items,
            questions=questions.QUESTIONS.select(view).items,
            reports=reports.REPORTS.select(view).items,
            reviews=reports.REVIEWS.select(view).items,
            verifications=reports.VERIFICATIONS.select(view).items,
            publications=reports.PUBLICATIONS.select(view).items,
            revisions=briefs.REVISIONS.select(view).items,
        )
    )
    return truth - by_index, by_index - truth


_COLUMNS: Final[Mapping[str, tuple[str, str, str]]] = {
    "report": ("reports", "unverified", "verified"),
    "review": ("reviews", "open", "acted"),
    "refresh": ("briefs", "requested", "ended"),
}
"""Kind of debt: its table, and the value of ``state`` while it is owed and after."""


def put_right(tx: Transaction, missing: Sequence[str], invented: Sequence[str]) -> None:
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
    tx.journal("repair", "obligations", actor="coordinatord")


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
