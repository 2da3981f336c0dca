"""What is told of the world: events, calls with their answers, records that changed."""

from __future__ import annotations

import msgspec

from coordinatord.ids import PaneId
from coordinatord.terminals.port import Sighting, TerminalEvent


class Heard(msgspec.Struct, frozen=True):
    """An event came."""

    event: TerminalEvent


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A record changed: a line of the journal."""

    seq: int
    at: float
    kind: str
    id: str
    task: str | None = None
    seat: str | None = None


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """A call has ended. ``text`` is what was to be typed; ``panes`` are those that an answer showed to have
    changed since they were told the last time."""

    method: str
    took_s: float
    pane: PaneId | None = None
    failed: str | None = None
    text: str | None = None
    panes: tuple[Sighting, ...] = ()
