"""Alerts on a scripted host: raised after a calm look, told without their excerpt, and over by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coordinatord.features.attention.records import Attention
from coordinatord.features.attention.requests import ListAttention, SeeAttention
from coordinatord.features.attention.table import ATTENTION
from coordinatord.features.delivery.requests import (
    DisableDelivery,
    EnableDelivery,
    InitSeat,
    ReadDelivery,
)
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ExplainRecord, ReadInbox, ShowRecord
from coordinatord.ids import PaneId
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.fake_panes import FakeAgent
from tests.house import FastClock, House, living


async def staffed(house: House) -> tuple[PaneId, PaneId, str]:
    boss, worker = house.host.add_agent(), house.host.add_agent(status="working")
    await house.until(lambda: worker in house.parts.sightings.panes)
    await house.call(InitSeat(), boss)
    task = await house.call(NewTask(title="one", worker_pane=worker), boss)
    return boss, worker, task.id


async def alerts(house: House) -> list[Attention]:
    return (await house.database.read(ATTENTION.select)).items


async def standing(house: House) -> list[Any]:
    return (await house.call(ListAttention())).items


async def test_a_dialog_makes_one_alert_and_one_notice_without_its_text(tmp_path: Path) -> None:
    """C-28: bounded excerpt in the record, id and nothing else in the notice, no question, no second."""
    async with living(tmp_path, attend=True) as house:
        boss, worker, _ = await staffed(house)
        house.host.open_dialog(worker, "Allow rm -rf build? token=abc123def")
        await house.until(lambda: standing(house))
        house.host.set_status(worker, "working")
        house.host.agent(worker).dialog = "Allow rm -rf build? token=abc123def"
        house.host.set_status(worker, "blocked")
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        found = [each for each in await alerts(house) if each.kind == "blocked"]
        assert len([each for each in found if each.state.__struct_config__.tag == "open"]) == 1
        alert = found[0]
        assert alert.excerpt is not None
        assert "Allow" in alert.excerpt
        assert "abc123def" not in alert.excerpt
        assert alert.redacted == 1
        assert all("Allow" not in text for text in house.prompts(boss))
        assert any(alert.id in text for text in house.prompts(boss))


async def test_an_alert_closes_when_the_agent_is_seen_working(tmp_path: Path) -> None:
    """C-29: an old event does not close it; a fresh look that shows work does."""
    async with living(tmp_path, attend=True) as house:
        _, worker, _ = await staffed(house)
        house.host.open_dialog(worker, "Allow?")
        await house.until(lambda: standing(house))
        alert = (await standing(house))[0]
        house.host.announce(house_hint(worker))
        await house.rest()
        assert [each.id for each in await standing(house)] == [alert.id]
        house.host.close_dialog(worker)

        async def closed() -> bool:
            return not await standing(house)

        await house.until(closed)
        state = next(each for each in await alerts(house) if each.id == alert.id).state
        assert getattr(state, "why", None) == "resumed"


def house_hint(pane: PaneId) -> Any:
    from coordinatord.terminals.port import LookAt

    return LookAt(pane)


async def test_idle_with_nothing_owed_and_no_report_raises_an_alert(tmp_path: Path) -> None:
    """C-30: with something owed in either direction, none."""
    async with living(tmp_path, attend=True) as house:
        _, worker, task = await staffed(house)
        question = await house.call(AskQuestion(task=task, text="?"), worker)
        house.host.set_status(worker, "idle")
        await house.clock.sleep(5)
        await house.rest()
        assert [each.kind for each in await alerts(house)] == []
        assert question.id


async def test_a_worker_that_stands_idle_is_told_about_and_superseded_by_its_word(
    tmp_path: Path,
) -> None:
    """C-30, C-31: a question ends the alert; it can still be read."""
    async with living(tmp_path, attend=True) as house:
        _, worker, task = await staffed(house)
        house.host.set_status(worker, "idle")
        await house.until(lambda: standing(house))
        assert [each.kind for each in await standing(house)] == ["idle-without-report"]
        await house.call(AskQuestion(task=task, text="?"), worker)
        assert await standing(house) == []
        assert [each.kind for each in await alerts(house)] == ["idle-without-report"]


async def test_an_agent_that_ended_and_a_pane_that_closed_are_told(tmp_path: Path) -> None:
    """Coordination §4.4: ``exited`` and ``closed`` are always recorded, and end by being seen."""
    async with living(tmp_path, attend=True) as house:
        boss, worker, task = await staffed(house)
        await house.call(AskQuestion(task=task, text="?"), worker)
        house.host.agent_exits(worker)
        await house.until(lambda: standing(house))
        house.host.remove_pane(worker)

        async def both() -> bool:
            return {each.kind for each in await standing(house)} == {"exited", "closed"}

        await house.until(both)
        for alert in await standing(house):
            await house.call(SeeAttention(alert=alert.id), boss)
        assert await standing(house) == []


async def test_a_host_that_began_anew_left_the_worker_behind(tmp_path: Path) -> None:
    """Coordination §4.4: the pane is there and no agent in it: exited, not closed; nobody is quoted."""
    async with living(tmp_path, attend=True) as house:
        _, worker, _ = await staffed(house)
        house.host.stop()
        house.host.start()
        await house.until(lambda: standing(house))
        (alert,) = await standing(house)
        assert (alert.kind, alert.observed, alert.excerpt) == ("exited", "absent", None)
        house.host.panes[worker].agent = FakeAgent("codex", "blocked")
        house.host.open_dialog(worker, "Allow?")
        await house.clock.sleep(5)
        await house.rest()
        assert [each.kind for each in await standing(house)] == ["exited"]


async def test_an_alert_is_a_record_like_any_other(tmp_path: Path) -> None:
    """The inbox says what was seen and how to look, without the screen's text; show and why know its id."""
    async with living(tmp_path, attend=True) as house:
        boss, worker, _ = await staffed(house)
        house.host.agent_exits(worker)
        await house.until(lambda: standing(house))
        (alert,) = await standing(house)
        (item,) = (await house.call(ReadInbox(), boss)).items
        assert item.id == alert.id
        assert item.text == f"The worker's agent has exited. Look: {alert.reading}"
        assert (await house.call(ShowRecord(id=alert.id), boss))["id"] == alert.id
        assert (await house.call(ExplainRecord(id=alert.id), boss)).sentence


async def test_panes_that_nobody_recorded_change_no_record(tmp_path: Path) -> None:
    """C-32: they are counted as ignored."""
    async with living(tmp_path, attend=True) as house:
        await staffed(house)
        stranger = house.host.add_agent(status="working")
        await house.until(lambda: stranger in house.parts.sightings.panes)
        house.host.open_dialog(stranger, "Allow?")
        await house.clock.sleep(5)
        await house.rest()
        assert await alerts(house) == []
        assert (await house.call(ReadDelivery())).ignored >= 1


async def test_what_was_missed_while_nobody_looked_is_found_at_the_start(tmp_path: Path) -> None:
    """C-33: a restart reconciles; one alert for each worker that stands at a dialog."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock, attend=True) as house:
        _, worker, _ = await staffed(house)
    host.open_dialog(worker, "Allow?")
    async with living(tmp_path, host, clock=clock, attend=True) as house:
        await house.until(lambda: standing(house))
        assert [each.kind for each in await standing(house)] == ["blocked"]


async def test_switched_off_only_commands_tell(tmp_path: Path) -> None:
    """C-34: no push by an idle edge; a command tells its recipient; the preference is in the file."""
    async with living(tmp_path, attend=True) as house:
        boss, worker, task = await staffed(house)
        await house.call(DisableDelivery())
        assert "events = false" in (tmp_path / "config.toml").read_text()
        house.host.set_status(boss, "working")
        await house.call(AskQuestion(task=task, text="?"), worker)
        await house.rest()
        house.host.set_status(boss, "idle")
        await house.clock.sleep(20)
        await house.rest()
        assert house.prompts(boss) == []
        await house.call(SendMessage(to="coordinator", text="hello"))
        await house.until(lambda: house.prompts(boss))
        state = await house.call(EnableDelivery())
        assert state.events
        assert "events = true" in (tmp_path / "config.toml").read_text()
