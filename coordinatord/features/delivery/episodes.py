"""Wake episodes: many routine arrivals, one interruption of the coordinator. Pure.

An episode begins with a notice to the coordinator. As long as it is outstanding, routine debts wait
(*coalesced*); a new decision may pass it once. It ends by an exact receipt (`wake consume`), when all that it
named is dealt with, when an explicit notice replaces it, or when its notice proves not to have arrived. No
timer ends one. Source: coordination.md §3.6; docs/decisions/0005-wake-episodes.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.delivery.records import Stage, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.ids import COORDINATOR, AttemptId, SeatId


class Outstanding(msgspec.Struct, frozen=True, tag="outstanding", tag_field="kind"):
    """Told, and nobody has said that it was read."""


class Consumed(msgspec.Struct, frozen=True, kw_only=True, tag="consumed", tag_field="kind"):
    """The coordinator gave the receipt."""

    at: float
    seq: int


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended", tag_field="kind"):
    """Over without a receipt: dealt with, replaced by an explicit notice, or by another occupant."""

    at: float
    seq: int
    why: str


State: TypeAlias = Outstanding | Consumed | Ended


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """``included`` are the debts that its notice named; ``generation`` counts the seat's episodes."""

    id: str
    seq: int
    at: float
    seat: SeatId
    binding: int
    terminal: str
    generation: int
    attempt: AttemptId
    included: tuple[str, ...]
    state: State = Outstanding()


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """An episode with the receipt that ends it, and how many routine debts wait behind it."""

    id: str
    seq: int
    at: float
    seat: SeatId
    generation: int
    included: tuple[str, ...]
    state: State
    boundary: str
    waiting: int


ARRIVED: Final[frozenset[Stage]] = frozenset(
    {"claimed", "typed", "submitted", "turn-started", "seen", "closed"}
)
"""Stages of a notice behind which routine debts wait. An uncertain one holds nothing back: what is new
is another debt, and the uncertain ones stay untold."""


def boundary(episode: Episode) -> str:
    """The receipt: names everything that the episode covers, so that it fits no other one."""
    facts = (
        episode.id,
        episode.seat,
        str(episode.binding),
        episode.terminal,
        str(episode.generation),
        *sorted(episode.included),
    )
    return f"{episode.id}.{hashlib.sha256('|'.join(facts).encode()).hexdigest()[:16]}"


def stands(
    episode: Episode | None, stage: Stage | None, owed: Collection[str], binding: int
) -> bool:
    """Does this episode still hold routine debts back?

    Args:
        stage: of its attempt.
        owed: ids of everything that the seat owes now.
        binding: the seat's present one: another occupant inherits no coverage.
    """
    return (
        episode is not None
        and isinstance(episode.state, Outstanding)
        and episode.binding == binding
        and stage in ARRIVED
        and any(each in owed for each in episode.included)
    )


def passing(items: Iterable[Obligation], told: Mapping[str, Told]) -> tuple[Obligation, ...]:
    """What may pass an outstanding episode: decisions that nobody was told yet, and texts that somebody
    wants typed as they are."""
    return tuple(
        item for item in items if (item.weight == "decision" or item.alone) and item.id not in told
    )


def concerns(seat: SeatId) -> bool:
    """Only the coordinator is woken in episodes: many report to it, and a worker has one task."""
    return seat == COORDINATOR


def check(receipt: str, episode: Episode | None, latest: int, terminal: str | None) -> bool:
    """Does this receipt end that episode? False: it did before, and nothing is to be done.

    Raises:
        Refused: ``bad-params`` (not a receipt of this episode), ``wrong-state`` (of an older one),
            ``not-allowed`` (given from another terminal than the one that was told).
    """
    if episode is None or receipt != boundary(episode):
        raise Refused(
            "bad-params",
            "This is no receipt of an episode of yours.",
            "Copy it exactly from: coordctl wake show",
        )
    if terminal is not None and terminal != episode.terminal:
        raise Refused(
            "not-allowed",
            "The episode was told to another occupant of the seat.",
            "coordctl wake show",
        )
    if isinstance(episode.state, Consumed):
        return False
    if episode.generation < latest or isinstance(episode.state, Ended):
        raise Refused(
            "wrong-state", "A newer episode has taken this one's place.", "coordctl wake show"
        )
    return True
