"""Loops that fail are begun anew; a watchdog hears only of loops that go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from anyio.abc import TaskStatus

from coordinatord.clock import Pulse
from coordinatord.daemon.supervision import LONGEST_PAUSE_S, Supervisor
from coordinatord.errors import Refused
from coordinatord.features.delivery.requests import InitSeat, ReadDelivery
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ReadStatus
from tests.house import living


class StoppedClock:
    """Time passes only in `sleep`, at once; each pause is noted."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def wall(self) -> float:
        return self.now

    def awake(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


class Notes:
    """A log that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def error(self, event: str, **facts: Any) -> None:
        self.lines.append((event, facts))

    warning = error


class Patient(StoppedClock):
    """Whoever waits for a trial to be over waits for ever; pauses between lives pass at once."""

    trials: ClassVar[set[str]] = set()

    async def sleep(self, seconds: float) -> None:
        task = anyio.get_current_task().name or ""
        if "forgive" in task:
            await anyio.sleep_forever()
        await super().sleep(seconds)


async def test_a_failing_loop_is_begun_anew_with_growing_pauses() -> None:
    """C-35: logged whole once, named as degraded, and the next life begins after a longer pause."""
    clock, notes, failing = Patient(), Notes(), dict[str, str]()
    lives = 0

    async def loop(*, task_status: TaskStatus[None]) -> None:
        nonlocal lives
        lives += 1
        if lives <= 9:
            raise KeyError("w1:p1")
        task_status.started()

    supervisor = Supervisor(clock, notes, Pulse(), failing)
    with anyio.fail_after(5):
        await supervisor.keep("alerts", loop)
    assert clock.pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert [event for event, _ in notes.lines] == ["part-failed", *["part-failed-again"] * 8]
    assert [facts["kind"] for _, facts in notes.lines] == ["KeyError"] * 9
    assert failing == {}


async def test_a_loop_that_fails_before_it_started_holds_nobody_up() -> None:
    """Coordination §4.1: a failure to enable is degraded and fails nothing else."""
    failing: dict[str, str] = {}

    async def loop(*, task_status: TaskStatus[None]) -> None:
        raise OSError

    supervisor = Supervisor(Patient(), Notes(), Pulse(), failing)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(supervisor.keep, "alerts", loop)
            assert failing == {"alerts": "OSError"}
            group.cancel_scope.cancel()


async def test_a_store_that_takes_nothing_is_no_failure_of_the_loop() -> None:
    """It passes; the loop is not degraded, and what waits for its start goes on waiting."""
    failing: dict[str, str] = {}
    lives = 0

    async def loop(*, task_status: TaskStatus[None]) -> None:
        nonlocal lives
        lives += 1
        if lives == 1:
            raise Refused("store-busy", "held")
        assert failing == {}
        task_status.started()

    with anyio.fail_after(5):
        await Supervisor(Patient(), Notes(), Pulse(), failing).keep("pump", loop)
    assert lives == 2


async def test_cancelling_ends_a_loop() -> None:
    """The supervisor does not hold on to a loop that is to end."""
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def loop(*, task_status: TaskStatus[None]) -> None:
                task_status.started()
                await anyio.sleep_forever()

            await group.start(Supervisor(Patient(), Notes(), Pulse(), {}).keep, "pump", loop)
            group.cancel_scope.cancel()


async def test_a_failing_alert_watcher_keeps_nobody_from_being_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-35: questions are asked and told while it fails again and again; status says degraded."""
    async with living(tmp_path, run=False) as house:
        parts = house.parts
        supervisor = Supervisor(house.clock, Notes(), parts.pulse, parts.failing)

        async def fails(*, task_status: TaskStatus[None]) -> None:
            task_status.started()
            await anyio.lowlevel.checkpoint()
            raise ZeroDivisionError

        monkeypatch.setattr(parts.attendant, "run", fails)
        async with anyio.create_task_group() as group:
            for name in ("watches", "intake", "pump", "settler", "attendant"):
                await group.start(supervisor.keep, name, getattr(parts, name).run)
            boss, worker = house.host.add_agent(), house.host.add_agent(status="working")
            await house.until(lambda: worker in parts.sightings.panes)
            await house.call(InitSeat(), boss)
            task = await house.call(NewTask(title="one", worker_pane=worker), boss)
            question = await house.call(AskQuestion(task=task.id, text="?"), worker)
            await house.until(lambda: any(question.id in text for text in house.prompts(boss)))
            await house.until(lambda: parts.failing)
            assert (await house.call(ReadStatus())).degraded == {"attendant": "ZeroDivisionError"}
            assert (await house.call(ReadDelivery())).degraded == "attendant: ZeroDivisionError"
            group.cancel_scope.cancel()


async def test_a_pulse_needs_every_watched_loop() -> None:
    """G-11: a pump that hangs is found out although intake goes on, and the other way round."""
    pulse = Pulse(5.0)
    first = pulse.progress()
    pulse.beat("intake")
    pulse.beat("intake")
    assert pulse.progress() == first
    pulse.beat("pump")
    second = pulse.progress()
    assert second != first
    pulse.beat("pump")
    assert pulse.progress() == second


async def test_a_loop_that_waits_beats_meanwhile() -> None:
    """A quiet workspace is no hang: the longest silence is ``every_s``."""
    clock, pulse = StoppedClock(), Pulse(5.0)
    await pulse.sleep(clock, 12.0, "pump")
    assert clock.pauses == [5.0, 5.0, 2.0]
    without = StoppedClock()
    await Pulse().sleep(without, 3600.0, "pump")
    assert without.pauses == [3600.0]


async def test_the_real_loops_beat(tmp_path: Path) -> None:
    """Both loops of a living daemon feed the watchdog while nothing happens."""
    async with living(tmp_path) as house:
        house.parts.pulse.every_s = 5.0
        seen = house.parts.pulse.progress()
        await house.until(lambda: house.parts.pulse.progress() > seen + 2)
