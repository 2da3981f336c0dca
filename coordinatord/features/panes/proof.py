"""From facts about a caller to its seat: a pure decision.

Source: interfaces.md, "Seats and who may call". This guards against accidents of agents, not against an
attacker of the same user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from coordinatord.features.panes.judgement import STANDS, Gone, judge, refreshed
from coordinatord.features.panes.records import Adoption, Caller, Outcome, Proof, Role, Seat
from coordinatord.ids import OPERATOR, PaneId, ProcessId, SeatId, peer_of
from coordinatord.terminals.port import Sighting

SHARED_SERVER: Final = (
    "this runs under an agent's shared background server, which works for several panes"
)
"""Why a caller there has no proof. The way out: ``daemon_auto_start = false`` in Codex's configuration."""

UNSEEN: Final = "the process had ended before it could be looked at, or runs in a container"
"""Why a caller without ancestors is not the operator: it may have been in any pane."""


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
    seats: Iterable[Seat],
    shell_of: Callable[[str], ProcessId | None],
    evidence: Evidence,
) -> Caller:
    """The caller's seat. A pane without a seat of its own is a developer's, addressed as a peer.

    ``shell_of`` gives the probed shell of a terminal: a hand-off gives the pane a new terminal.
    """
    if placed is None:
        return _outside(evidence, seats)
    seen, shell = placed.sighting, shell_of(placed.sighting.terminal_id)
    here = judged_in(seen, seats, shell)
    doubt = SHARED_SERVER if evidence.shared_server else None
    standing = [seat for seat, outcome in here if outcome in STANDS]
    if standing:
        return _seated(standing, placed, shell, doubt)
    fallen = (f"the recorded occupant of {seat.id} is {outcome}" for seat, outcome in here)
    doubt = doubt or next(fallen, None)
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


def _outside(evidence: Evidence, seats: Iterable[Seat]) -> Caller:
    """In no pane that the host has: the operator, or nobody where that is not certain."""
    claimed = evidence.claimed_pane
    doubt = _doubt_outside(evidence, seats)
    if claimed is None and doubt is None:
        return Caller(seat=OPERATOR, role="operator", proof="operator")
    # neither a seat nor a person outside every pane
    seat = SeatId(f"pane:{claimed or 'unknown'}")
    return Caller(seat=seat, role="developer", proof="claim", pane=claimed, doubt=doubt)


def _doubt_outside(evidence: Evidence, seats: Iterable[Seat]) -> str | None:
    """Why this may be an agent, although no pane of the host is above it."""
    if evidence.shared_server:
        return SHARED_SERVER
    if not evidence.ancestry:
        return UNSEEN
    shells = {seat.occupant.shell: seat.id for seat in seats if seat.occupant}
    above = next((shells[each] for each in evidence.ancestry if each in shells), None)
    return f"it runs under the shell of {above}, whose pane cannot be seen now" if above else None


def _seated(
    standing: list[Seat], placed: Placed, shell: ProcessId | None, doubt: str | None
) -> Caller:
    seat, seen = standing[0], placed.sighting
    return Caller(
        seat=seat.id,
        role=seat.role,
        proof=placed.proof,
        task=seat.task,
        pane=seen.pane,
        terminal_id=seen.terminal_id,
        doubt=doubt,
        also=tuple(other.id for other in standing[1:]),
        adopts=tuple(new for each in standing if (new := _adopted(each, seen, shell))),
    )


def _adopted(seat: Seat, seen: Sighting, shell: ProcessId | None) -> Adoption | None:
    known = seat.occupant and refreshed(seat.occupant, seen, shell)
    if known is None or (known == seat.occupant and seen.pane == seat.pane):
        return None
    return Adoption(seat=seat.id, binding=seat.binding, pane=seen.pane, occupant=known)


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
