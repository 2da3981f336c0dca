"""Wake episodes in the database, and the answers to `wake.…`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.delivery import episodes
from coordinatord.features.delivery.episodes import Consumed, Ended, Episode, Shown
from coordinatord.features.delivery.records import Stage, Told
from coordinatord.features.delivery.requests import ConsumeWake, ShowWake
from coordinatord.features.delivery.table import ATTEMPTS, told_to
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.table import seat_or_none
from coordinatord.ids import COORDINATOR, OPERATOR, AttemptId, SeatId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import RecordTable, Unreadable

EPISODES: Final = RecordTable(
    "episodes",
    Episode,
    lambda episode: {"seat": episode.seat, "state": str(episode.state.__struct_config__.tag)},
)


def latest(view: View, seat: SeatId) -> Episode | None:
    """The seat's last episode.

    Raises:
        Unreadable: there is one, and what it covers cannot be read.
    """
    found = EPISODES.select(view, "seat = ?", seat, order="seq DESC", limit=1)
    if found.unreadable:
        raise Unreadable("episodes", found.unreadable[0])
    return found.items[0] if found.items else None


def behind(
    view: View, seat: Seat, items: Iterable[Obligation], told: Mapping[str, Told]
) -> frozenset[str]:
    """The debts that wait behind an outstanding episode of this seat."""
    items = tuple(items)
    if not holds_back(view, seat, items):
        return frozenset()
    owed = {item.id for item in items if not item.alone}
    passing = {item.id for item in episodes.passing(items, told)}
    return frozenset(owed - passing - told.keys())


def holds_back(view: View, seat: Seat, items: Iterable[Obligation]) -> bool:
    """Is an episode of this seat outstanding? One that cannot be read may be: nobody is interrupted on a
    guess, until an explicit notice takes its place."""
    if not episodes.concerns(seat.id):
        return False
    try:
        episode = latest(view, seat.id)
    except Unreadable:
        return True
    owed = {item.id for item in items}
    return episodes.stands(episode, _stage(view, episode), owed, seat.binding)


def begin(
    tx: Transaction, seat: Seat, attempt: AttemptId, named: Iterable[Obligation], held_back: bool
) -> None:
    """A notice to the coordinator begins an episode; one that passes an outstanding one does not, nor
    does a text of its own."""
    named = tuple(named)
    if any(item.alone for item in named):
        return
    if not episodes.concerns(seat.id) or held_back or seat.occupant is None:
        return
    before = None
    with suppress(Unreadable):
        before = latest(tx, seat.id)
    if before is not None and isinstance(before.state, episodes.Outstanding):
        ended = Ended(at=tx.now, seq=before.seq, why="replaced")
        EPISODES.put(tx, msgspec.structs.replace(before, state=ended))
    name = tx.mint("episode")
    EPISODES.put(
        tx,
        Episode(
            id=name,
            seq=tx.journal("episode", name, seat=seat.id, actor="coordinatord"),
            at=tx.now,
            seat=seat.id,
            binding=seat.binding,
            terminal=seat.occupant.terminal_id,
            generation=_last_generation(tx, seat.id) + 1,
            attempt=attempt,
            included=tuple(item.id for item in named),
        ),
    )


def receipt(view: View, name: SeatId, items: Iterable[Obligation]) -> str | None:
    """The receipt that lets go what waits behind the seat's outstanding episode; None: nothing waits."""
    seat = seat_or_none(view, name)
    if seat is None:
        return None
    items = tuple(items)
    waiting = behind(view, seat, items, told_to(view, seat, items))
    with suppress(Unreadable):
        episode = latest(view, name) if waiting else None
        return episodes.boundary(episode) if episode else None
    return None


def _last_generation(view: View, seat: SeatId) -> int:
    readable = EPISODES.select(view, "seat = ?", seat, order="seq DESC", limit=9).items
    return readable[0].generation if readable else 0


class WakeMethods:
    """Routes of wake episodes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def show(self, view: View, caller: Caller, request: ShowWake) -> Shown:
        """The coordinator's last episode, with its receipt."""
        episode = latest(view, COORDINATOR)
        if episode is None:
            raise Refused("unknown-id", "The coordinator was not woken yet.", "coordctl inbox")
        seat = seat_or_none(view, COORDINATOR)
        owed = self._sources.owed_to(view, episode.at, COORDINATOR).items
        told = told_to(view, seat, owed) if seat else {}
        waiting = behind(view, seat, owed, told) if seat else frozenset()
        return Shown(
            id=episode.id,
            seq=episode.seq,
            at=episode.at,
            seat=episode.seat,
            generation=episode.generation,
            included=episode.included,
            state=episode.state,
            boundary=episodes.boundary(episode),
            waiting=len(waiting),
        )

    def consume(self, tx: Transaction, caller: Caller, request: ConsumeWake) -> Episode:
        """End the episode by its receipt; what waited behind it is told next."""
        if caller.seat not in (COORDINATOR, OPERATOR):
            raise Refused(
                "not-allowed",
                f"Only the coordinator gives this receipt; you are {caller.seat}.",
                "coordctl whoami",
            )
        newest = latest(tx, COORDINATOR)
        episode = EPISODES.get(tx, request.boundary.partition(".")[0])
        generation = newest.generation if newest else 0
        terminal = caller.terminal_id if caller.seat == COORDINATOR else None
        if not episodes.check(request.boundary, episode, generation, terminal) or episode is None:
            assert episode is not None, "a receipt that fits names an episode"
            return episode
        seq = tx.journal("episode", episode.id, actor=caller.seat, proof=caller.proof)
        episode = msgspec.structs.replace(episode, state=Consumed(at=tx.now, seq=seq))
        EPISODES.put(tx, episode)
        return episode


def _stage(view: View, episode: Episode | None) -> Stage | None:
    if episode is None:
        return None
    try:
        attempt = ATTEMPTS.get(view, episode.attempt)
    except Unreadable:
        return "uncertain"
    return attempt.stage if attempt else None
