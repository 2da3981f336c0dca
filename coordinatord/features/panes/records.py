"""Seats and callers: who can be addressed, and who is asking."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from coordinatord.ids import COORDINATOR, OPERATOR, PaneId, SeatId, TaskId
from coordinatord.terminals.port import AgentSession, Occupant, Sighting, Status

Role = Literal["coordinator", "worker", "reviewer", "developer", "operator"]

Proof = Literal["token", "ancestry", "claim", "operator"]
"""How the caller's seat is known, best first. ``claim`` may read and nothing else; ``operator`` means
that no shell of any pane is among the caller's ancestors and it claims no pane (interfaces.md, Seats)."""

Outcome = Literal[
    "same",
    "new-conversation",
    "handoff",
    "restored",
    "replaced",
    "absent",
    "unrecorded",
    "unobservable",
]
"""Is the occupant seen now the recorded one? Source: coordination.md §2.3."""


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """A durable addressee. ``binding`` grows with every new pane or reclaim: what was tried towards an
    earlier binding does not count for this one."""

    id: SeatId
    seq: int
    at: float
    role: Role
    task: TaskId | None = None
    pane: PaneId | None = None
    occupant: Occupant | None = None
    binding: int = 1
    host: str = ""
    """The machine that it was recorded on."""

    @property
    def vacant(self) -> bool:
        """Does nobody have it any more?"""
        return self.pane is None and self.occupant is None


class Present(NamedTuple):
    """Who is in a pane, as seen just now."""

    seen: Sighting
    occupant: Occupant


class Adoption(msgspec.Struct, frozen=True, kw_only=True):
    """What a judgement has shown and a seat's record does not say yet."""

    seat: SeatId
    binding: int
    """The seat's, when the caller was proven."""
    pane: PaneId
    occupant: Occupant


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, as far as it is known. ``seat`` is what a record names as its author."""

    seat: SeatId
    role: Role
    proof: Proof
    task: TaskId | None = None
    pane: PaneId | None = None
    terminal_id: str | None = None
    doubt: str | None = None
    """Why the seat of a proven pane does not stand (its occupant is not the recorded one)."""
    also: tuple[SeatId, ...] = ()
    """Other seats of the same occupant: it reviews, works on an archived task, or was addressed before it
    got a role."""
    adopts: tuple[Adoption, ...] = ()
    """Recorded with the next change that this caller makes."""

    @property
    def proven(self) -> bool:
        """May this caller act at all?"""
        return self.proof != "claim"

    @property
    def coordinates(self) -> bool:
        """Coordinator or operator, proven."""
        return self.proven and self.seat in (COORDINATOR, OPERATOR)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What `coordctl whoami` shows: the caller's seat and how it was proven."""

    id: SeatId
    role: Role
    proof: Proof
    task: TaskId | None = None
    pane: PaneId | None = None
    terminal_id: str | None = None
    doubt: str | None = None


class PaneRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One pane of the terminal host as `coordctl pane list` shows it."""

    id: PaneId
    pane_id: PaneId
    terminal_id: str
    label: str | None = None
    agent: str | None = None
    agent_status: Status = "unknown"
    agent_session: AgentSession | None = None
    focused: bool = False
    cwd: str | None = None
    workspace_id: str = ""
    seat: SeatId | None = None


class PaneReading(msgspec.Struct, frozen=True, kw_only=True):
    """Text read from a pane."""

    id: PaneId
    text: str
    truncated: bool
