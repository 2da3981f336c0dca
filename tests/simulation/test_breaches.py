"""The observer can fail: each promise is broken on purpose, and some seed finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinatord.features.delivery import pacing, run_holds, table
from coordinatord.features.delivery.records import Told
from coordinatord.features.delivery.run_settle import Settler
from coordinatord.features.intake.run import Intake
from coordinatord.features.panes import run_look
from coordinatord.features.typing import gate
from coordinatord.features.typing.records import Held
from coordinatord.features.typing.run import Typist
from coordinatord.kinds import Busy
from coordinatord.store.changes import Changes
from coordinatord.terminals.port import Sighting
from tests.simulation.observer import Violated
from tests.simulation.script import run
from tests.simulation.world import InlineDatabase

STEPS = 300
SEEDS = 60


def found(patch: pytest.MonkeyPatch) -> str:
    """What the first seed that breaks a promise says."""
    for seed in range(SEEDS):
        try:
            run(seed, STEPS)
        except BaseExceptionGroup as errors:
            broken, rest = errors.split(Violated)
            assert rest is None, rest
            return str(_innermost(broken))
        except Violated as broken:
            return str(broken)
    return "nothing was found"


def _innermost(error: BaseException | None) -> BaseException | None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def repeat_what_is_uncertain(patch: pytest.MonkeyPatch) -> None:
    honest = pacing.classify

    def forgetful(told: Told | None) -> pacing.Class:
        state = honest(told)
        return "pending" if state == "uncertain" else state

    patch.setattr(pacing, "classify", forgetful)


def type_without_a_look_at_the_screen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate, "composer_empty", lambda reading: None)


def type_to_agents_that_work(patch: pytest.MonkeyPatch) -> None:
    honest = gate.composer_empty
    patch.setattr(
        gate, "composer_empty", lambda shown: None if isinstance(shown, Busy) else honest(shown)
    )
    patch.setattr(gate, "agent_settled", lambda seen: None if seen.agent else Held("not-agent"))


def take_everybody_for_the_recorded_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run_look, "judge", lambda recorded, seen, shell: "same")


def type_while_paused(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Typist, "paused", property(lambda self: False, lambda self, on: None), raising=False
    )


def answer_before_it_is_on_disk(patch: pytest.MonkeyPatch) -> None:
    committed = InlineDatabase._commit

    def sometimes(self: InlineDatabase) -> None:
        last = self._connection.execute("SELECT kind FROM journal ORDER BY seq DESC").fetchone()
        if last == ("message",) and self._source.random() < 0.05:
            self._connection.execute("ROLLBACK")
        else:
            committed(self)

    patch.setattr(InlineDatabase, "_commit", sometimes)


def trust_events(patch: pytest.MonkeyPatch) -> None:
    honest = Intake.__init__

    def without_backstop(self: Intake, *given: Any) -> None:
        honest(self, *given)
        self._backstop = lambda panes: 3600.0

    patch.setattr(Intake, "__init__", without_backstop)


def sleep_through_commits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Changes, "wake", lambda self: None)


def keep_reasons_to_oneself(patch: pytest.MonkeyPatch) -> None:
    async def remember(self: Any, *given: Any) -> bool:
        return False

    patch.setattr(run_holds.Holds, "remember", remember)


def never_let_go_of_a_reason(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(table, "release", lambda tx, seat: None)
    honest = pacing.decide

    def stubborn(recipient: pacing.Recipient, now: float) -> pacing.Decision:
        decided = honest(recipient, now)
        if isinstance(decided, pacing.Due) and isinstance(recipient.seen, Sighting):
            return pacing.Waiting(recipient.seat, Held("busy"))
        return decided

    patch.setattr(pacing, "decide", stubborn)


def forget_what_was_in_hand(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(table, "give_up_in_hand", lambda tx, sources: 0)
    patch.setattr(Settler, "_end", lambda self, tx, finished, dropped: None)


BREACHES: list[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (repeat_what_is_uncertain, "told twice"),
    (type_without_a_look_at_the_screen, "draft or a dialog"),
    (type_to_agents_that_work, "an agent that is working"),
    (take_everybody_for_the_recorded_one, "somebody else"),
    (type_while_paused, "typing was paused"),
    (answer_before_it_is_on_disk, "accepted and lost"),
    (trust_events, "held as"),
    (keep_reasons_to_oneself, "nothing holds it"),
    (never_let_go_of_a_reason, "held as busy"),
    (forget_what_was_in_hand, "without an outcome"),
]


@pytest.mark.parametrize(
    ("breach", "said"), BREACHES, ids=[breach.__name__ for breach, _ in BREACHES]
)
def test_a_breach_is_found(
    breach: Callable[[pytest.MonkeyPatch], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-3, C-9, C-33, C-47: a daemon with this fault does not pass the simulation."""
    breach(monkeypatch)
    assert said in found(monkeypatch)
