"""The daemon is killed at random moments; what it accepted stays, and nothing is typed twice."""

from __future__ import annotations

import random
import threading

import pytest

from coordctl.demo.stage import Actor, NotAsTold, Stage
from coordctl.failures import Failure
from tests.stories import told

KILLS = 100
RUNS = 5
ENDED = {"submitted", "turn-started", "seen", "closed", "not-delivered", "uncertain", "withdrawn"}


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_kill_at_any_moment_loses_and_repeats_nothing(stage: Stage, seed: int) -> None:
    """C-9, C-47: accepted records stay, no debt is announced twice, unknown outcomes say uncertain."""
    chance = random.Random(seed)
    boss, worker = stage.enter("coordinator", "--init"), stage.enter("worker")
    task = stage.act("task.new", title="t", worker_pane=worker.pane)["id"]
    accepted: list[str] = []
    refused: list[str] = []
    over = threading.Event()

    def send() -> None:
        while not over.is_set():
            try:
                accepted.append(stage.act("message.send", to=worker.pane, text="m")["id"])
                accepted.append(stage.act("message.send", to=boss.pane, text="m")["id"])
            except Failure as failure:
                # nothing was acknowledged: not counted as accepted
                refused.append(failure.reason)
            over.wait(0.2)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        for number in range(KILLS // RUNS):
            worker.order("ask", task=task, key=f"k{number}", text="Which one?")
            over.wait(chance.uniform(0.0, 0.7))
            _kill(stage)
    finally:
        over.set()
        sender.join()
    stage.until(
        "every attempt has an outcome", lambda: set(stage.call("daemon.status")["stages"]) <= ENDED
    )
    assert set(refused) <= {"no-daemon", "uncertain", "queue-full", "host-unreachable", "stopping"}
    for name in accepted:
        assert stage.call("record.show", id=name)["id"] == name
    for actor in (boss, worker):
        assert told.repeated(actor) == {}, f"seed {seed}"
    _asked_are_stored(stage, worker)
    _told_as_recorded(stage, boss, worker)


def _kill(stage: Stage) -> None:
    try:
        stage.kill_daemon()
    except (Failure, NotAsTold, OSError) as error:
        raise AssertionError(f"the daemon did not come back: {error}") from error


def _asked_are_stored(stage: Stage, worker: Actor) -> None:
    """What the worker's own calls were told is stored: its failed calls are the only ones missing."""
    failed = [note for note in worker.notes("failed") if note["words"][:1] == ["ask"]]
    asked = [note for note in worker.notes("obeyed") if note["do"] == "ask"]
    stored = {line["id"] for line in stage.journal() if line["kind"] == "question"}
    assert len(stored) >= len(asked) - len(failed)


def _told_as_recorded(stage: Stage, *actors: Actor) -> None:
    """Every notice that an agent got belongs to an attempt, and that attempt does not deny it."""
    known = {attempt["id"]: attempt for attempt in told.attempts(stage)}
    for actor in actors:
        for note in actor.notes("submit"):
            match = told.ATTEMPT.match(note["text"])
            assert match is not None, note
            stage_reached = known[match[1]]["trail"][-1]["stage"]
            assert stage_reached != "not-delivered", (note, known[match[1]])
