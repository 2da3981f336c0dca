"""What stays undelivered is shown with its age, and alerts a person once a stall."""

from __future__ import annotations

from pathlib import Path

from coordinatord.daemon.settings import Alerts, Settings
from coordinatord.features.delivery import ageing
from coordinatord.features.delivery.ageing import Stall
from coordinatord.features.delivery.requests import InitSeat, ReadDelivery
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ReadStatus
from coordinatord.ids import PaneId
from tests.house import FastClock, House, living

ALERTING = Settings(backstop_s=15, alerts=Alerts(after_s=60))


class SleepyClock(FastClock):
    """The machine can sleep: the wall clock goes on, awake time does not."""

    def __init__(self) -> None:
        super().__init__(100.0)
        self.slept = 0.0

    def wall(self) -> float:
        return super().wall() + self.slept


async def busy_peer(house: House) -> PaneId:
    """An agent without a role that works and is not told."""
    pane = house.host.add_agent(status="working")
    await house.until(lambda: pane in house.parts.sightings.panes)
    return pane


def test_one_alert_covers_what_waits_and_new_work_raises_another() -> None:
    """One alert per stall episode, re-armed by new work."""
    stall = ageing.watch(Stall(), ["a", "b"], 0.0)
    assert ageing.next_at(stall, 60) == 60
    stall = ageing.watch(stall, ["a", "b", "c"], 50.0)
    assert ageing.late(stall, 60, 59.0) == []
    assert ageing.late(stall, 60, 60.0) == ["a", "b"]
    stall = ageing.alerted(stall)
    assert ageing.late(stall, 60, 500.0) == []
    assert ageing.next_at(stall, 60) is None
    stall = ageing.watch(stall, ["a", "d"], 500.0)
    assert ageing.next_at(stall, 60) == 560
    assert ageing.late(stall, 60, 560.0) == ["d"]


def test_what_was_told_leaves_the_stall() -> None:
    """The same debt, undelivered again later, is new."""
    stall = ageing.alerted(ageing.watch(Stall(), ["a"], 0.0))
    stall = ageing.watch(ageing.watch(stall, [], 10.0), ["a"], 20.0)
    assert ageing.late(stall, 60, 79.0) == []
    assert ageing.late(stall, 60, 80.0) == ["a"]


async def test_a_person_is_alerted_once_with_ids_and_states_only(tmp_path: Path) -> None:
    """No word of the message is shown; more of the same does not alert again."""
    async with living(tmp_path, clock=FastClock(100), settings=ALERTING) as house:
        pane = await busy_peer(house)
        sent = await house.call(SendMessage(to=pane, text="the secret plan"))
        await house.until(lambda: house.host.notes)
        await house.clock.sleep(200)
        ((title, body),) = house.host.notes
        assert title == "coordinatord: 1 undelivered"
        assert sent.id in body
        assert "busy" in body
        assert "secret" not in title + body
        await house.call(SendMessage(to=pane, text="more"))
        await house.until(lambda: len(house.host.notes) == 2)


async def test_time_asleep_makes_nothing_late(tmp_path: Path) -> None:
    """The wall clock jumps by a night; the debt is as young as the machine has been awake."""
    clock = SleepyClock()
    settings = Settings(backstop_s=15, alerts=Alerts(after_s=2000))
    async with living(tmp_path, clock=clock, settings=settings) as house:
        pane = await busy_peer(house)
        await house.call(SendMessage(to=pane, text="one"))
        clock.slept = 8 * 3600.0
        await house.call(SendMessage(to=pane, text="two"))
        await clock.sleep(100)
        assert house.host.notes == []
        shown = await house.call(ReadStatus())
        assert shown.oldest_undelivered_s is not None
        assert shown.oldest_undelivered_s > 8 * 3600  # for people: since it was written


async def test_nobody_is_alerted_by_default(tmp_path: Path) -> None:
    """The setting is opt-in; the ages are shown all the same, also of the oldest open decision."""
    async with living(tmp_path, clock=FastClock(100)) as house:
        boss, worker = house.host.add_agent(status="working"), house.host.add_agent()
        await house.until(lambda: worker in house.parts.sightings.panes)
        await house.call(InitSeat(), boss)
        task = await house.call(NewTask(title="one", worker_pane=worker), boss)
        await house.call(AskQuestion(task=task.id, text="?"), worker)
        await house.clock.sleep(100)
        assert house.host.notes == []
        for shown in (await house.call(ReadStatus()), await house.call(ReadDelivery())):
            assert shown.oldest_decision_s is not None
            assert shown.oldest_undelivered_s is not None


async def test_the_first_coordinator_hears_that_delivery_by_events_is_on(tmp_path: Path) -> None:
    """Coordination §4.2: it is said once, to the first one."""
    async with living(tmp_path) as house:
        boss, other = house.host.add_agent(), house.host.add_agent()
        await house.until(lambda: other in house.parts.sightings.panes)
        assert (await house.call(InitSeat(role="developer"), other)).events is None
        assert (await house.call(InitSeat(), boss)).events is True
        assert (await house.call(InitSeat(), boss)).events is None
