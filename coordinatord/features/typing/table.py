"""The pause in the database."""

from __future__ import annotations

from coordinatord.features.panes.records import Caller
from coordinatord.features.typing.records import Pause
from coordinatord.store.database import Transaction, View


def pause_of(view: View) -> Pause:
    """Is typing paused, since when and by whom?"""
    row = view.row("SELECT since, by FROM pause")
    return Pause() if row is None else Pause(paused=True, since=row[0], by=row[1])


def pause(tx: Transaction, caller: Caller) -> Pause:
    """Stop typing; a pause that stands keeps its time and its author."""
    known = pause_of(tx)
    if not known.paused:
        tx.run("INSERT INTO pause (id, since, by) VALUES (1, ?, ?)", tx.now, caller.seat)
        tx.journal("typing", "pause", actor=caller.seat, proof=caller.proof)
    return pause_of(tx)


def resume(tx: Transaction, caller: Caller) -> Pause:
    """Allow typing again."""
    if pause_of(tx).paused:
        tx.run("DELETE FROM pause")
        tx.journal("typing", "resume", actor=caller.seat, proof=caller.proof)
    return Pause()
