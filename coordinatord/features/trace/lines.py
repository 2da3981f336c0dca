"""The lines of a trace, one JSON object each. The first is a `Header`; ``at`` is wall time in seconds.

A later version only adds fields and kinds of lines: what a reader does not know it skips.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from coordinatord.features.delivery.records import Stage, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.panes.records import Outcome
from coordinatord.features.typing.records import Obstacle
from coordinatord.ids import PaneId, ProcessId, SeatId
from coordinatord.terminals.port import Foreground, Occupant, Sighting

FORMAT: Final = 1


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="line"):
    at: float


class Header(_Line, frozen=True, kw_only=True, tag="begin"):
    """Who recorded. ``kinds`` tells the agent kinds it had, and a digest of the rules of each."""

    format: int = FORMAT
    version: str
    host: str | None = None
    protocol: int | None = None
    kinds: dict[str, str] = {}


class Where(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pane as it was seen: there, gone, or not to be seen at all."""

    seen: Literal["there", "gone", "unseen"]
    sighting: Sighting | None = None


class EventLine(_Line, frozen=True, kw_only=True, tag="event"):
    """The terminal host said something."""

    event: Literal["up", "down", "look-at", "look-around"]
    pane: PaneId | None = None


class CallLine(_Line, frozen=True, kw_only=True, tag="call"):
    """The host was asked something, and answered ``took_s`` later, or ``failed`` (the kind of error and, of a
    refusal, its code). ``panes`` are those that were seen to have changed; ``attempt`` is what a text was
    typed for, ``characters`` its length."""

    method: str
    took_s: float
    pane: PaneId | None = None
    failed: str | None = None
    panes: list[Sighting] = []
    attempt: str | None = None
    characters: int | None = None


class JudgementLine(_Line, frozen=True, kw_only=True, tag="judge"):
    """Is the occupant the recorded one?"""

    seat: SeatId
    recorded: Occupant | None = None
    where: Where
    shell: ProcessId | None = None
    outcome: Outcome


class LookLine(_Line, frozen=True, kw_only=True, tag="look"):
    """May a text be typed into this pane? ``verdict`` is why not, or ``clear``.

    ``reading`` says what the screen was taken for. ``unlike``: the masked screen would be taken for something
    else, so that a replay has to go by ``reading``.
    """

    where: Where
    outcome: Outcome
    foreground: Foreground | None = None
    screen: str | None = None
    reading: str | None = None
    unlike: bool = False
    verdict: Obstacle | Literal["clear"]


PLAIN: Final = ("bound", "replaced", "settled_since", "relook_at", "forced", "paused")
"""Fields of a recipient that are no text and stand in a line as they are."""


class Considered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`pacing.Recipient`, as a line can carry it."""

    seat: SeatId
    items: tuple[Obligation, ...]
    told: dict[str, Told] = {}
    where: Where
    bound: bool
    replaced: bool = False
    settled_since: float | None = None
    relook_at: float | None = None
    held: Obstacle | None = None
    forced: bool = False
    paused: bool = False
    behind: tuple[str, ...] = ()


class DecisionLine(_Line, frozen=True, kw_only=True, tag="decide"):
    """What to do about one seat: ``due`` and the debts to tell, ``held`` or ``resting`` and the reason.

    A decision that stays the same on the same grounds is written once.
    """

    recipient: Considered
    decision: Literal["due", "held", "resting"]
    reason: str | None = None
    items: tuple[str, ...] = ()
    until: float | None = None


class RecordLine(_Line, frozen=True, kw_only=True, tag="record"):
    """A record changed: the line that `coordctl watch` shows."""

    seq: int
    kind: str
    id: str
    task: str | None = None
    seat: str | None = None


class AttemptLine(_Line, frozen=True, kw_only=True, tag="attempt"):
    """How far an attempt has come."""

    id: str
    seat: SeatId
    binding: int
    pane: PaneId | None = None
    obligations: tuple[str, ...]
    stage: Stage
    stranded: bool = False


class GapLine(_Line, frozen=True, kw_only=True, tag="gap"):
    """Nothing was recorded for a while; what came before and after need not fit."""

    why: str


class EndLine(_Line, frozen=True, kw_only=True, tag="end"):
    """The recording ended here, and why."""

    why: str


Line: TypeAlias = (
    Header
    | EventLine
    | CallLine
    | JudgementLine
    | LookLine
    | DecisionLine
    | RecordLine
    | AttemptLine
    | GapLine
    | EndLine
)
