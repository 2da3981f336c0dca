"""Which seat a pane gets when its agent says `init`: a pure decision (coordination.md §2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.panes.judgement import RECLAIMABLE, STANDS, judge
from coordinatord.features.panes.records import Outcome, Role, Seat
from coordinatord.ids import (
    COORDINATOR,
    PaneId,
    ProcessId,
    SeatId,
    TaskId,
    kind_of,
    peer_of,
    worker_of,
)
from coordinatord.terminals.port import Sighting

Asked = Literal["coordinator", "worker", "developer"]


class Owner(msgspec.Struct, frozen=True):
    """The coordinator as observed before the transaction: reclaiming needs it gone or replaced."""

    binding: int
    outcome: Outcome


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The pane that asks, as seen just now."""

    seen: Sighting
    shell: ProcessId | None

    @property
    def pane(self) -> PaneId:
        """Its address."""
        return self.seen.pane


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The seat that this pane has from now on; ``taken`` if it did not have it before."""

    seat: SeatId
    role: Role
    taken: bool
    outcome: Outcome = "same"
    task: TaskId | None = None


def grant(
    place: Place,
    seats: Iterable[Seat],
    *,
    role: Asked | None,
    task: str | None,
    reclaim: bool,
    owner: Owner | None,
) -> Grant:
    """Decide, in the order of the source.

    Raises:
        Refused: ``not-allowed``, ``seat-taken``, ``occupant-unproven``: nothing is to be written.
    """
    known = {seat.id: seat for seat in seats if not seat.vacant}
    if task is not None:
        if kind_of(task) != "task":
            raise Refused(
                "bad-id",
                f"{task!r:.80} is not a task id.",
                "A task id looks like t-1h6v5w0z: coordctl task list",
            )
        return _as_worker(place, _worker_of_task(place, known, task), role)
    worker = _worker_here(place, known.values())
    proven = _proven_here(place, known, worker, role)
    if proven is not None:
        return proven
    if worker is not None:
        return _as_worker(place, worker, role)
    if role == "worker":
        raise Refused(
            "not-allowed",
            f"No task has its worker in {place.pane}.",
            "The coordinator seats a worker: coordctl bind TASK --worker-pane PANE",
        )
    coordinator = known.get(COORDINATOR)
    if role == "developer":
        return _developer(place)
    if coordinator is None:
        return Grant(seat=COORDINATOR, role="coordinator", taken=True)
    if role is None:
        return _developer(place)
    return _reclaimed(coordinator, reclaim, owner)


def _proven_here(
    place: Place, known: dict[SeatId, Seat], worker: Seat | None, role: Asked | None
) -> Grant | None:
    """A seat whose occupant is proven comes before one that was here at another time."""
    if worker is not None and _stands(place, worker):
        return _as_worker(place, worker, role)
    if role == "worker":
        return None
    coordinator = known.get(COORDINATOR)
    if coordinator is not None and _stands(place, coordinator):
        return _as_coordinator(place, coordinator, role)
    reviewer = _reviewer_here(place, known.values())
    return None if reviewer is None else _as_reviewer(place, reviewer, role)


def _worker_of_task(place: Place, known: dict[SeatId, Seat], task: str) -> Seat:
    seat = known.get(worker_of(task))
    if seat is None or not _sits_here(seat, place):
        where = f"its worker sits in {seat.pane}" if seat and seat.pane else "it has no worker yet"
        raise Refused(
            "not-allowed",
            f"{place.pane} is not the worker's pane of {task}: {where}.",
            f"The coordinator seats a worker: coordctl bind {task} --worker-pane {place.pane}",
        )
    return seat


def _as_worker(place: Place, seat: Seat, role: Asked | None) -> Grant:
    if role not in (None, "worker"):
        raise Refused(
            "not-allowed",
            f"{place.pane} is the worker's pane of {seat.task}; it cannot be a {role}'s.",
            "Call init without a role.",
        )
    outcome = _outcome(place, seat)
    if outcome not in STANDS:
        raise _unproven(seat, outcome, f"coordctl bind {seat.task} --worker-pane {place.pane}")
    return Grant(seat=seat.id, role="worker", taken=False, outcome=outcome, task=seat.task)


def _reviewer_here(place: Place, seats: Iterable[Seat]) -> Seat | None:
    """The reviewer's seat of this pane, if its occupant is proven; else the pane is like any other."""
    here = [seat for seat in seats if seat.role == "reviewer" and _stands(place, seat)]
    return max(here, key=lambda seat: seat.seq, default=None)


def _as_reviewer(place: Place, seat: Seat, role: Asked | None) -> Grant:
    if role is not None:
        raise Refused(
            "not-allowed",
            f"{place.pane} is the reviewer's pane of {seat.task}; it cannot be a {role}'s.",
            "Call init without a role.",
        )
    outcome = _outcome(place, seat)
    return Grant(seat=seat.id, role="reviewer", taken=False, outcome=outcome, task=seat.task)


def _as_coordinator(place: Place, seat: Seat, role: Asked | None) -> Grant:
    if role == "developer":
        raise Refused(
            "not-allowed",
            "This pane coordinates; the seat is not given up implicitly.",
            "Another pane can take it once this agent is gone: coordctl init --reclaim",
        )
    outcome = _outcome(place, seat)
    return Grant(seat=COORDINATOR, role="coordinator", taken=False, outcome=outcome)


def _reclaimed(seat: Seat, reclaim: bool, owner: Owner | None) -> Grant:
    if not reclaim:
        raise Refused(
            "seat-taken",
            f"The coordinator sits in {seat.pane}.",
            "If that agent is gone or was replaced: coordctl init --role coordinator --reclaim",
        )
    if owner is None or owner.binding != seat.binding or owner.outcome not in RECLAIMABLE:
        state = owner.outcome if owner else "unobservable"
        raise Refused(
            "seat-taken",
            f"The coordinator in {seat.pane} is {state}: it can be replaced only when gone or replaced.",
            f"Close its pane first: coordctl pane close {seat.pane}",
        )
    return Grant(seat=COORDINATOR, role="coordinator", taken=True, outcome=owner.outcome)


def _developer(place: Place) -> Grant:
    return Grant(seat=peer_of(place.seen.terminal_id), role="developer", taken=True)


def _outcome(place: Place, seat: Seat) -> Outcome:
    return judge(seat.occupant, place.seen, place.shell)


def _stands(place: Place, seat: Seat) -> bool:
    return _sits_here(seat, place) and _outcome(place, seat) in STANDS


def _sits_here(seat: Seat, place: Place) -> bool:
    terminal = seat.occupant.terminal_id if seat.occupant else None
    return seat.pane == place.pane or terminal == place.seen.terminal_id


def _worker_here(place: Place, seats: Iterable[Seat]) -> Seat | None:
    """The worker's seat of this pane: one whose occupant is proven before one that only shares the
    address with an earlier pane, and the newest first."""
    here = [seat for seat in seats if seat.role == "worker" and _sits_here(seat, place)]
    return max(here, key=lambda seat: (_outcome(place, seat) in STANDS, seat.seq), default=None)


def _unproven(seat: Seat, outcome: Outcome, remedy: str) -> Refused:
    return Refused(
        "occupant-unproven",
        f"The occupant recorded for {seat.id} is {outcome}.",
        f"The coordinator looks at the pane and seats the worker again: {remedy}",
    )
