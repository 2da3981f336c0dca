"""What typing answers: whether it may be done, and what became of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.panes.records import Outcome
from coordinatord.ids import SeatId
from coordinatord.kinds import Reading
from coordinatord.terminals.port import Foreground, Sighting

Obstacle = Literal[
    "busy", "blocked", "draft", "dialog", "no-composer", "launching", "unknown", "absent", "replaced",
    "unobservable", "not-agent", "host-unreachable", "unbound", "host-protocol", "paused", "shadow",
    "pacing",
]  # fmt: skip
"""Why text for an agent is not typed now: those hold reasons that do not come from the records."""


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """``since`` is wall time in seconds, ``by`` the seat that said so; None while nothing is paused."""

    paused: bool = False
    since: float | None = None
    by: SeatId | None = None


class Held(msgspec.Struct, frozen=True):
    """Not now. ``detail`` is bounded and carries no text of the pane."""

    reason: Obstacle
    detail: str | None = None


class Clear(msgspec.Struct, frozen=True):
    """The agent is settled, proven, and its composer is drawn and empty. ``pid`` is its process."""

    kind: str
    pid: int | None = None


class Looked(msgspec.Struct, frozen=True):
    """What the gate went by, for a trace; ``screen`` is the pane's text, None where it was not read."""

    seen: Sighting | Gone | Unseen
    outcome: Outcome
    foreground: Foreground | None
    reading: Reading | None
    screen: str | None
    verdict: Held | Clear


class Typed(msgspec.Struct, frozen=True):
    """The host took the text; Enter follows by itself."""


class NotTyped(msgspec.Struct, frozen=True):
    """Provably nothing was typed."""

    why: str


class MaybeTyped(msgspec.Struct, frozen=True):
    """The host was asked and did not answer: it may have been typed."""

    why: str


TypingOutcome: TypeAlias = Typed | NotTyped | MaybeTyped
