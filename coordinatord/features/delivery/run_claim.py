"""What one delivery has in hand: what was seen before the claim, and what is stored by it."""

from __future__ import annotations

import msgspec

from coordinatord.features.delivery.records import Attempt, Mark, Receipt
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.run_look import Judged
from coordinatord.kinds import AgentKind
from coordinatord.terminals.port import Sighting


class Written(msgspec.Struct, frozen=True):
    """What is to be typed: the text, and what its receipt says. ``letter`` is a body that goes by file."""

    text: str
    receipt: Receipt
    letter: str | None = None


class Claimed(msgspec.Struct, frozen=True):
    """An attempt that is stored, and what to type for it."""

    attempt: Attempt
    written: Written
    seat: Seat


class Ready(msgspec.Struct, frozen=True):
    """All that was seen and noted before the claim."""

    judged: Judged
    seen: Sighting
    kind: AgentKind
    mark: Mark | None
    forced: bool
    at: float
    """When the look was over (awake seconds)."""
