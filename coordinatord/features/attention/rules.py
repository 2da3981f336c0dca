"""When somebody should look, and when it is over: pure (coordination.md §4.4)."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord.features.attention.records import Kind, Why
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.terminals.port import SETTLED, Sighting

PASSING: Final[frozenset[Kind]] = frozenset({"blocked", "idle-without-report"})
"""Alerts that a fresh look can close; ``exited`` and ``closed`` end by a record, by seen, or by binding."""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """All that a decision about one worker looks at.

    Args:
        seen: a fresh look.
        had_agent: an agent was recorded in the seat.
        open: kinds of alerts that are open for its task.
        owed: something is owed in either direction, alerts aside.
        spoke: the worker recorded something since it began its last stretch of work.
        just_told: the settled moment was used to tell it something.
    """

    seen: Sighting | Gone | Unseen
    had_agent: bool
    open: frozenset[Kind] = frozenset()
    owed: bool = False
    spoke: bool = False
    just_told: bool = False


class Verdict(msgspec.Struct, frozen=True):
    """What to record: one new alert at most, and those that are over."""

    create: Kind | None = None
    close: tuple[tuple[Kind, Why], ...] = ()


def decide(watched: Watched) -> Verdict:
    """What a fresh look at a worker says. A pane that could not be looked at says nothing."""
    if isinstance(watched.seen, Unseen):
        return Verdict()
    kind = _kind(watched)
    return Verdict(
        kind if kind is not None and kind not in watched.open else None,
        tuple((each, why) for each in sorted(watched.open) if (why := _over(each, watched.seen))),
    )


def _kind(watched: Watched) -> Kind | None:
    match watched.seen:
        case Gone():
            return "closed"
        case Sighting(agent=None):
            return "exited" if watched.had_agent else None
        case Sighting(status="blocked"):
            return "blocked"
        case Sighting() as seen if seen.status in SETTLED and seen.live and not seen.launch_pending:
            quiet = watched.owed or watched.spoke or watched.just_told
            return None if quiet else "idle-without-report"
        case _:
            return None


def _over(kind: Kind, seen: Sighting | Gone | Unseen) -> Why | None:
    if kind not in PASSING or not isinstance(seen, Sighting):
        return None
    if seen.status == "working":
        return "resumed"
    return "cleared" if kind == "blocked" and seen.status != "blocked" else None
