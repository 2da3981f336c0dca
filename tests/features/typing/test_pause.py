"""`coordctl pause` and `resume`."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from coordinatord.errors import Refused
from coordinatord.features.typing.requests import PauseTyping, ResumeTyping, SendToPane
from coordinatord.features.views.requests import ReadStatus
from tests.features.staff import ask, staffed, until_held
from tests.house import living


async def test_nothing_is_typed_while_typing_is_paused_also_after_a_restart(tmp_path: Path) -> None:
    """The pause is a hold with its own reason; resuming tells at once what waited, once."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        assert (await house.call(PauseTyping())).paused
        question = await ask(house, task, worker)
        await until_held(house, question, "paused")
        with pytest.raises(Refused) as refusal:
            await house.call(SendToPane(pane=boss, text="ls", enter=True))
        assert refusal.value.reason == "paused"
        host, clock = house.host, house.clock
    async with living(tmp_path, host, clock=clock) as house:
        await house.until(lambda: house.parts.sightings.connected)
        await house.rest()
        assert (await house.call(ReadStatus())).pause.by == "operator"
        await until_held(house, question, "paused")
        assert house.prompts(boss) == []
        before = len([each for each in host.calls if each.method in ("look", "read")])
        await house.rest()
        assert len([each for each in host.calls if each.method in ("look", "read")]) == before
        assert not (await house.call(ResumeTyping(), boss)).paused
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert len(house.prompts(boss)) == 1
        assert not (await house.call(ReadStatus())).pause.paused


async def test_what_waits_for_its_turn_is_not_typed_once_typing_is_paused(tmp_path: Path) -> None:
    """Pausing stops all typing at once: also what an operator said to type a moment before."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        typist = house.parts.typist
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:

                async def be_refused() -> None:
                    with pytest.raises(Refused) as refusal:
                        await typist.raw(boss, "ls", enter=True)
                    assert refusal.value.reason == "paused"

                async with typist.turn(boss):
                    group.start_soon(be_refused)
                    await anyio.wait_all_tasks_blocked()
                    typist.paused = True
        assert not [each for each in house.host.calls if each.method == "send"]


async def test_a_pause_that_stands_keeps_its_author_and_only_coordination_may_pause(
    tmp_path: Path,
) -> None:
    """Pausing twice changes nothing; a worker may not."""
    async with living(tmp_path) as house:
        boss, worker, _ = await staffed(house)
        first = await house.call(PauseTyping(), boss)
        assert await house.call(PauseTyping()) == first
        with pytest.raises(Refused) as refusal:
            await house.call(ResumeTyping(), worker)
        assert refusal.value.reason == "not-allowed"
