"""What to do now about everything that is owed: a pure decision.

Source: coordination.md §3.3 (classes), §3.4 (what is tried again), §10.5 (a failure counts per settled
opportunity, not per command).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from coordinatord.features.delivery.records import OPEN, REACHED, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.typing import gate
from coordinatord.features.typing.records import Held
from coordinatord.ids import SeatId
from coordinatord.terminals.port import Sighting

Class = Literal["pending", "in-hand", "typed", "submitted", "uncertain", "not-delivered", "stalled"]

FAILURES_ALLOWED: Final = 3
"""Proven non-deliveries of one obligation before only a new settled moment tries it again (§3.1)."""

PAUSES_S: Final = (2.0, 8.0, 30.0)
"""Seconds of pause after the first, second … proven non-delivery."""

RELOOKS_S: Final = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Pauses between looks at a screen that holds the text although the host says idle: no event tells when
a draft or a menu is gone. The last one repeats."""


class Due(msgspec.Struct, frozen=True):
    """This seat shall be told these things now."""

    seat: SeatId
    items: tuple[Obligation, ...]


class Waiting(msgspec.Struct, frozen=True):
    """This seat cannot be told now. ``until`` is the wall time to decide again at, if one is known."""

    seat: SeatId
    held: Held
    until: float | None = None


class Resting(msgspec.Struct, frozen=True):
    """Nothing is to be told; ``until`` as above (a pause that ends)."""

    seat: SeatId
    reason: Literal["quiet", "pacing", "stalled", "uncertain", "draft", "coalesced"]
    until: float | None = None


Decision: TypeAlias = Due | Waiting | Resting


class Recipient(msgspec.Struct, frozen=True, kw_only=True):
    """All that a decision about one seat looks at."""

    seat: SeatId
    items: tuple[Obligation, ...]
    told: Mapping[str, Told]
    seen: Sighting | Gone | Unseen
    bound: bool
    replaced: bool = False
    """Known without a closer look: the occupant is not the recorded one."""
    settled_since: float | None = None
    relook_at: float | None = None
    """Wall time before which the screen is not looked at again, after it held a text."""
    held: Held | None = None
    """What the last closer look said, as long as ``relook_at`` lies ahead."""
    forced: bool = False
    paused: bool = False
    behind: frozenset[str] = frozenset()
    """Debts that wait behind an outstanding wake episode."""


class Decided(msgspec.Struct, frozen=True):
    """What one decision went by, for a trace; ``now`` is wall time."""

    recipient: Recipient
    now: float
    decision: Decision


def classify(told: Told | None) -> Class:
    """How far telling has come."""
    if told is None:
        return "pending"
    if told.stage in OPEN:
        return "typed" if told.stage == "typed" else "in-hand"
    if told.stage in REACHED or told.stage == "withdrawn":
        return "submitted"
    if told.stage == "uncertain":
        return "uncertain"
    return "not-delivered" if told.failures < FAILURES_ALLOWED else "stalled"


def sendable(recipient: Recipient, now: float) -> tuple[Obligation, ...]:
    """The obligations that may be named now, oldest first."""
    return tuple(item for item in recipient.items if _may(recipient, item, now))


def decide(recipient: Recipient, now: float) -> Decision:
    """What to do about one seat."""
    items = sendable(recipient, now)
    if not items:
        gone = _gone(recipient) if recipient.behind else None
        return Waiting(recipient.seat, gone) if gone else _rest(recipient, now)
    if recipient.paused:
        return Waiting(recipient.seat, Held("paused"))
    if not recipient.bound:
        return Waiting(recipient.seat, Held("unbound", "no pane is recorded for this seat"))
    obstacle = _cheap_look(recipient)
    if obstacle is not None:
        return Waiting(recipient.seat, obstacle)
    if recipient.held is not None and recipient.relook_at is not None and now < recipient.relook_at:
        return Waiting(recipient.seat, recipient.held, recipient.relook_at)
    return Due(recipient.seat, items)


def _gone(recipient: Recipient) -> Held | None:
    """Nobody sits there any more who could give a receipt, whatever waits behind an episode."""
    obstacle = _cheap_look(recipient)
    return obstacle if obstacle is not None and obstacle.reason in ("absent", "replaced") else None


def relook_pause(looks: int) -> float:
    """Seconds until the next look at a screen that held the text ``looks`` times in a row."""
    return RELOOKS_S[min(looks, len(RELOOKS_S)) - 1]


def _cheap_look(recipient: Recipient) -> Held | None:
    match recipient.seen:
        case Unseen():
            return Held("host-unreachable")
        case Gone():
            return Held("absent")
        case Sighting() as seen if recipient.replaced:
            return gate.occupant_stands(seen, "replaced")
        case Sighting() as seen:
            return gate.agent_settled(seen)


def _may(recipient: Recipient, item: Obligation, now: float) -> bool:
    told = recipient.told.get(item.id)
    state = classify(told)
    if state == "pending":
        return recipient.forced or item.id not in recipient.behind
    if told is None or state in ("in-hand", "typed", "submitted"):
        return recipient.forced and state == "submitted"
    if recipient.forced:
        return True
    if state == "not-delivered":
        return not told.at <= now < told.at + _pause(told)
    return state == "stalled" and _new_moment(recipient, told, now)


def _pause(told: Told) -> float:
    return PAUSES_S[min(told.failures, len(PAUSES_S)) - 1]


def _new_moment(recipient: Recipient, told: Told, now: float) -> bool:
    """Has it settled since? A time that lies ahead is of before the clock was set back and proves nothing:
    then one more try gives the failure a time that can be compared."""
    settled = recipient.settled_since
    return told.at > now or (settled is not None and told.at < settled <= now)


def _rest(recipient: Recipient, now: float) -> Resting:
    states = {item.id: classify(recipient.told.get(item.id)) for item in recipient.items}
    pauses = [
        told.at + _pause(told)
        for item, told in recipient.told.items()
        if states.get(item) == "not-delivered"
    ]
    if pauses:
        return Resting(recipient.seat, "pacing", min(pauses))
    if recipient.behind:
        return Resting(recipient.seat, "coalesced")
    if "typed" in states.values():
        return Resting(recipient.seat, "draft")
    if "stalled" in states.values():
        return Resting(recipient.seat, "stalled")
    if "uncertain" in states.values():
        return Resting(recipient.seat, "uncertain")
    return Resting(recipient.seat, "quiet")


def by_seat(items: Iterable[Obligation]) -> dict[SeatId, tuple[Obligation, ...]]:
    """What is owed, grouped by who owes it, each group oldest first."""
    groups: dict[SeatId, list[Obligation]] = {}
    for item in sorted(items, key=lambda each: each.seq):
        groups.setdefault(item.to, []).append(item)
    return {seat: tuple(group) for seat, group in groups.items()}
