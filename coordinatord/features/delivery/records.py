"""Attempts: one try at telling one seat about some obligations, with its stage and evidence."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from coordinatord.features.obligations.records import Obligation
from coordinatord.features.panes.records import Outcome, Proof, Role
from coordinatord.ids import AttemptId, PaneId, SeatId, TaskId

Stage = Literal[
    "claimed", "typed", "submitted", "turn-started", "seen", "closed",
    "not-delivered", "uncertain", "withdrawn",
]  # fmt: skip

Hold = Literal[
    "busy", "blocked", "draft", "dialog", "no-composer", "launching", "unknown", "absent", "replaced",
    "unobservable", "not-agent", "host-unreachable", "pacing", "stalled", "uncertain", "coalesced",
    "disabled", "paused", "unbound", "shadow", "host-protocol",
]  # fmt: skip
"""Why a seat is not told now: the closed list of interfaces.md."""

Transport = Literal["inline", "hook", "agent-api", "prompt"]

REACHED: Final[frozenset[Stage]] = frozenset({"submitted", "turn-started", "seen", "closed"})
"""Stages that prove the text left the composer."""

OPEN: Final[frozenset[Stage]] = frozenset({"claimed", "typed"})
"""Stages of an attempt that is in hand: found after a crash, they are uncertain."""


_ORDER: Final[dict[Stage, int]] = {
    "claimed": 0, "typed": 1, "submitted": 2, "turn-started": 3, "seen": 4, "closed": 5,
}  # fmt: skip


def may_follow(before: Stage, after: Stage) -> bool:
    """May an attempt's trail go on like this? Proof is only ever added; an end gives way to proof."""
    if before in _ORDER and after in _ORDER:
        return _ORDER[after] > _ORDER[before]
    if before in REACHED or before == after:
        return False
    return after in _ORDER or before in OPEN or before == "uncertain"


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """One step of an attempt: when (wall seconds), and what showed it."""

    stage: Stage
    at: float
    evidence: str


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent's own transcript stood right before a text was typed.

    ``place`` is the session's file as a glob, ``everywhere`` that of any session of this kind;
    ``positions`` tells the end of each file in bytes (a database's newest time in ms); ``directories`` is
    where the pane's programs are. ``needle`` is the id that the text carries.
    """

    kind: str
    place: str
    everywhere: str
    session: str | None = None
    directories: tuple[str, ...] = ()
    at: float
    positions: dict[str, int] = {}
    needle: str = ""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What is typed for an attempt, without the text: see `Attempt`."""

    sha256: str | None = None
    removed: tuple[str, ...] = ()
    needle: str = ""
    mark: Mark | None = None
    file: str | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """``sha256`` is of exactly the bytes given to the host; ``removed`` names control characters that
    were taken out. ``settled_at`` is the wall time at which the recipient was first seen settled.

    ``needle`` is the id by which the text is known on a screen, ``mark`` where the agent's transcript
    stood before; ``file`` was named instead of a long text; ``stranded``: the text was seen in the
    composer, and Enter did not submit it."""

    id: AttemptId
    seq: int
    at: float
    seat: SeatId
    binding: int
    pane: PaneId | None
    transport: Transport
    obligations: tuple[str, ...]
    records: tuple[str, ...]
    sha256: str | None = None
    removed: tuple[str, ...] = ()
    settled_at: float | None = None
    needle: str = ""
    mark: Mark | None = None
    file: str | None = None
    stranded: bool = False
    trail: tuple[Reached, ...]

    @property
    def stage(self) -> Stage:
        """The last step reached."""
        return self.trail[-1].stage


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """How far telling one seat about one obligation has come. ``failures`` counts proven non-deliveries;
    ``at`` is the wall time of the last change."""

    obligation: str
    seat: SeatId
    binding: int
    attempt: AttemptId
    stage: Stage
    failures: int
    at: float


class HoldRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Why a seat is not being told, since when (wall seconds), and a bounded detail without prose."""

    seat: SeatId
    reason: Hold
    since: float
    detail: str | None = None


class OwedItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is owed, as a list shows it: ids and commands, and how far telling has come."""

    id: str
    kind: str
    to: SeatId
    seq: int
    since: float
    task: TaskId | None = None
    state: str = "pending"
    reading: str = ""
    settling: str = ""


class Initiated(msgspec.Struct, frozen=True, kw_only=True):
    """What `coordctl init` answers: the seat that this pane has now, and what it is owed."""

    id: SeatId
    role: Role
    proof: Proof
    outcome: Outcome
    task: TaskId | None = None
    pane: PaneId
    terminal_id: str
    claimed: bool
    """True if this call took the seat, False if it was held already."""
    owed: list[OwedItem] = []
    events: bool | None = None
    """Told to the first coordinator only: is delivery by events on?"""


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """What one explicit pass found: attempts begun and the seats that are held. ``deferred``: seats whose
    delivery was not over when the pass's time was."""

    attempts: list[AttemptId]
    held: list[HoldRecord]
    deferred: list[SeatId] = []


class Wanted(msgspec.Struct, frozen=True):
    """What shall be told to one seat now: ``named`` in this order, the rest only counted."""

    named: tuple[Obligation, ...]
    counted: int = 0
