"""The pump, intake and store against random courses of events; each is reproducible from its seed."""

from __future__ import annotations

import pytest

from tests.simulation.script import run

STEPS = 400
SEEDS = range(50)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_promise_is_broken(seed: int) -> None:
    """C-3, C-9, C-33, C-47: nothing typed twice or elsewhere, nothing lost, everything owed is told."""
    simulation = run(seed, STEPS)
    assert simulation.steps == STEPS


@pytest.mark.parametrize("seed", [7, 8])
def test_a_seed_gives_the_same_course_twice(seed: int) -> None:
    """A failure can be reproduced from its seed alone."""
    first, second = run(seed, 200), run(seed, 200)
    assert first.host.notices == second.host.notices
    assert first.actors.accepted == second.actors.accepted
