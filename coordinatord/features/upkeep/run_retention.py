"""Removes what is old and needed by nobody: never a living seat, never an open debt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import anyio.to_thread
import msgspec

from coordinatord import ids
from coordinatord.features.messages.table import MESSAGES
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.judgement import RECLAIMABLE, judge
from coordinatord.features.panes.proof import find_pane
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.sightings import Sightings
from coordinatord.features.tasks import table as tasks
from coordinatord.features.tool_runs.table import RUNS
from coordinatord.features.upkeep import files
from coordinatord.features.upkeep.files import Premises
from coordinatord.features.upkeep.records import Pruned
from coordinatord.ids import PaneId, SeatId, TaskId
from coordinatord.store.database import Database, Transaction, View
from coordinatord.store.records import listed
from coordinatord.terminals.port import Sighting

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

_TOLD_KINDS: Final = ("questions", "reports", "reviews", "briefs", "attention")

_AT_ONCE: Final = 200
"""Records of a kind that are removed in one transaction: others wait for it."""

_LINES_AT_ONCE: Final = 5000

Remove = Callable[[Transaction, list[str]], None]


class Living(msgspec.Struct, frozen=True):
    """Who and what is there, as the terminal host showed it last."""

    seats: frozenset[SeatId]
    terminals: frozenset[str]
    panes: frozenset[PaneId]


class Old(msgspec.Struct, frozen=True):
    """What was over before ``before`` (wall seconds); none of it can begin again."""

    before: float
    tasks: list[TaskId]
    messages: list[str]
    tool_runs: list[str]


class Retention:
    """Used by the hourly sweep, and by whoever says `coordctl prune`."""

    def __init__(
        self, database: Database, sightings: Sightings, sources: Sources, premises: Premises
    ) -> None:
        self._database = database
        self._sightings = sightings
        self._sources = sources
        self._premises = premises

    async def apply(self, before: float, *, dry_run: bool, caller: Caller | None = None) -> Pruned:
        """Remove what was over before this wall time, in one transaction of bounded size."""
        known = await self._database.read(seats.all_seats)
        alive = living(known, self._sightings)
        old = await self._database.read(find_old, before)  # much is read: no writer waits for it
        if dry_run:
            return await self._database.read(would_prune, old, self._sources, alive)
        pruned = await self._database.write(prune, caller, old, self._sources, alive)
        letters = await anyio.to_thread.run_sync(files.of_records, self._premises, before)
        strays = await self._database.read(_unrecorded, letters)
        await anyio.to_thread.run_sync(files.remove, [letters[name] for name in strays])
        return pruned


def living(known: Iterable[Seat], sightings: Sightings) -> Living | None:
    """None: the host is out of sight, and nobody can be taken for gone."""
    if not sightings.connected:
        return None
    here = [seat.id for seat in known if not _gone(seat, sightings)]
    terminals = (seen.terminal_id for seen in sightings.panes.values())
    return Living(frozenset(here), frozenset(terminals), frozenset(sightings.panes))


def _gone(seat: Seat, sightings: Sightings) -> bool:
    seen = find_pane(seat, sightings.panes)
    shell = sightings.shell(seen.terminal_id) if isinstance(seen, Sighting) else None
    return judge(seat.occupant, seen, shell) in RECLAIMABLE


def find_old(view: View, before: float) -> Old:
    """See `Old`."""
    archived = tasks.TASKS.select(view, "state = 'archived'").items
    settled = MESSAGES.select(
        view, "state NOT IN ('owed', 'in-hand', 'uncertain', 'expired')"
    ).items
    ended = RUNS.select(view, "state = 'ended' AND owed = 0").items
    return Old(
        before,
        [each.id for each in archived if _when(each) <= before],
        [each.id for each in settled if _when(each) <= before],
        [each.id for each in ended if _when(each) <= before],
    )


def _when(record: Any) -> float:
    """The wall time at which the record's state came about."""
    known_at = getattr(record.state, "known_at", None)
    return float(known_at or getattr(record.state, "at", record.at))


def prune(
    tx: Transaction, caller: Caller | None, old: Old, sources: Sources, alive: Living | None
) -> Pruned:
    """Remove archived tasks with all that is recorded about them, and what else is over and as old."""
    going, found = _plan(tx, old, sources, alive)
    for task in going:
        _remove_task(tx, task)
    for name, remove in _REMOVE.items():
        remove(tx, found[name][:_AT_ONCE])
    first = _first_after(tx, old.before)
    lines = {table: tx.run(f"DELETE FROM {table} WHERE {key} IN ({rows})", first)
             for table, (key, rows) in _HISTORY.items()}  # fmt: skip
    if caller is not None:
        tx.journal("prune", "records", actor=caller.seat, proof=caller.proof)
    return _pruned(old, going, found, lines, removed=True)


def would_prune(view: View, old: Old, sources: Sources, alive: Living | None) -> Pruned:
    """The same, and nothing is removed."""
    going, found = _plan(view, old, sources, alive)
    first, lines = _first_after(view, old.before), {}
    for table, (_, rows) in _HISTORY.items():
        row = view.row(f"SELECT count(*) FROM ({rows})", first)
        lines[table] = int(row[0]) if row else 0
    return _pruned(old, going, found, lines, removed=False)


def _plan(
    view: View, old: Old, sources: Sources, alive: Living | None
) -> tuple[list[TaskId], dict[str, list[str]]]:
    now = old.before
    owed = sources.owed(view, now).items
    needed = {item.task for item in owed} | {seat.task for seat in seats.all_seats(view)}
    going = [task for task in old.tasks if task not in needed][:_AT_ONCE]
    return going, {
        "messages": old.messages,
        "tool_runs": old.tool_runs,
        "seats": _peers_gone(view, old.before, {item.to for item in owed}, alive),
        "launches": _launches_gone(view, old.before, alive),
    }


def _pruned(
    old: Old,
    going: list[TaskId],
    found: dict[str, list[str]],
    lines: dict[str, int],
    *,
    removed: bool,
) -> Pruned:
    counts = {name: min(len(names), _AT_ONCE) for name, names in found.items()} | lines
    return Pruned(
        tasks=going,
        kept=len(old.tasks) - len(going),
        removed=removed,
        others={name: count for name, count in counts.items() if count},
        more=len(going) == _AT_ONCE
        or any(len(names) > _AT_ONCE for names in found.values())
        or any(count >= _LINES_AT_ONCE for count in lines.values()),
    )


def _peers_gone(view: View, before: float, owing: set[SeatId], alive: Living | None) -> list[str]:
    """Seats of panes without a role that are not there any more, and that nobody reports to."""
    if alive is None:
        return []
    parents = {task.parent for task in tasks.listed(view, archived=False).items}
    needed = alive.seats | owing | parents
    peers = seats.SEATS.select(view, "id > 'peer:' AND id < 'peer;'").items
    return [seat.id for seat in peers if seat.at <= before and seat.id not in needed]


def _launches_gone(view: View, before: float, alive: Living | None) -> list[str]:
    if alive is None:
        return []
    rows = view.rows(
        "SELECT token FROM launches WHERE at <= ?"
        " AND coalesce(terminal, '') NOT IN (SELECT value FROM json_each(?))"
        " AND coalesce(pane, '') NOT IN (SELECT value FROM json_each(?))",
        before,
        listed(alive.terminals),
        listed(alive.panes),  # a host that hands its panes over gives them new terminals
    )
    return [str(row[0]) for row in rows]


def _first_after(view: View, before: float) -> int:
    """The first line of the journal that is young; all before it are old, whatever the clock did later."""
    row = view.row("SELECT seq FROM journal WHERE at > ? ORDER BY seq LIMIT 1", before)
    return int(row[0]) if row else 2**62


def _rows(table: str, key: str, over: str) -> tuple[str, str]:
    return key, f"SELECT {key} FROM {table} WHERE seq < ? AND {over} LIMIT {_LINES_AT_ONCE}"


_NO_LONGER_THERE: Final = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.id = journal.id)"
    for table in ("messages", "tool_runs", "seats", "attempts")
)

_HISTORY: Final = {
    "attempts": _rows(
        "attempts",
        "id",
        "stage NOT IN ('claimed', 'typed')"
        " AND NOT EXISTS (SELECT 1 FROM named WHERE attempt = attempts.id)",
    ),
    "episodes": _rows(
        "episodes",
        "id",
        "state <> 'outstanding' AND seq <"
        " (SELECT max(seq) FROM episodes AS later WHERE later.seat = episodes.seat)",
    ),
    "shadows": _rows("shadows", "id", "state <> 'watching'"),
    "journal": _rows("journal", "seq", f"task IS NULL AND {_NO_LONGER_THERE}"),
}
"""Table: its key, and the old rows in it that tell of nothing that is still there."""


def _remove_task(tx: Transaction, task: TaskId) -> None:
    for seat in (ids.worker_of(task), ids.reviewer_of(task)):
        _remove_named(tx, "SELECT id FROM messages WHERE recipient = ?", seat)
        tx.run("DELETE FROM messages WHERE recipient = ?", seat)
        _remove_seat(tx, seat)
    for table in _TOLD_KINDS:
        _remove_named(tx, f"SELECT id FROM {table} WHERE task = ?", task)
    for table in _OF_TASK:
        tx.run(f"DELETE FROM {table} WHERE task = ?", task)
    tx.run("DELETE FROM tasks WHERE id = ?", task)


def _remove_named(tx: Transaction, records: str, parameter: str) -> None:
    """Forget that and how anybody was told of these records."""
    tx.run(f"DELETE FROM named WHERE record IN ({records})", parameter)
    record = "substr(obligation, instr(obligation, ':') + 1)"
    tx.run(f"DELETE FROM told WHERE {record} IN ({records})", parameter)


def _remove_seat(tx: Transaction, seat: str) -> None:
    tx.run("DELETE FROM named WHERE attempt IN (SELECT id FROM attempts WHERE seat = ?)", seat)
    for table, column in (
        ("attempts", "seat"),
        ("told", "seat"),
        ("holds", "seat"),
        ("seats", "id"),
    ):
        tx.run(f"DELETE FROM {table} WHERE {column} = ?", seat)


def _remove_seats(tx: Transaction, names: list[str]) -> None:
    for name in names:
        _remove_seat(tx, name)


def _remove_records(table: str) -> Remove:
    def remove(tx: Transaction, names: list[str]) -> None:
        _remove_named(tx, "SELECT value FROM json_each(?)", listed(names))
        tx.run(f"DELETE FROM {table} WHERE id IN (SELECT value FROM json_each(?))", listed(names))

    return remove


def _remove_launches(tx: Transaction, tokens: list[str]) -> None:
    tx.run("DELETE FROM launches WHERE token IN (SELECT value FROM json_each(?))", listed(tokens))


_REMOVE: Final[dict[str, Remove]] = {
    "messages": _remove_records("messages"),
    "tool_runs": _remove_records("tool_runs"),
    "seats": _remove_seats,
    "launches": _remove_launches,
}


def _unrecorded(view: View, names: Iterable[str]) -> list[str]:
    """Those of these ids of messages and tool runs that nothing is recorded of any more."""
    known = {
        str(row[0])
        for table in ("messages", "tool_runs")
        for row in view.rows(
            f"SELECT id FROM {table} WHERE id IN (SELECT value FROM json_each(?))", listed(names)
        )
    }
    return [name for name in names if name not in known]
