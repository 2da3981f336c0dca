"""Shadow mode on a scripted host: nothing is typed, everything is recorded, and judged a little later."""

from __future__ import annotations

from pathlib import Path

from coordinatord.features.delivery.requests import (
    EnterShadow,
    LeaveShadow,
    NoticeSeat,
    ReadShadow,
)
from coordinatord.features.delivery.shadow import Report
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.views.requests import ExplainRecord, ReadStatus
from coordinatord.ids import PaneId
from coordinatord.terminals.fake_host import FakeHost
from tests.house import FastClock, House, living


async def peer(house: House) -> PaneId:
    """An idle agent without a role, in shadow mode."""
    pane = house.host.add_agent()
    await house.until(lambda: pane in house.parts.sightings.panes)
    await house.call(EnterShadow())
    return pane


async def judged(house: House, count: int = 1) -> Report:
    """The report, once ``count`` shadows have had their later look."""

    async def over() -> bool:
        found = await house.call(ReadShadow())
        return len([each for each in found.items if each.over]) >= count

    await house.until(over)
    return await house.call(ReadShadow())


async def test_what_would_be_typed_is_recorded_and_held(tmp_path: Path) -> None:
    """Nothing reaches the pane; who would be told what stands in the report; `why` names the reason."""
    async with living(tmp_path) as house:
        worker = await peer(house)
        sent = await house.call(SendMessage(to=worker, text="mind the gap"))
        found = await judged(house)
        assert house.host.typed == []
        (each,) = found.items
        assert (found.right, found.wrong) == (1, 0)
        assert each.pane == worker
        assert each.records == (sent.id,)
        assert each.text is not None
        assert sent.id in each.text
        assert "mind the gap" not in each.text

        async def held() -> bool:
            return (await house.call(ExplainRecord(id=sent.id))).held == "shadow"

        await house.until(held)
        why = await house.call(ExplainRecord(id=sent.id))
        assert "shadow mode" in why.sentence
        status = await house.call(ReadStatus())
        assert status.shadow
        assert status.held["shadow"] == 1


async def test_a_text_of_ones_own_is_recorded_without_its_words(tmp_path: Path) -> None:
    """Text for a pane is data: only its length and its hash are kept a second time."""
    async with living(tmp_path) as house:
        worker = await peer(house)
        await house.call(SendMessage(to=worker, text="rm it all", inline=True))
        (each,) = (await judged(house)).items
        assert each.text is None
        assert each.characters > len("rm it all")
        assert each.sha256 is not None


async def test_the_later_look_says_why_it_would_have_been_wrong(tmp_path: Path) -> None:
    """A dialog that opens right after the moment would have been answered by the text's Enter."""
    async with living(tmp_path) as house:
        worker = await peer(house)
        await house.call(SendMessage(to=worker, text="hello"))

        async def noted() -> bool:
            return bool((await house.call(ReadShadow())).items)

        await house.until(noted)
        house.host.open_dialog(worker, "Allow rm?")
        found = await judged(house)
        assert found.wrong == 1
        assert set(found.why) <= {"dialog", "blocked"}


async def test_the_same_thing_is_foreseen_once(tmp_path: Path) -> None:
    """Later looks and a forced notice type nothing; what is new is foreseen by itself."""
    async with living(tmp_path) as house:
        worker = await peer(house)
        first = await house.call(SendMessage(to=worker, text="one"))
        await judged(house)
        house.host.set_status(worker, "working")
        house.host.set_status(worker, "idle")
        await house.clock.sleep(40)
        await house.rest()
        second = await house.call(SendMessage(to=worker, text="two"))
        found = await judged(house, 2)
        assert [each.records for each in found.items] == [(second.id,), (first.id,)]
        seat = found.items[0].seat
        passed = await house.call(NoticeSeat(seat=seat))
        assert [each.reason for each in passed.held] == ["shadow"]
        assert house.host.typed == []


async def test_it_survives_a_restart_and_ends_with_everything_told(tmp_path: Path) -> None:
    """The mode is in the store; switched off, what is owed is typed once."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        worker = await peer(house)
    async with living(tmp_path, host, clock=clock) as house:
        sent = await house.call(SendMessage(to=worker, text="hello"))
        await judged(house)
        assert house.prompts(worker) == []
        await house.call(LeaveShadow())
        await house.until(lambda: house.prompts(worker))
        await house.rest()
        assert [sent.id in text for text in house.prompts(worker)] == [True]
        assert not (await house.call(ReadStatus())).shadow


async def test_a_look_that_the_daemon_did_not_live_to_take_is_unsure(tmp_path: Path) -> None:
    """Nothing is claimed about a pane that nobody looked at."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        worker = await peer(house)
        await house.call(SendMessage(to=worker, text="hello"))

        async def noted() -> bool:
            return (await house.call(ReadShadow())).watching == 1

        await house.until(noted)
    async with living(tmp_path, host, clock=clock) as house:
        found = await judged(house)
        assert (found.unsure, found.watching) == (1, 0)
