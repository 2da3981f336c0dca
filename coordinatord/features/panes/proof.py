"""From facts about a caller to its seat: a pure decision.

Source: interfaces.md, "Seats and who may call". This guards against accidents of agents, not against an
attacker of the same user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from coordinatord.features.panes.judgement import STANDS, Gone, judge, refreshed
from coordinatord.features.panes.records import Caller, Outcome, Proof, Role, Seat
from coordinatord.ids import OPERATOR, PaneId, ProcessId, SeatId, peer_of
from coordinatord.terminals.port import Sighting

SHARED_SERVER: Final = (
    "this runs under an agent's shared background server, which works for several panes"
)
"""Why a caller there has no proof. The way out: ``daemon_auto_start = false`` in Codex's configuration."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the process that calls."""

    ancestry: tuple[ProcessId, ...] = ()
    claimed_pane: PaneId | None = None
    """From ``hello`` or the peer's environment; None if it names another host's socket."""
    token_terminal: str | None = None
    """The terminal for which the presented launch token was made; None for no or an unknown token."""
    shared_server: bool = False
    """The caller runs under an agent's background server that works for several panes at once: neither
    its ancestors nor its environment say for which one (agents.md §4.3)."""


class Placed(msgspec.Struct, frozen=True):
    """The pane the caller is in, and how that is known."""

    sighting: Sighting
    proof: Proof


def place(
    evidence: Evidence,
    panes: Mapping[PaneId, Sighting],
    shells: Mapping[ProcessId, PaneId],
) -> Placed | None:
    """Where the caller sits, best proof first; None: in no pane of this host."""
    found = _best(evidence, panes, shells)
    if found is not None and evidence.shared_server:
        return Placed(found.sighting, "claim")
    return found


def _best(
    evidence: Evidence,
    panes: Mapping[PaneId, Sighting],
    shells: Mapping[ProcessId, PaneId],
) -> Placed | None:
    by_token = _with_terminal(panes.values(), evidence.token_terminal)
    if by_token is not None:
        return Placed(by_token, "token")
    for process in evidence.ancestry:
        pane = shells.get(process)
        if pane is not None and pane in panes:
            return Placed(panes[pane], "ancestry")
    claimed = panes.get(evidence.claimed_pane) if evidence.claimed_pane else None
    return None if claimed is None else Placed(claimed, "claim")


def caller_of(
    placed: Placed | None,
    claimed: PaneId | None,
    seats: Iterable[Seat],
    shell_of: Callable[[str], ProcessId | None],
    *,
    shared_server: bool = False,
) -> Caller:
    """The caller's seat. A pane without a seat of its own is a developer's, addressed as a peer.

    ``shell_of`` gives the probed shell of a terminal: a hand-off gives the pane a new terminal.
    """
    if placed is None:
        return _outside(claimed, shared_server)
    seen, shell = placed.sighting, shell_of(placed.sighting.terminal_id)
    here = judged_in(seen, seats, shell)
    standing = [(seat, outcome) for seat, outcome in here if outcome in STANDS]
    if standing:
        return _seated(standing, placed, shell, SHARED_SERVER if shared_server else None)
    doubt = next(
        (f"the recorded occupant of {seat.id} is {outcome}" for seat, outcome in here), None
    )
    if shared_server:
        doubt = SHARED_SERVER
    return Caller(
        seat=peer_of(seen.terminal_id),
        role="developer",
        proof=placed.proof,
        pane=seen.pane,
        terminal_id=seen.terminal_id,
        doubt=doubt,
    )


def judged_in(
    seen: Sighting, seats: Iterable[Seat], shell: ProcessId | None
) -> list[tuple[Seat, Outcome]]:
    """The seats that this pane may be, each with its judgement: the coordinator's, then those of tasks,
    then peers', the newest first."""
    return [
        (seat, judge(seat.occupant, seen, shell))
        for seat in sorted(seats, key=_importance)
        if _might_be(seat, seen)
    ]


def seat_of(seen: Sighting, seats: Iterable[Seat], shell: ProcessId | None) -> SeatId | None:
    """The seat whose recorded occupant is proven to be the one in this pane."""
    here = judged_in(seen, seats, shell)
    return next((seat.id for seat, outcome in here if outcome in STANDS), None)


def _outside(claimed: PaneId | None, shared_server: bool) -> Caller:
    if shared_server:
        # an agent for certain, and nobody knows whose: never the person outside every pane
        return Caller(
            seat=SeatId(f"pane:{claimed or 'unknown'}"),
            role="developer",
            proof="claim",
            pane=claimed,
            doubt=SHARED_SERVER,
        )
    if claimed is None:
        return Caller(seat=OPERATOR, role="operator", proof="operator")
    # a claimed pane that the host does not have: neither a seat nor a person outside every pane
    return Caller(seat=SeatId(f"pane:{claimed}"), role="developer", proof="claim", pane=claimed)


def _seated(
    standing: list[tuple[Seat, Outcome]],
    placed: Placed,
    shell: ProcessId | None,
    doubt: str | None,
) -> Caller:
    (seat, outcome), seen = standing[0], placed.sighting
    known = seat.occupant and refreshed(seat.occupant, seen, shell)
    return Caller(
        seat=seat.id,
        role=seat.role,
        proof=placed.proof,
        task=seat.task,
        pane=seen.pane,
        terminal_id=seen.terminal_id,
        doubt=doubt,
        also=tuple(other.id for other, _ in standing[1:]),
        outcome=outcome,
        binding=seat.binding,
        adopts=known if known != seat.occupant or seen.pane != seat.pane else None,
    )


def _might_be(seat: Seat, seen: Sighting) -> bool:
    return seat.pane == seen.pane or (
        seat.occupant is not None and seat.occupant.terminal_id == seen.terminal_id
    )


_ORDER: Final[Mapping[Role, int]] = {"coordinator": 0, "worker": 1, "reviewer": 2}


def _importance(seat: Seat) -> tuple[int, int]:
    return _ORDER.get(seat.role, len(_ORDER)), -seat.seq


def _with_terminal(panes: Iterable[Sighting], terminal_id: str | None) -> Sighting | None:
    if terminal_id is None:
        return None
    return next((seen for seen in panes if seen.terminal_id == terminal_id), None)


def find_pane(seat: Seat, panes: Mapping[PaneId, Sighting]) -> Sighting | Gone:
    """Where the seat's occupant is now: its terminal wherever it moved, else its recorded pane."""
    terminal = seat.occupant.terminal_id if seat.occupant else None
    recorded = panes.get(seat.pane) if seat.pane else None
    if recorded is not None and recorded.terminal_id == terminal:
        return recorded
    moved = _with_terminal(panes.values(), terminal)
    if moved is not None:
        return moved
    return panes.get(seat.pane, Gone()) if seat.pane else Gone()
