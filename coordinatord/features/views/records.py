"""The shapes that reading commands answer."""

from __future__ import annotations

from typing import Any

import msgspec

from coordinatord.features.delivery.records import Attempt, HoldRecord, Stage
from coordinatord.features.typing.records import Pause
from coordinatord.ids import AttemptId, SeatId, TaskId
from coordinatord.terminals.port import Sighting


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing owed to the seat, with the text to read. ``state`` is how far telling has come."""

    id: str
    kind: str
    seq: int
    since: float
    task: TaskId | None = None
    by: SeatId | None = None
    text: str | None = None
    state: str = "pending"
    settling: str = ""


class Inbox(msgspec.Struct, frozen=True, kw_only=True):
    """What a seat owes others, oldest first."""

    seat: SeatId
    items: list[InboxItem]
    incomplete: bool = False
    unreadable: list[str] = []
    """Records that could not be read: something may be owed on them too."""
    receipt: str | None = None
    """The coordinator's receipt for what it was last woken for, while other routine debts wait behind
    that: ``coordctl wake consume RECEIPT`` lets them be told."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the sentence rests on: the hold, and the recipient's pane as it was seen last (wall seconds
    since when it is settled)."""

    hold: HoldRecord | None = None
    seen: Sighting | None = None
    settled_since: float | None = None


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Where a record stands, in one sentence, and the facts behind it.

    ``state`` is a word of the closed lists in interfaces.md: a delivery stage, a hold reason, or the
    record's own state where nothing is owed.
    """

    id: str
    sentence: str
    state: str
    held: str | None = None
    since: float | None = None
    attempts: list[Attempt] = []
    evidence: Evidence | None = None


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """The terminal host, as `coordctl status` shows it."""

    kind: str | None
    socket: str | None
    protocol: int | None
    connected: bool
    version: str | None = None
    events_seen: int = 0
    gaps_found: int = 0
    last_snapshot: float | None = None
    trouble: str | None = None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon's state. ``oldest_debt_s`` is the age in seconds of the oldest thing owed."""

    pid: int
    version: str
    workspace: str
    socket: str
    terminal: Connection
    held: dict[str, int]
    pause: Pause = Pause()
    events: bool = True
    """Is delivery by events on?"""
    oldest_undelivered_s: float | None = None
    oldest_decision_s: float | None = None
    degraded: dict[str, str] = {}
    """Background loops that failed lately and were begun anew, with the kind of error."""
    shadow: bool = False
    """Nothing is typed: what would be is recorded (shadow mode)."""
    stages: dict[Stage, int] = {}
    stranded: list[AttemptId] = []
    """Attempts whose text stands unsubmitted in a composer: a person has to see to them."""
    owed: int = 0
    oldest_debt_s: float | None = None
    seq: int = 0
    started_at: float = 0.0
    incomplete: bool = False


class Watching(msgspec.Struct, frozen=True, kw_only=True):
    """A watch stands: lines follow as ``watch.line`` notifications, beginning after ``since``."""

    since: int
    seq: int


AnyRecord = dict[str, Any]
"""One record of whatever kind, ``id`` at its top level."""
