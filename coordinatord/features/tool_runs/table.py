"""Tool runs in the database, and their changes."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.obligations.records import Obligation, Owed
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.tool_runs.records import (
    Ended,
    Running,
    ToolPane,
    ToolRun,
    Typing,
    Waiting,
)
from coordinatord.ids import PaneId, ProcessId, SeatId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable
from coordinatord.terminals.port import Occupant


def _is_owed(run: ToolRun) -> bool:
    return isinstance(run.state, Ended) and run.owed_to is not None and not run.taken


RUNS: Final = RecordTable(
    "tool_runs",
    ToolRun,
    lambda run: {
        "state": str(run.state.__struct_config__.tag),
        "owed": int(_is_owed(run)),
        "key": f"{run.terminal} {run.key}" if run.key else None,
    },
)
PANES: Final = RecordTable("tool_panes", ToolPane, lambda pane: {"label": pane.label})

_SAME: Final = ("label", "command", "cwd", "direction", "focus", "new", "in_shell", "limit_ms")
"""What a repeated request must have in common with the first one."""


def run_named(view: View, name: str) -> ToolRun:
    """The run with this id.

    Raises:
        Refused: ``bad-id`` or ``unknown-id``.
    """
    if ids.kind_of(name) != "tool-run":
        raise Refused("bad-id", f"{name!r:.80} is not a run id.", "A run id looks like x-4k7q2m1x.")
    run = RUNS.get(view, name)
    if run is None:
        raise Refused("unknown-id", f"There is no run {name}.", "See them: coordctl tool list")
    return run


def by_key(view: View, terminal: str, key: str) -> ToolRun | None:
    """The run that this terminal's key began."""
    found = RUNS.select(view, "key = ?", f"{terminal} {key}", limit=1).items if key else []
    return found[0] if found else None


def accept(
    tx: Transaction, caller: Caller, wanted: ToolRun, occupant: Occupant | None
) -> tuple[ToolRun, bool]:
    """Save the intent; a repeated key gives the first one's run, and False.

    Args:
        occupant: the agent in the caller's pane, if it has no seat of its own yet.

    Raises:
        Refused: ``key-conflict``.
    """
    known = by_key(tx, wanted.terminal, wanted.key or "")
    if known is not None:
        if any(getattr(known, name) != getattr(wanted, name) for name in _SAME):
            raise Refused(
                "key-conflict",
                f"The key {known.key!r} was used before for another run, {known.id}.",
                "Repeat the first request unchanged, or take a new key.",
            )
        return known, False
    if occupant is not None and seats.seat_or_none(tx, caller.seat) is None:
        seats.take(tx, caller, caller.seat, "developer", pane=wanted.pane, occupant=occupant)
    run = tx.mint("tool-run")
    seq = tx.journal("tool-run", run, task=caller.task, actor=caller.seat, proof=caller.proof)
    record = msgspec.structs.replace(wanted, id=run, seq=seq, at=tx.now)
    RUNS.put(tx, record)
    return record, True


def typing(tx: Transaction, id: str, pane: PaneId, terminal: str, reused: bool) -> ToolRun | None:
    """The line is typed next; None if the run is over or was cancelled meanwhile."""
    run = run_named(tx, id)
    if run.cancelled or not isinstance(run.state, Waiting | Typing):
        return None
    return _change(tx, run, state=Typing(pane=pane, terminal=terminal, reused=reused))


def begin(tx: Transaction, id: str, terminal: str | None, runner: ProcessId | None) -> ToolRun:
    """The runner in the pane took it; or the shell itself did (``runner`` None).

    Raises:
        Refused: ``wrong-state``: it is not waited for there.
    """
    run = run_named(tx, id)
    if not isinstance(run.state, Typing) or run.state.terminal != terminal:
        raise Refused("wrong-state", f"{id} is not to be started here now.")
    state = run.state
    begun = Running(
        pane=state.pane, terminal=state.terminal, reused=state.reused, at=tx.now, runner=runner
    )
    return _change(tx, run, state=begun)


def finish(tx: Transaction, id: str, ended: Ended, awaited: bool) -> ToolRun:
    """It is over; ``awaited``: somebody is being given the result. The first end stays."""
    run = run_named(tx, id)
    if isinstance(run.state, Ended):
        return run
    taken = run.taken or awaited
    return _change(tx, run, told=not taken, state=ended, taken=taken)


def pass_limit(tx: Transaction, id: str, awaited: bool) -> ToolRun:
    """Its time is over: what has not begun never will, what runs goes on."""
    run = run_named(tx, id)
    match run.state:
        case Ended():
            return run
        case Waiting():
            detail = "Its time was over before its turn came."
            ended = Ended(at=tx.now, flaw="not-started", detail=detail)
            return _change(tx, run, told=not awaited, late=True, taken=awaited, state=ended)
        case Typing() | Running():
            return _change(tx, run, late=True)


def cancel(tx: Transaction, caller: Caller, id: str, awaited: bool) -> ToolRun:
    """Somebody asked for its end. What waits is over at once.

    Raises:
        Refused: ``not-allowed``.
    """
    run = run_named(tx, id)
    if not (caller.coordinates or caller.seat == run.by or caller.terminal_id == run.terminal):
        raise Refused(
            "not-allowed", f"Only {run.by}, the coordinator or the operator may cancel {id}."
        )
    match run.state:
        case Ended():
            return run
        case Waiting():
            ended, known = Ended(at=tx.now, flaw="cancelled"), awaited or caller.seat == run.by
            return _change(tx, run, told=not known, cancelled=True, taken=known, state=ended)
        case Typing() | Running():
            return _change(tx, run, actor=caller, cancelled=True)


def take(tx: Transaction, caller: Caller, id: str) -> ToolRun:
    """Its result is given out; that ends the debt if the one who owes it asks."""
    run = run_named(tx, id)
    if _is_owed(run) and caller.proven and caller.seat in (run.owed_to, ids.OPERATOR):
        return _change(tx, run, actor=caller, taken=True)
    return run


def give_up(tx: Transaction, caller: Caller, seat: SeatId) -> None:
    """Nobody has this seat from now on: it is told of the end of no run."""
    for run in RUNS.select(tx, "state <> 'ended' OR owed = 1").items:
        if run.owed_to == seat and not run.taken:
            _change(tx, run, actor=caller, taken=True)


def _change(
    tx: Transaction,
    run: ToolRun,
    *,
    told: bool = False,
    actor: Caller | None = None,
    **fields: object,
) -> ToolRun:
    seat, who = run.owed_to if told else None, actor.seat if actor else "coordinatord"
    tx.journal("tool-run", run.id, seat=seat, actor=who, proof=actor.proof if actor else "")
    changed = msgspec.structs.replace(run, **fields)
    RUNS.put(tx, changed)
    return changed


def unfinished(view: View) -> Found[ToolRun]:
    """The runs that have not ended."""
    return RUNS.select(view, "state <> 'ended'")


def needed(view: View) -> frozenset[str]:
    """The runs whose output somebody has yet to see: not ended, or owed."""
    rows = view.rows("SELECT id FROM tool_runs WHERE state <> 'ended' OR owed = 1")
    return frozenset(str(row[0]) for row in rows)


def newest(view: View, limit: int) -> Found[ToolRun]:
    """The latest runs, newest first."""
    return RUNS.select(view, order="seq DESC", limit=limit)


def opened(tx: Transaction, terminal: str, label: str) -> None:
    """A pane was opened for this label."""
    PANES.put(tx, ToolPane(id=terminal, seq=tx.journal("tool-pane", terminal), label=label))


def spoil(tx: Transaction, terminal: str) -> None:
    """A line that was typed there was not run: nothing is typed there again."""
    pane = PANES.get(tx, terminal)
    if pane is not None:
        PANES.put(tx, msgspec.structs.replace(pane, stale=True))


def panes_of(view: View, label: str) -> list[ToolPane]:
    """The panes that were ever opened for this label and can be used."""
    found = PANES.select(view, "label = ?", label, order="seq DESC", limit=200)
    return [pane for pane in found.items if not pane.stale]


def terminals_of(view: View, label: str) -> frozenset[str]:
    """All terminals that were ever opened for this label."""
    return frozenset(pane.id for pane in PANES.select(view, "label = ?", label).items)


class ToolRunDebts:
    """Runs that ended while nobody waited for them: the caller's seat is told. See `Source`."""

    kinds = frozenset({"tool-run"})

    def derive(self, view: View, now: float, to: SeatId | None = None) -> Owed:
        """See `Source`."""
        found = RUNS.select(view, "owed = 1")
        return Owed(
            items=[
                _obligation(run, run.state) for run in found.items if isinstance(run.state, Ended)
            ],
            unreadable=found.unreadable,
        )

    def phrase(self, obligation: Obligation) -> str:
        """See `Source`."""
        return f"tool run {obligation.record} has ended"

    def reading(self, obligation: Obligation) -> str:
        """See `Source`."""
        return "inbox"

    def settling(self, obligation: Obligation) -> str:
        """See `Source`."""
        return f"tool result {obligation.record}"


def _obligation(run: ToolRun, ended: Ended) -> Obligation:
    assert run.owed_to is not None
    return Obligation(
        id=f"tool-run:{run.id}",
        kind="tool-run",
        record=run.id,
        to=run.owed_to,
        seq=run.seq,
        since=ended.at,
    )
