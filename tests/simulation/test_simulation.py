"""The pump, intake and store against random courses of events; each is reproducible from its seed."""

from __future__ import annotations

import pytest

from coordinatord.features.delivery import pacing
from coordinatord.features.delivery.records import Told
from coordinatord.features.typing import gate
from tests.simulation.observer import Violated
from tests.simulation.script import run

STEPS = 400
SEEDS = range(50)


def run_all(seeds: int) -> None:
    for seed in range(seeds):
        run(seed, 300)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_promise_is_broken(seed: int) -> None:
    """C-3, C-9, C-33, C-47: nothing typed twice or elsewhere, nothing lost, everything owed is told."""
    simulation = run(seed, STEPS)
    assert simulation.steps == STEPS


def test_a_seed_gives_the_same_course_twice() -> None:
    """A failure can be reproduced from its seed alone."""
    first, second = run(7, 200), run(7, 200)
    assert first.host.notices == second.host.notices
    assert first.accepted == second.accepted


def test_a_machine_that_repeats_what_is_uncertain_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The observer can fail: with the rule of uncertainty taken out some seed breaks a promise."""
    honest = pacing.classify

    def forgetful(told: Told | None) -> pacing.Class:
        state = honest(told)
        return "pending" if state == "uncertain" else state

    monkeypatch.setattr(pacing, "classify", forgetful)
    with pytest.raises((Violated, BaseExceptionGroup)) as found:
        run_all(60)
    assert "told twice" in str(_innermost(found.value))


def test_a_pump_that_types_without_a_look_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The observer can fail: with the second look taken out some seed types over a draft or dialog."""
    monkeypatch.setattr(gate, "composer_empty", lambda reading: None)
    with pytest.raises((Violated, BaseExceptionGroup)) as found:
        run_all(60)
    assert "draft or a dialog" in str(_innermost(found.value))


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
