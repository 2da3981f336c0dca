"""When a wait is over: pure.

``idle`` and ``done`` are one state here, and a wait that begins after the change it waits for ends at once
(case G-8, H#1700, H#4473).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from coordinatord.features.panes.judgement import STANDS, Gone, Unseen
from coordinatord.features.panes.records import Outcome
from coordinatord.terminals.port import SETTLED, Sighting

Until = Literal["settled", "needs-me", "gone", "answered"]


class Waited(msgspec.Struct, frozen=True, kw_only=True):
    """How a wait stands. ``over`` is False when the time of this call passed first: call again.

    ``state`` is what was seen: a status, ``gone``, ``unobservable``, or a question's state. ``gone`` ends
    every wait for a seat.
    """

    id: str
    until: Until
    over: bool
    state: str


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What a wait for a seat looks at. ``asks``: it has an open question, or an alert is open about it."""

    seen: Sighting | Gone | Unseen
    outcome: Outcome
    asks: bool = False


def of_seat(name: str, until: Until, scene: Scene) -> Waited:
    """Is the wait for this seat over?"""
    state = _state(scene)
    met = {
        "settled": state in SETTLED,
        "needs-me": state == "blocked" or (scene.asks and state != "unobservable"),
        "gone": False,
        "answered": False,
    }[until]
    return Waited(id=name, until=until, over=met or state == "gone", state=state)


def of_question(name: str, until: Until, state: str) -> Waited:
    """Is the wait for an answer over?"""
    return Waited(id=name, until=until, over=state != "open", state=state)


def _state(scene: Scene) -> str:
    match scene.seen:
        case Unseen():
            return "unobservable"
        case Gone():
            return "gone"
        case Sighting() as seen:
            if scene.outcome == "unobservable":
                return "unobservable"
            if scene.outcome not in STANDS or seen.agent is None:
                return "gone"
            return seen.status if seen.live else "unknown"
