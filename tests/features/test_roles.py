"""Which seat `init` gives, in the order of coordination.md §2.2."""

from __future__ import annotations

import msgspec
import pytest

from coordinatord.errors import Refused
from coordinatord.features.panes.records import Outcome, Seat
from coordinatord.features.panes.roles import Asked, Grant, Owner, Place, grant
from coordinatord.ids import COORDINATOR, ProcessId, peer_of, reviewer_of
from coordinatord.terminals.port import Sighting
from tests.features.made import OTHER_SHELL, SHELL, TASK, occupant, seat, sighting, worker

HERE = sighting()
ELSEWHERE = seat(pane="w1:p9", at=occupant("term_9", shell=OTHER_SHELL))
REPLACED = seat(at=occupant("term_0", shell=OTHER_SHELL))
"""The coordinator sat at this address, in another terminal with another shell."""


def ask(
    *seats: Seat,
    role: Asked | None = None,
    task: str | None = None,
    reclaim: bool = False,
    owner: Owner | None = None,
    seen: Sighting = HERE,
    shell: ProcessId | None = SHELL,
) -> Grant:
    return grant(
        Place(seen=seen, shell=shell), seats, role=role, task=task, reclaim=reclaim, owner=owner
    )


def reason(*seats: Seat, **asked: object) -> str:
    with pytest.raises(Refused) as refusal:
        ask(*seats, **asked)  # type: ignore[arg-type]
    assert refusal.value.hint
    return refusal.value.reason


def test_the_first_pane_becomes_the_coordinator() -> None:
    for role in (None, "coordinator"):
        assert ask(role=role) == Grant(seat=COORDINATOR, role="coordinator", taken=True)


def test_the_coordinators_pane_stays_the_coordinators() -> None:
    assert ask(seat()) == Grant(seat=COORDINATOR, role="coordinator", taken=False)


def test_the_seat_is_not_given_up_by_asking_for_less() -> None:
    assert reason(seat(), role="developer") == "not-allowed"


def test_any_other_pane_is_a_developers() -> None:
    developer = Grant(seat=peer_of("term_1"), role="developer", taken=True)
    assert ask(ELSEWHERE) == developer
    assert ask(ELSEWHERE, role="developer") == developer
    assert ask(role="developer") == developer


def test_a_taken_seat_is_named_and_not_given() -> None:
    assert reason(ELSEWHERE, role="coordinator") == "seat-taken"


@pytest.mark.parametrize("outcome", ["absent", "replaced"])
def test_reclaiming_needs_the_owner_gone_or_replaced(outcome: Outcome) -> None:
    granted = ask(ELSEWHERE, role="coordinator", reclaim=True, owner=Owner(1, outcome))
    assert (granted.seat, granted.taken, granted.outcome) == (COORDINATOR, True, outcome)


@pytest.mark.parametrize(
    "outcome",
    ["same", "new-conversation", "handoff", "restored", "unrecorded", "unobservable"],
)
def test_reclaiming_is_refused_while_the_owner_may_be_there(outcome: Outcome) -> None:
    """C-24: also when nobody can tell."""
    asked = {"role": "coordinator", "reclaim": True, "owner": Owner(1, outcome)}
    assert reason(ELSEWHERE, **asked) == "seat-taken"


def test_reclaiming_is_refused_if_the_seat_changed_after_the_look() -> None:
    asked = {"role": "coordinator", "reclaim": True, "owner": Owner(0, "absent")}
    assert reason(ELSEWHERE, **asked) == "seat-taken"
    assert reason(ELSEWHERE, role="coordinator", reclaim=True, owner=None) == "seat-taken"


def test_an_address_that_came_back_is_a_developers_until_it_reclaims() -> None:
    """C-21."""
    assert ask(REPLACED).role == "developer"
    assert reason(REPLACED, role="coordinator") == "seat-taken"
    granted = ask(REPLACED, role="coordinator", reclaim=True, owner=Owner(1, "replaced"))
    assert (granted.role, granted.taken) == ("coordinator", True)


def test_a_hand_over_keeps_the_seat() -> None:
    """C-22: another terminal with the same shell."""
    granted = ask(seat(), seen=sighting(terminal="term_2"))
    assert (granted.seat, granted.taken, granted.outcome) == (COORDINATOR, False, "handoff")


def test_a_workers_pane_is_the_workers_whatever_else_is_free() -> None:
    granted = ask(worker(), seat(pane="w1:p9", at=occupant("term_9")))
    assert (granted.seat, granted.role, granted.task) == (f"worker:{TASK}", "worker", TASK)
    assert ask(worker()).role == "worker"  # although nobody coordinates yet
    assert ask(worker(), role="worker").role == "worker"
    assert ask(worker(), task=TASK).role == "worker"


@pytest.mark.parametrize("role", ["coordinator", "developer"])
def test_a_workers_pane_gets_no_other_role(role: Asked) -> None:
    assert reason(worker(), role=role) == "not-allowed"


def test_another_agent_in_a_workers_pane_gets_no_role() -> None:
    """C-25: neither the worker's nor the free coordinator's."""
    recorded = worker(at=occupant("term_0", shell=OTHER_SHELL))
    assert reason(recorded) == "occupant-unproven"
    assert reason(recorded, role="coordinator") == "not-allowed"
    assert reason(recorded, shell=None) == "occupant-unproven"


def test_a_coordinator_who_reviews_too_stays_the_coordinator() -> None:
    """As whoami says; the reviewer's seat is one more that the occupant has."""
    reviews = worker(seq=9)
    reviews = msgspec.structs.replace(reviews, id=reviewer_of(TASK), role="reviewer")
    assert ask(reviews, seat()).seat == COORDINATOR
    assert ask(reviews, seat(), role="coordinator").taken is False
    assert ask(reviews).role == "reviewer"


def test_who_is_proven_here_comes_before_who_was_here_at_another_time() -> None:
    """A pane id is handed out again: the old worker's address is the coordinator's now."""
    old = worker("t-00000009", at=occupant("term_0", shell=OTHER_SHELL), seq=9)
    assert ask(old, seat()) == Grant(seat=COORDINATOR, role="coordinator", taken=False)
    assert reason(old, seat(), role="worker") == "occupant-unproven"


def test_an_old_workers_address_does_not_hide_the_new_worker() -> None:
    """The address belonged to another task's worker once; who is proven here comes first."""
    old = worker("t-00000009", at=occupant("term_0", shell=OTHER_SHELL), seq=9)
    assert ask(old, worker(seq=2)).task == TASK
    assert ask(worker(seq=2), old).task == TASK


def test_of_two_tasks_of_one_pane_the_newest_counts() -> None:
    assert ask(worker("t-00000009", seq=1), worker(seq=2)).task == TASK
    assert ask(worker(seq=2), worker("t-00000009", seq=1)).task == TASK


def test_a_workers_role_is_not_for_the_asking() -> None:
    assert reason(role="worker") == "not-allowed"
    assert reason(task=TASK) == "not-allowed"
    assert reason(worker(pane="w1:p9", at=occupant("term_9")), task=TASK) == "not-allowed"
    assert reason(task="one") == "bad-id"
