"""Who may do what: the rules of architecture §6, each refusal naming the rule, the caller and the way out."""

from __future__ import annotations

from coordinatord.errors import Refused
from coordinatord.features.panes.records import Caller
from coordinatord.ids import COORDINATOR, OPERATOR, SeatId, TaskId, worker_of
from coordinatord.wire.requests import Access


def check(access: Access, caller: Caller) -> None:
    """Refuse a caller whom the method's `Access` does not admit.

    Raises:
        Refused: ``not-proven`` for a bare claim, ``not-allowed`` for the wrong seat.
    """
    if access is Access.ANYONE:
        return
    if not caller.proven:
        raise Refused(
            "not-proven",
            f"This needs a proven seat; you only claim to be {_claimed(caller)}.",
            f"It is not certain who you are: {caller.doubt}; see docs/security.md."
            if caller.doubt
            else "Call from a process of that pane, or pass its COORDINATORD_TOKEN.",
        )
    if access is Access.COORDINATION and not caller.coordinates:
        raise _wrong_seat("The coordinator or the operator does this", caller)
    if access is Access.OPERATOR and caller.seat != OPERATOR:
        raise _wrong_seat("Only a person outside every pane does this", caller)


def seats_of(caller: Caller) -> frozenset[SeatId]:
    """Every seat of the caller's occupant."""
    return frozenset((caller.seat, *caller.also))


def coordinates_task(caller: Caller, parent: SeatId, what: str) -> None:
    """Only the coordinator, the operator, or the seat that the task reports to may ``what``.

    Raises:
        Refused: ``not-allowed``.
    """
    if not caller.coordinates and parent not in seats_of(caller):
        who = "coordinator" if parent == COORDINATOR else f"coordinator or {parent}"
        raise _wrong_seat(f"Only the {who} may {what}", caller)


def worker_only(caller: Caller, task: TaskId, what: str) -> None:
    """Only the worker of ``task`` may ``what``.

    Raises:
        Refused: ``not-allowed``.
    """
    if worker_of(task) not in seats_of(caller):
        raise _wrong_seat(f"Only the worker of {task} may {what}", caller)


def not_own_work(caller: Caller, task: TaskId, what: str) -> None:
    """The worker of ``task`` may not ``what``: nobody judges his own work.

    Raises:
        Refused: ``not-allowed``.
    """
    if worker_of(task) in seats_of(caller):
        raise _wrong_seat(f"The worker of {task} may not {what}", caller)


def recipient_only(caller: Caller, recipient: SeatId, what: str) -> None:
    """Only the recipient, or the operator for it, may ``what``.

    Raises:
        Refused: ``not-allowed``.
    """
    if recipient not in seats_of(caller) and caller.seat != OPERATOR:
        raise _wrong_seat(f"Only {recipient} may {what}", caller)


def _claimed(caller: Caller) -> str:
    return f"in pane {caller.pane}" if caller.pane else "in some pane"


def coordinators_only(caller: Caller, what: str) -> None:
    """Only the coordinator or the operator may ``what``.

    Raises:
        Refused: ``not-allowed``.
    """
    if not caller.coordinates:
        raise _wrong_seat(f"Only the coordinator or the operator may {what}", caller)


def _wrong_seat(rule: str, caller: Caller) -> Refused:
    return Refused(
        "not-allowed",
        f"{rule}; you are {caller.seat}.",
        caller.doubt or "Call from the pane of the one who may. Who you are: coordctl whoami",
    )
