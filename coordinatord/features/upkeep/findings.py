"""What a doctor concludes from what it saw. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from coordinatord.features.panes.judgement import STANDS
from coordinatord.features.panes.records import Outcome, Seat
from coordinatord.features.upkeep.records import Check, Finding
from coordinatord.ids import COORDINATOR

CLOCK_TOLERANCE_S: Final = 60.0
"""Less is an ordinary correction of the clock."""


def good(check: Check, subject: str = "") -> Finding:
    """Nothing is wrong there."""
    return Finding(id=check, level="good", subject=subject)


def of_integrity(said: str, backups: str) -> Finding:
    """What SQLite says about its pages."""
    if said == "ok":
        return good("store-integrity")
    return Finding(
        id="store-integrity",
        level="bad",
        reason="damaged",
        remedy=f"stop the daemon, keep a copy, restore the newest of {backups}",
    )


def of_records(unreadable: Iterable[str]) -> list[Finding]:
    """Records that cannot be decoded."""
    found = [
        Finding(
            id="records-readable",
            level="bad",
            subject=name,
            reason="unreadable",
            remedy="the rest goes on without it; an older copy may stand in a backup",
        )
        for name in unreadable
    ]
    return found or [good("records-readable")]


def of_debts(missing: Iterable[str], invented: Iterable[str], *, fixed: bool) -> list[Finding]:
    """Where the indexes say something else than the records."""
    both = [("missing", each) for each in missing] + [("invented", each) for each in invented]
    found = [
        Finding(
            id="obligations",
            level="fixed" if fixed else "bad",
            subject=name,
            reason=reason,
            remedy="" if fixed else "coordctl doctor --fix",
            fixable=True,
        )
        for reason, name in both
    ]
    return found or [good("obligations")]


def of_seats(judged: Iterable[tuple[Seat, Outcome]]) -> list[Finding]:
    """Seats whose role does not stand need a person."""
    found = [
        Finding(
            id="seats",
            level="bad",
            subject=seat.id,
            reason=outcome,
            remedy=_seating(seat, outcome),
        )
        for seat, outcome in judged
        if outcome not in STANDS
    ]
    return found or [good("seats")]


def of_clock(odd: Iterable[int]) -> list[Finding]:
    """Acts that are recorded in the future, or before the one that precedes them."""
    found = [
        Finding(
            id="clock",
            level="bad",
            subject=str(seq),
            reason="stepped",
            remedy="order is by number and not affected; ages may be shown wrongly",
        )
        for seq in odd
    ]
    return found or [good("clock")]


def _seating(seat: Seat, outcome: Outcome) -> str:
    if outcome in ("unobservable", "unrecorded"):
        return "look again when the terminal host answers"
    if seat.id == COORDINATOR:
        return "in the new coordinator's pane: coordctl init --role coordinator --reclaim"
    return f"coordctl bind {seat.task} --{seat.role}-pane PANE"
