"""Shadow mode: what would have been typed, and whether that would have been right. Pure.

While it is on nothing is typed by the pump. What it would have typed is recorded where it would have claimed
an attempt, and a later look says whether the text would have arrived where it was meant to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from coordinatord.features.delivery import episodes
from coordinatord.features.delivery.records import Hold, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.panes.records import Seat
from coordinatord.features.typing.records import Clear, Held
from coordinatord.ids import AttemptId, PaneId, SeatId
from coordinatord.terminals.port import Sighting

UNPROVEN: Final[frozenset[Hold]] = frozenset(
    {"host-unreachable", "unobservable", "unknown", "paused", "host-protocol"}
)
"""What a look may find that says nothing about the pane itself."""


class Watching(msgspec.Struct, frozen=True, tag="watching", tag_field="kind"):
    """The later look is still to come."""


class Right(msgspec.Struct, frozen=True, tag="right", tag_field="kind"):
    """Until ``at`` (wall seconds) the same occupant stayed settled at an empty composer."""

    at: float


class Wrong(msgspec.Struct, frozen=True, tag="wrong", tag_field="kind"):
    """Soon afterwards the pane was not as the text would have needed it."""

    at: float
    why: Hold
    detail: str | None = None


class Unsure(msgspec.Struct, frozen=True, tag="unsure", tag_field="kind"):
    """Nothing could be said: the host did not answer, or the daemon ended first."""

    at: float
    why: str


ShadowState: TypeAlias = Watching | Right | Wrong | Unsure


class Shadow(msgspec.Struct, frozen=True, kw_only=True):
    """One text that was not typed. ``text`` is the notice; of a text that somebody wrote only its length
    in characters and its hash are kept here."""

    id: str
    seq: int
    at: float
    seat: SeatId
    binding: int
    pane: PaneId
    terminal_id: str
    obligations: tuple[str, ...]
    records: tuple[str, ...]
    text: str | None
    characters: int
    sha256: str | None
    state: ShadowState = Watching()

    @property
    def over(self) -> bool:
        """Has the later look been taken?"""
        return not isinstance(self.state, Watching)


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """Is shadow mode on, since when (wall seconds) and by whom?"""

    id: str = "shadow"
    on: bool = False
    since: float | None = None
    by: str | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What shadow mode has recorded since it was last switched on, the newest first. ``why`` counts the
    reasons of those that would have been wrong; ``more`` are left out of ``items``."""

    id: str = "shadow"
    mode: Mode
    right: int = 0
    wrong: int = 0
    unsure: int = 0
    watching: int = 0
    why: dict[str, int] = {}
    items: list[Shadow] = []
    more: int = 0


Finding: TypeAlias = Right | Wrong | Unsure | Literal["stands"]


def found(
    before: Sighting, now: Sighting | Gone | Unseen, looked: Held | Clear, at: float
) -> Finding:
    """What one later look says. ``stands``: all is as it was when the text would have been typed."""
    if isinstance(looked, Held):
        if looked.reason in UNPROVEN:
            return Unsure(at, looked.reason)
        return Wrong(at, looked.reason, looked.detail)
    if not isinstance(now, Sighting) or now.terminal_id != before.terminal_id:
        return Wrong(at, "replaced", "another terminal is in the pane")
    return "stands"


def foretold(seat: Seat, shadows: Iterable[Shadow]) -> dict[str, Told]:
    """What this occupant would have been told by now: it is not foreseen a second time."""
    return {
        obligation: Told(
            obligation=obligation,
            seat=seat.id,
            binding=seat.binding,
            attempt=AttemptId(each.id),
            stage="submitted",
            failures=0,
            at=each.at,
        )
        for each in shadows
        if each.binding == seat.binding
        for obligation in each.obligations
    }


def behind(
    seat: SeatId, items: Iterable[Obligation], foretold: Mapping[str, Told]
) -> frozenset[str]:
    """Routine debts that would wait behind a wake episode which the foretold notice would have begun."""
    items = tuple(items)
    if not episodes.concerns(seat) or not any(item.id in foretold for item in items):
        return frozenset()
    passing = {item.id for item in episodes.passing(items, foretold)}
    return frozenset({i.id for i in items if not i.alone} - passing - foretold.keys())


def report(mode: Mode, shadows: Iterable[Shadow], limit: int) -> Report:
    """Count what came of the shadows, given oldest first."""
    newest = list(shadows)[::-1]
    wrong = [each.state for each in newest if isinstance(each.state, Wrong)]
    why: dict[str, int] = {}
    for state in wrong:
        why[state.why] = why.get(state.why, 0) + 1
    return Report(
        mode=mode,
        right=len([each for each in newest if isinstance(each.state, Right)]),
        wrong=len(wrong),
        unsure=len([each for each in newest if isinstance(each.state, Unsure)]),
        watching=len([each for each in newest if not each.over]),
        why=why,
        items=newest[:limit],
        more=max(0, len(newest) - limit),
    )
