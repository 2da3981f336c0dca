"""The pump, intake and store against random courses of events; each is reproducible from its seed."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from coordinatord.features.trace.digests import digests
from coordinatord.features.trace.replaying import replay
from coordinatord.features.typing import gate
from tests.simulation.script import KINDS, run
from tests.simulation.traced import TraceFile

STEPS = 400
SEEDS = range(50)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_promise_is_broken(seed: int) -> None:
    """C-3, C-9, C-33, C-47: nothing typed twice or elsewhere, nothing lost, everything owed is told."""
    simulation = run(seed, STEPS)
    assert simulation.steps == STEPS


@pytest.mark.parametrize("seed", [7, 8])
def test_a_seed_gives_the_same_course_in_every_process(seed: int) -> None:
    """A failure can be reproduced from its seed alone, whatever order sets have there."""
    assert course_of(seed, "1") == course_of(seed, "2")


def course_of(seed: int, hash_seed: str) -> str:
    """All that the daemon asked of the host, in a process of its own."""
    program = f"from tests.simulation.script import run; print(run({seed}, 300).host.calls)"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


@pytest.mark.parametrize("seed", [3, 9])
def test_the_daemon_may_die_at_every_step(seed: int) -> None:
    """C-9, C-33: killed at any step towards disk or host, nothing is lost, doubled or left in the air."""
    steps, at = 12, 0
    while run(seed, steps, kill_at=at).lives == 2:
        at += 1
    assert at > 60


def test_a_failure_says_how_it_is_seen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command in the note runs the same course."""
    monkeypatch.setattr(gate, "composer_empty", lambda reading: None)
    with pytest.raises(BaseExceptionGroup) as found:
        run_until_something_breaks()
    assert "python -m tests.simulation --from " in found.value.__notes__[-1]


def run_until_something_breaks() -> None:
    for seed in range(60):
        run(seed, 300)


def test_a_course_can_be_written_as_a_trace_and_decided_again(tmp_path: Path) -> None:
    """With a trace the course is the same, and replaying it finds nothing else."""
    path = tmp_path / "trace.jsonl"
    with closing(TraceFile(path)) as trace:
        traced = run(11, 200, trace=trace)
    assert traced.host.notices == run(11, 200).host.notices
    with path.open("rb") as lines:
        found = replay(lines, KINDS, digests(KINDS))
    assert found.same, found
    assert found.decisions > 50
    assert found.unlike == 0
