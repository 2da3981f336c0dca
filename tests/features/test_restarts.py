"""Ends at every point of a delivery, and what the next daemon makes of them (§3.8, 3 and 4)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from coordinatord.features.delivery.records import Stage
from coordinatord.features.delivery.requests import InitSeat, NoticeSeat
from coordinatord.features.delivery.table import ATTEMPTS
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes.table import all_seats
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ReadInbox
from coordinatord.store.database import Transaction
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.port import AgentSession
from tests.features.staff import ask, next_idle, staffed, until_held, why
from tests.house import FastClock, House, living


async def test_a_crash_before_the_claim_costs_nothing(tmp_path: Path) -> None:
    """C-9, §3.8.3: saved, not yet tried; the next daemon tells it once."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await until_held(house, question, "busy")
    host.set_status(boss, "idle")
    async with living(tmp_path, host, clock=clock) as house:
        await house.until(lambda: house.prompts(boss))
        await house.rest()
    async with living(tmp_path, host, clock=clock) as house:
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == 1


async def leave_in_hand(house: House, stage: Stage) -> None:
    """Make the store look as a kill at this stage of the attempt leaves it."""

    def rewind(tx: Transaction) -> None:
        (attempt,) = ATTEMPTS.select(tx).items
        trail = attempt.trail[: [step.stage for step in attempt.trail].index(stage) + 1]
        ATTEMPTS.put(tx, msgspec.structs.replace(attempt, trail=trail))
        tx.run("UPDATE told SET stage = ?", stage)

    await house.database.write(rewind)


@pytest.mark.parametrize("stage", ["claimed", "typed"])
async def test_a_crash_after_the_claim_types_nothing_more(tmp_path: Path, stage: Stage) -> None:
    """C-9, §3.8.4: uncertain, no prompt, at no later moment; a notice on request repeats it."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        await leave_in_hand(house, stage)
    host.set_status(boss, "idle")
    async with living(tmp_path, host, clock=clock) as house:
        said = await why(house, question)
        assert (said.state, said.held) == ("uncertain", "uncertain")
        assert said.attempts[0].trail[-1].stage == "uncertain"
        await house.rest()
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == 1
        await house.call(NoticeSeat(seat="coordinator"))
        assert len(house.prompts(boss)) == 2
        assert [item.id for item in (await house.call(ReadInbox())).items] == [question]


async def test_an_attempt_that_can_not_be_read_is_not_in_hand_for_ever(tmp_path: Path) -> None:
    """C-9, C-48: what it named is uncertain all the same."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        await leave_in_hand(house, "claimed")
        await house.database.write(_spoil)
    async with living(tmp_path, host, clock=clock) as house:
        assert (await why(house, question)).state == "uncertain"
        second = await ask(house, task, worker, "And?")
        await next_idle(house, boss)
        assert second in house.prompts(boss)[-1]


def _spoil(tx: Transaction) -> None:
    tx.run("UPDATE attempts SET body = ?", b'{"id": 7')


async def test_an_orderly_end_leaves_nothing_uncertain(tmp_path: Path) -> None:
    """G-11: what is in hand gets its outcome first."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await house.parts.pump.stop()
        assert (await why(house, question)).state == "submitted"
    async with living(tmp_path, host, clock=clock) as house:
        assert (await why(house, question)).state == "submitted"


async def test_an_end_while_we_look_costs_nothing(tmp_path: Path) -> None:
    """C-9: no intent was stored yet, so the next daemon tells it once."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        host.fail("foreground", "hang")
        before = len(host.calls)
        question = await ask(house, task, worker)
        await house.until(lambda: any(each.method == "foreground" for each in host.calls[before:]))
    host.released.set()
    async with living(tmp_path, host, clock=clock) as house:
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert len(house.prompts(boss)) == 1
        assert question in house.prompts(boss)[0]


async def test_a_host_restart_types_nothing_into_what_only_looks_alive(tmp_path: Path) -> None:
    """C-23: a restored agent without a process is launching; once it runs, it is the same seat."""
    async with living(tmp_path) as house:
        boss = house.host.add_agent(session="one")
        worker = house.host.add_agent(session="two")
        await house.until(lambda: {boss, worker} <= house.parts.sightings.panes.keys())

        await house.call(InitSeat(), boss)
        task = (await house.call(NewTask(title="one", worker_pane=worker), boss)).id
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        house.host.stop()
        house.host.start()
        await house.call(AnswerQuestion(question=question, text="80"))
        await house.rest()
        assert house.prompts(worker) == []
        house.host.resume(worker)
        await house.until(lambda: house.prompts(worker))
        await house.rest()
        assert len(house.prompts(worker)) == 1


async def test_a_conversation_that_is_known_late_is_recorded_in_time(tmp_path: Path) -> None:
    """C-23, T-10: some agents report theirs with the first turn, and no event tells of it."""
    clock = FastClock()
    async with living(tmp_path, clock=clock) as house:
        boss, worker, task = await staffed(house)
        for pane in (boss, worker):
            house.host.agent(pane).session = AgentSession("herdr:codex", "codex", "id", pane)
        await clock.sleep(16)

        async def recorded() -> bool:
            seats = await house.database.read(all_seats)
            return all(seat.occupant and seat.occupant.session for seat in seats)

        await house.until(recorded)
        house.host.stop()
        house.host.start()
        for pane in (boss, worker):
            house.host.resume(pane)
        message = await house.call(SendMessage(to=f"worker:{task}", text="again"))
        await house.until(lambda: house.prompts(worker))
        assert message.id in house.prompts(worker)[-1]
