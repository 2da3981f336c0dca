"""Facts as the pure decisions take them, with defaults for what a test does not mean."""

from __future__ import annotations

from typing import Any

from coordinatord.features.delivery.records import Stage, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.panes.records import Caller, Role, Seat
from coordinatord.ids import (
    COORDINATOR,
    AttemptId,
    PaneId,
    ProcessId,
    SeatId,
    TaskId,
    peer_of,
    worker_of,
)
from coordinatord.terminals.port import AgentSession, Occupant, Sighting

SHELL = ProcessId("boot", 100, 1000)
OTHER_SHELL = ProcessId("boot", 200, 2000)
TALK = AgentSession("herdr:codex", "codex", "id", "one")
OTHER_TALK = AgentSession("herdr:codex", "codex", "id", "two")
PANE = PaneId("w1:p1")
TASK = TaskId("t-00000001")


def sighting(pane: str = PANE, terminal: str = "term_1", **facts: Any) -> Sighting:
    """A settled codex, unless said otherwise."""
    usual: dict[str, Any] = {"agent": "codex", "status": "idle", "state_change_seq": 1}
    return Sighting(
        pane=PaneId(pane), terminal_id=terminal, workspace_id="w1", tab_id="w1:t1", **usual | facts
    )


def occupant(terminal: str = "term_1", **facts: Any) -> Occupant:
    """The one that `sighting` shows."""
    usual: dict[str, Any] = {"agent": "codex", "shell": SHELL}
    return Occupant(terminal_id=terminal, **usual | facts)


def seat(
    name: str = COORDINATOR,
    role: Role = "coordinator",
    *,
    pane: str | None = PANE,
    at: Occupant | None = None,
    task: str | None = None,
    seq: int = 1,
    binding: int = 1,
) -> Seat:
    """A seat whose occupant is `occupant` unless given."""
    return Seat(
        id=SeatId(name),
        seq=seq,
        at=0.0,
        role=role,
        task=None if task is None else TaskId(task),
        pane=None if pane is None else PaneId(pane),
        occupant=at or occupant(),
        binding=binding,
    )


def worker(task: str = TASK, **facts: Any) -> Seat:
    """The seat of a task's worker."""
    return seat(worker_of(task), "worker", task=task, **facts)


def peer(terminal: str = "term_1", **facts: Any) -> Seat:
    """The seat of a pane without a role."""
    return seat(peer_of(terminal), "developer", **facts)


def caller(name: str = COORDINATOR, **facts: Any) -> Caller:
    """A proven caller."""
    usual: dict[str, Any] = {"role": "developer", "proof": "ancestry"}
    return Caller(seat=SeatId(name), **usual | facts)


def owed(number: int, *, task: str | None = TASK, to: str = COORDINATOR) -> Obligation:
    """An open question."""
    name = f"q-{number:08d}"
    return Obligation(
        id=f"question:{name}",
        kind="question",
        record=name,
        to=SeatId(to),
        seq=number,
        since=0.0,
        task=None if task is None else TaskId(task),
    )


def told(item: Obligation, stage: Stage, *, failures: int = 0, at: float = 0.0) -> Told:
    """How far telling about it has come."""
    return Told(
        obligation=item.id,
        seat=item.to,
        binding=1,
        attempt=AttemptId("d-00000001"),
        stage=stage,
        failures=failures,
        at=at,
    )
