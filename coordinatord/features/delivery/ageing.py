"""How old undelivered debts are, and when a person is alerted. Pure.

Ages are counted in awake seconds from when this daemon first saw a debt: a night asleep makes nothing late.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from coordinatord.features.delivery import pacing
from coordinatord.features.delivery.records import Attempt, HoldRecord, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.ids import SeatId

NAMED: Final = 3
"""Debts that an alert names; the host shows 240 characters (herdr-protocol.md §2)."""


class Ages(msgspec.Struct, frozen=True, kw_only=True):
    """Ages in seconds; None where there is nothing of that sort."""

    undelivered: int
    oldest_undelivered_s: float | None
    oldest_decision_s: float | None


def undelivered(owed: Iterable[Obligation], told: Mapping[str, Told]) -> list[Obligation]:
    """What nobody has been told yet, and what was not delivered."""
    waiting = ("pending", "not-delivered", "stalled")
    return [item for item in owed if pacing.classify(told.get(item.id)) in waiting]


def ages(owed: Collection[Obligation], told: Mapping[str, Told], now: float) -> Ages:
    """For display: by the wall clock, from when the debts arose."""
    waiting = [now - item.since for item in undelivered(owed, told)]
    decisions = [now - item.since for item in owed if item.weight == "decision"]
    return Ages(
        undelivered=len(waiting),
        oldest_undelivered_s=max(waiting, default=None),
        oldest_decision_s=max(decisions, default=None),
    )


class Stall(msgspec.Struct, frozen=True):
    """What is known between two looks: ``first`` the awake time at which each waiting debt was first seen,
    ``covered`` those that an alert was about already."""

    first: dict[str, float] = {}
    covered: frozenset[str] = frozenset()


def watch(stall: Stall, waiting: Collection[str], now: float) -> Stall:
    """Take in what waits now; what is over leaves the stall."""
    return Stall(
        {each: stall.first.get(each, now) for each in waiting}, stall.covered & frozenset(waiting)
    )


def late(stall: Stall, after_s: float, now: float) -> list[str]:
    """Debts that are late and that no alert was about, the oldest first."""
    over = [
        each
        for each, since in stall.first.items()
        if now - since >= after_s and each not in stall.covered
    ]
    return sorted(over, key=lambda each: stall.first[each])


def alerted(stall: Stall) -> Stall:
    """One alert is about everything that waits at that moment; only what comes later raises another."""
    return Stall(stall.first, frozenset(stall.first))


def next_at(stall: Stall, after_s: float) -> float | None:
    """Awake time at which the next debt is late, if none is settled before."""
    rest = [since for each, since in stall.first.items() if each not in stall.covered]
    return min(rest) + after_s if rest else None


def words(items: Collection[Obligation], holds: Mapping[SeatId, HoldRecord]) -> tuple[str, str]:
    """Title and body of an alert: ids and states, nothing that anybody wrote."""
    named = list(items)[:NAMED]
    parts = [f"{each.record} for {each.to} ({_state(holds.get(each.to))})" for each in named]
    if more := len(items) - len(named):
        parts.append(f"and {more} more")
    return f"coordinatord: {len(items)} undelivered", "; ".join(parts)


def stranded_words(attempt: Attempt) -> tuple[str, str]:
    """Title and body of the one alert about a text that stands unsubmitted: a person has to see to it."""
    body = f"{attempt.id} for {attempt.seat} in {attempt.pane}: press Enter there, or delete it"
    return "coordinatord: typed, not submitted", body


def _state(hold: HoldRecord | None) -> str:
    return hold.reason if hold else "waiting"
