"""Who calls, and what that allows (interfaces.md, Seats and who may call)."""

from __future__ import annotations

import pytest

from coordinatord.errors import Refused
from coordinatord.features.panes import authority
from coordinatord.features.panes.judgement import Gone
from coordinatord.features.panes.proof import (
    UNSEEN,
    Evidence,
    Placed,
    caller_of,
    find_pane,
    place,
)
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.ids import OPERATOR, PaneId, ProcessId, worker_of
from coordinatord.wire.requests import Access
from tests.features.made import (
    OTHER_SHELL,
    SHELL,
    TASK,
    caller,
    occupant,
    peer,
    seat,
    sighting,
    worker,
)

ONE, TWO = sighting(), sighting("w1:p2", "term_2")
PANES = {ONE.pane: ONE, TWO.pane: TWO}
SHELLS = {SHELL: ONE.pane, OTHER_SHELL: TWO.pane}
TOOL = ProcessId("boot", 900, 9000)


def where(**evidence: object) -> Placed | None:
    return place(Evidence(**evidence), PANES, SHELLS)  # type: ignore[arg-type]


def who(
    placed: Placed | None,
    *seats: Seat,
    claimed: str | None = None,
    ancestry: tuple[ProcessId, ...] = (TOOL,),
) -> Caller:
    shells = {"term_1": SHELL, "term_2": OTHER_SHELL}
    evidence = Evidence(ancestry=ancestry, claimed_pane=PaneId(claimed) if claimed else None)
    return caller_of(placed, seats, shells.get, evidence)


def test_the_best_proof_counts() -> None:
    """A token before the ancestry, the ancestry before a claim."""
    everything = {
        "token_terminal": "term_2",
        "ancestry": (TOOL, SHELL),
        "claimed_pane": TWO.pane,
    }
    assert where(**everything) == Placed(TWO, "token")
    assert where(**everything | {"token_terminal": None}) == Placed(ONE, "ancestry")
    assert where(claimed_pane=TWO.pane, ancestry=(TOOL,)) == Placed(TWO, "claim")
    assert where(ancestry=(TOOL,)) is None


def test_a_token_of_a_terminal_that_is_gone_is_none() -> None:
    assert where(token_terminal="term_9") is None
    assert where(token_terminal="term_9", ancestry=(SHELL,)) == Placed(ONE, "ancestry")


def test_the_nearest_shell_counts() -> None:
    """A terminal host that runs in a pane of another one: the inner pane is where the caller is."""
    assert where(ancestry=(TOOL, OTHER_SHELL, SHELL)) == Placed(TWO, "ancestry")


@pytest.mark.parametrize(
    "process",
    [ProcessId("boot", SHELL.pid, 1), ProcessId("next", SHELL.pid, SHELL.start_ticks)],
    ids=["other start", "other boot"],
)
def test_an_equal_pid_is_no_ancestor(process: ProcessId) -> None:
    assert where(ancestry=(process,)) is None


def test_outside_every_pane_is_the_operator() -> None:
    assert who(None) == Caller(seat=OPERATOR, role="operator", proof="operator")


def test_a_claim_of_a_pane_that_is_not_there_is_nobody() -> None:
    """Neither a seat, nor a person outside every pane."""
    nobody = who(None, seat(pane="w1:p7"), claimed="w1:p7")
    assert (nobody.seat, nobody.proof, nobody.proven) == ("pane:w1:p7", "claim", False)


def test_who_could_not_be_looked_at_is_nobody() -> None:
    """It may have been in any pane: a process that has ended, or one of another pid namespace."""
    nobody = who(None, ancestry=())
    assert (nobody.seat, nobody.proof, nobody.doubt) == ("pane:unknown", "claim", UNSEEN)
    with pytest.raises(Refused, match="needs a proven seat") as refusal:
        authority.check(Access.SEATED, nobody)
    assert UNSEEN in str(refusal.value.hint)


def test_who_runs_under_a_recorded_shell_is_not_outside() -> None:
    """C-24: with the host out of sight its panes' processes are nobody, not the operator."""
    nobody = who(None, seat(at=occupant("term_0", shell=SHELL)), ancestry=(TOOL, SHELL))
    assert (nobody.seat, nobody.proof) == ("pane:unknown", "claim")
    assert "coordinator" in str(nobody.doubt)


def test_a_proven_pane_without_a_seat_is_a_developer() -> None:
    known = who(Placed(TWO, "ancestry"), seat())
    assert (known.seat, known.role, known.doubt) == ("peer:term_2", "developer", None)


def test_a_seat_needs_its_occupant() -> None:
    """C-21: the address alone gives the seat to nobody, and the refusal can say why."""
    recorded = seat(at=occupant("term_0", shell=OTHER_SHELL))
    known = who(Placed(ONE, "ancestry"), recorded)
    assert (known.seat, known.role) == ("peer:term_1", "developer")
    assert known.doubt is not None
    assert "replaced" in known.doubt


def test_a_seat_follows_its_terminal_and_a_hand_over() -> None:
    """C-22."""
    moved = seat(pane="w9:p9", at=occupant("term_1"))
    handed = seat(at=occupant("term_0"))
    for recorded in (moved, handed):
        assert who(Placed(ONE, "ancestry"), recorded).seat == "coordinator"


def test_role_seats_come_before_peers_and_the_newest_task_first() -> None:
    old, new = worker("t-00000009", seq=1), worker(seq=2)
    assert who(Placed(ONE, "ancestry"), peer(), old, new).seat == worker_of(TASK)
    assert who(Placed(ONE, "ancestry"), peer(), old, new, seat()).seat == "coordinator"


def test_where_an_occupant_is() -> None:
    """Its terminal wherever it moved; else its address, for the judgement to refuse."""
    assert find_pane(seat(pane="w9:p9"), PANES) == ONE
    assert find_pane(seat(at=occupant("term_0")), PANES) == ONE
    assert find_pane(seat(pane="w9:p9", at=occupant("term_0")), PANES) == Gone()
    assert find_pane(seat(pane=None, at=occupant("term_0")), PANES) == Gone()


CLAIM = caller(proof="claim", pane=PaneId("w1:p1"))
WORKER = caller(worker_of(TASK), role="worker")
COORDINATOR, PERSON = caller(), caller(OPERATOR, proof="operator")
PEER = caller("peer:term_2")


@pytest.mark.parametrize(
    ("access", "admitted"),
    [
        (Access.ANYONE, {"claim", "worker", "coordinator", "person", "peer"}),
        (Access.SEATED, {"worker", "coordinator", "person", "peer"}),
        (Access.COORDINATION, {"coordinator", "person"}),
        (Access.OPERATOR, {"person"}),
    ],
)
def test_who_may_call_at_all(access: Access, admitted: set[str]) -> None:
    callers = {
        "claim": CLAIM,
        "worker": WORKER,
        "coordinator": COORDINATOR,
        "person": PERSON,
        "peer": PEER,
    }
    for name, each in callers.items():
        if name in admitted:
            authority.check(access, each)
        else:
            with pytest.raises(Refused) as refusal:
                authority.check(access, each)
            wanted = "not-proven" if name == "claim" else "not-allowed"
            assert (refusal.value.reason, bool(refusal.value.hint)) == (wanted, True)


def test_a_claim_to_coordinate_is_no_coordinator() -> None:
    assert COORDINATOR.coordinates
    assert PERSON.coordinates
    assert not caller(proof="claim").coordinates


def test_finer_rules() -> None:
    """C-20: nobody judges his own work; a message is acknowledged by whom it was for."""
    authority.worker_only(WORKER, TASK, "ask")
    authority.not_own_work(COORDINATOR, TASK, "verify")
    for each in (PEER.seat, OPERATOR):
        authority.recipient_only(caller(each), PEER.seat, "ack")
    with pytest.raises(Refused, match="Only the worker"):
        authority.worker_only(PERSON, TASK, "report")
    with pytest.raises(Refused, match="may not verify"):
        authority.not_own_work(WORKER, TASK, "verify")
    with pytest.raises(Refused, match="Only peer:term_2"):
        authority.recipient_only(WORKER, PEER.seat, "ack")


def test_a_refusal_says_why_the_seat_does_not_stand() -> None:
    doubtful = caller("peer:term_1", doubt="the pane's recorded occupant is replaced")
    with pytest.raises(Refused) as refusal:
        authority.check(Access.COORDINATION, doubtful)
    assert refusal.value.hint == doubtful.doubt
