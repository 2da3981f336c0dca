"""Wake episodes: many routine arrivals are one interruption."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.features.delivery.requests import ConsumeWake, InitSeat, NoticeSeat, ShowWake
from coordinatord.features.messages.requests import AckMessage, SendMessage
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ExplainRecord, ReadInbox
from coordinatord.ids import PaneId
from tests.house import House, living


async def woken(house: House) -> tuple[PaneId, PaneId, str, str]:
    """A coordinator that was woken for one message and stands idle; its worker works, so no alert comes."""
    boss, worker = house.host.add_agent(), house.host.add_agent(status="working")
    await house.until(lambda: worker in house.parts.sightings.panes)
    await house.call(InitSeat(), boss)
    task = await house.call(NewTask(title="one", worker_pane=worker), boss)
    first = await house.call(SendMessage(to="coordinator", text="m"))
    await house.until(lambda: house.prompts(boss))
    await house.rest()
    house.host.set_status(boss, "idle")
    return boss, worker, task.id, first.id


async def test_routine_arrivals_wait_and_a_decision_passes_once(tmp_path: Path) -> None:
    """C-36: eleven messages, no prompt; a question, one prompt that names only it; no second one."""
    async with living(tmp_path) as house:
        boss, worker, task, _ = await woken(house)
        late = [await house.call(SendMessage(to="coordinator", text="m")) for _ in range(11)]
        await house.clock.sleep(3)
        await house.rest()
        assert len(house.prompts(boss)) == 1
        assert (await house.call(ExplainRecord(id=late[0].id))).held == "coalesced"
        question = await house.call(AskQuestion(task=task, text="?"), worker)
        await house.until(lambda: len(house.prompts(boss)) == 2)
        await house.rest()
        house.host.set_status(boss, "idle")
        await house.clock.sleep(3)
        await house.rest()
        assert len(house.prompts(boss)) == 2
        told = house.prompts(boss)[1]
        assert question.id in told
        assert not any(each.id in told for each in late)


async def test_a_receipt_lets_what_waited_be_told_and_can_be_given_twice(tmp_path: Path) -> None:
    """C-37: the next notice names only what came after; a repeated receipt changes nothing."""
    async with living(tmp_path) as house:
        boss, _, _, first = await woken(house)
        late = await house.call(SendMessage(to="coordinator", text="m"))
        shown = await house.call(ShowWake(), boss)
        assert (await house.call(ReadInbox(), boss)).receipt == shown.boundary
        assert (shown.included, shown.waiting) == ((f"message:{first}",), 1)
        episode = await house.call(ConsumeWake(boundary=shown.boundary), boss)
        assert episode.state.__struct_config__.tag == "consumed"
        await house.until(lambda: len(house.prompts(boss)) == 2)
        await house.rest()
        told = house.prompts(boss)[1]
        assert late.id in told
        assert first not in told
        again = await house.call(ConsumeWake(boundary=shown.boundary), boss)
        assert again == episode
        assert (await house.call(ShowWake(), boss)).generation == 2


async def test_a_receipt_that_fits_nothing_is_refused(tmp_path: Path) -> None:
    """C-37: tampered, of an older generation, or by another seat: refused, nothing changes."""
    async with living(tmp_path) as house:
        boss, worker, _, first = await woken(house)
        old = await house.call(ShowWake(), boss)
        for receipt in (old.boundary[:-1] + "!", "e-00000000.0000000000000000", "nonsense"):
            with pytest.raises(Refused):
                await house.call(ConsumeWake(boundary=receipt), boss)
        with pytest.raises(Refused) as refusal:
            await house.call(ConsumeWake(boundary=old.boundary), worker)
        assert refusal.value.reason == "not-allowed"
        await house.call(NoticeSeat(seat="coordinator"))
        with pytest.raises(Refused) as refusal:
            await house.call(ConsumeWake(boundary=old.boundary), boss)
        assert refusal.value.reason == "wrong-state"
        assert first


async def test_what_is_dealt_with_needs_no_receipt(tmp_path: Path) -> None:
    """When all that was named is dealt with, what waited behind it is told."""
    async with living(tmp_path) as house:
        boss, _, _, first = await woken(house)
        late = await house.call(SendMessage(to="coordinator", text="m"))
        await house.rest()
        assert len(house.prompts(boss)) == 1
        await house.call(AckMessage(message=first), boss)
        await house.until(lambda: len(house.prompts(boss)) == 2)
        assert late.id in house.prompts(boss)[1]
