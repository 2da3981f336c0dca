"""When somebody is told (coordination.md §3.3, §3.4)."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from coordinatord.features.delivery.pacing import (
    PAUSES_S,
    RELOOKS_S,
    Class,
    Due,
    Recipient,
    Resting,
    Waiting,
    by_seat,
    classify,
    decide,
    relook_pause,
    sendable,
)
from coordinatord.features.delivery.records import Stage, Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.typing.records import Held
from coordinatord.ids import COORDINATOR, AttemptId
from tests.features.made import TASK, owed, sighting, told

FIRST, SECOND = owed(1), owed(2)
NOW = 100.0


def recipient(*items: Obligation, tried: tuple[Told, ...] = (), **facts: Any) -> Recipient:
    """Settled, bound and seen, unless said otherwise."""
    usual: dict[str, Any] = {"seen": sighting(), "bound": True}
    return Recipient(
        seat=COORDINATOR,
        items=items,
        told={each.obligation: each for each in tried},
        **usual | facts,
    )


def test_another_occupant_is_said_to_be_one() -> None:
    """Coordination §2.3: where only a new shell is in the pane, too, the seat is replaced."""
    seen = msgspec.structs.replace(sighting(), agent=None, status="unknown")
    for one in (seen, sighting()):
        decision = decide(recipient(FIRST, seen=one, replaced=True), NOW)
        assert isinstance(decision, Waiting)
        assert decision.held.reason == "replaced"


CLASSES: dict[Stage, Class] = {
    "claimed": "in-hand",
    "typed": "typed",
    "submitted": "submitted",
    "turn-started": "submitted",
    "seen": "submitted",
    "closed": "submitted",
    "withdrawn": "submitted",
    "uncertain": "uncertain",
    "not-delivered": "not-delivered",
}


def test_every_stage_has_a_class() -> None:
    assert {stage: classify(told(FIRST, stage)) for stage in get_args(Stage)} == CLASSES
    assert classify(None) == "pending"


def test_three_failures_stall() -> None:
    """C-7."""
    states = [classify(told(FIRST, "not-delivered", failures=n)) for n in range(1, 6)]
    assert states == ["not-delivered", "not-delivered", "stalled", "stalled", "stalled"]


def test_what_was_never_told_is_due() -> None:
    assert decide(recipient(FIRST, SECOND), NOW) == Due(COORDINATOR, (FIRST, SECOND))


def test_what_was_told_rests() -> None:
    """C-3."""
    for stage in ("submitted", "turn-started", "seen", "closed", "withdrawn", "claimed"):
        decision = decide(recipient(FIRST, tried=(told(FIRST, stage),)), NOW)
        assert decision == Resting(COORDINATOR, "quiet")


def test_what_was_typed_and_not_submitted_stands_in_the_way() -> None:
    """G-3: our own text in the composer is a draft like any other."""
    decision = decide(recipient(FIRST, tried=(told(FIRST, "typed"),)), NOW)
    assert decision == Resting(COORDINATOR, "draft")


@pytest.mark.parametrize("failures", [1, 2])
def test_a_failure_is_tried_again_after_its_pause(failures: int) -> None:
    due_at = NOW + PAUSES_S[failures - 1]
    tried = (told(FIRST, "not-delivered", failures=failures, at=NOW),)
    assert decide(recipient(FIRST, tried=tried), due_at - 0.1) == Resting(
        COORDINATOR, "pacing", due_at
    )
    assert decide(recipient(FIRST, tried=tried), due_at) == Due(COORDINATOR, (FIRST,))


def test_only_a_real_settled_moment_revives_what_stalled() -> None:
    """C-7: neither a plain pass nor the moment at which it failed."""
    tried = (told(FIRST, "not-delivered", failures=3, at=NOW),)
    for since in (None, NOW - 1, NOW):
        stalled = recipient(FIRST, tried=tried, settled_since=since)
        assert decide(stalled, NOW + 10_000) == Resting(COORDINATOR, "stalled")
    revived = recipient(FIRST, tried=tried, settled_since=NOW + 1)
    assert decide(revived, NOW + 1) == Due(COORDINATOR, (FIRST,))


@pytest.mark.parametrize("failures", [1, 3])
def test_a_clock_set_back_makes_nobody_wait_until_it_has_caught_up(failures: int) -> None:
    """Coordination §3.4: the time of the failure lies ahead; tried again, it has one of this clock."""
    tried = (told(FIRST, "not-delivered", failures=failures, at=NOW + 3600),)
    assert decide(recipient(FIRST, tried=tried), NOW) == Due(COORDINATOR, (FIRST,))


def test_a_settled_moment_of_before_the_clock_was_set_back_revives_nothing() -> None:
    """C-7: else what stalled would be tried on and on until the clock has caught up."""
    tried = (told(FIRST, "not-delivered", failures=4, at=NOW),)
    stalled = recipient(FIRST, tried=tried, settled_since=NOW + 3600)
    assert decide(stalled, NOW + 1) == Resting(COORDINATOR, "stalled")


def test_uncertain_is_never_told_again_by_itself() -> None:
    """C-6."""
    tried = (told(FIRST, "uncertain", at=NOW),)
    for since in (None, NOW + 1, NOW + 10_000):
        asked = recipient(FIRST, tried=tried, settled_since=since)
        assert decide(asked, NOW + 20_000) == Resting(COORDINATOR, "uncertain")


def test_news_beside_an_uncertain_thing_goes_alone() -> None:
    """C-8."""
    tried = (told(FIRST, "uncertain"),)
    assert decide(recipient(FIRST, SECOND, tried=tried), NOW) == Due(COORDINATOR, (SECOND,))


@pytest.mark.parametrize(
    ("stage", "failures"),
    [("uncertain", 0), ("not-delivered", 1), ("not-delivered", 3), ("submitted", 0)],
)
def test_an_explicit_notice_repeats_everything(stage: Stage, failures: int) -> None:
    """C-6."""
    tried = (told(FIRST, stage, failures=failures, at=NOW),)
    forced = recipient(FIRST, tried=tried, forced=True)
    assert decide(forced, NOW) == Due(COORDINATOR, (FIRST,))


@pytest.mark.parametrize("stage", ["claimed", "typed"])
def test_not_even_a_notice_repeats_what_is_in_hand(stage: Stage) -> None:
    forced = recipient(FIRST, tried=(told(FIRST, stage),), forced=True)
    assert sendable(forced, NOW) == ()


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"bound": False}, "unbound"),
        ({"seen": Unseen()}, "host-unreachable"),
        ({"seen": Gone()}, "absent"),
        ({"seen": sighting(status="working")}, "busy"),
        ({"seen": sighting(status="blocked")}, "blocked"),
        ({"seen": sighting(status="unknown")}, "unknown"),
        ({"seen": sighting(agent=None)}, "not-agent"),
        ({"seen": sighting(live=False)}, "launching"),
        ({"seen": sighting(agent=None, launch_pending=True)}, "launching"),
    ],
)
def test_what_is_known_already_holds_without_a_call(facts: dict[str, Any], reason: str) -> None:
    """C-1: forced or not."""
    for forced in (False, True):
        decision = decide(recipient(FIRST, forced=forced, **facts), NOW)
        assert isinstance(decision, Waiting)
        assert decision.held.reason == reason


def test_nothing_owed_is_no_reason_to_wait() -> None:
    assert decide(recipient(bound=False), NOW) == Resting(COORDINATOR, "quiet")


def test_a_screen_that_held_is_looked_at_again_later_and_later() -> None:
    held = Held("draft")
    waiting = recipient(FIRST, held=held, relook_at=NOW + 1)
    assert decide(waiting, NOW) == Waiting(COORDINATOR, held, NOW + 1)
    assert decide(waiting, NOW + 1) == Due(COORDINATOR, (FIRST,))
    pauses = [relook_pause(looks) for looks in range(1, 9)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == RELOOKS_S[-1]


def test_groups_are_by_recipient_and_oldest_first() -> None:
    """C-4: several tasks' debts to one seat are one group."""
    other_task = owed(3, task="t-00000009")
    to_worker = owed(4, to="worker:t-00000001")
    groups = by_seat([to_worker, other_task, FIRST])
    assert groups == {COORDINATOR: (FIRST, other_task), "worker:t-00000001": (to_worker,)}


def test_told_of_one_thing_says_nothing_of_another() -> None:
    tried = told(FIRST, "uncertain")
    strange = msgspec.structs.replace(tried, obligation=SECOND.id, attempt=AttemptId("d-2"))
    assert sendable(recipient(FIRST, SECOND, tried=(strange,)), NOW) == (FIRST,)
    assert FIRST.task == TASK
