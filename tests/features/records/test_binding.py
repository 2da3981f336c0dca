"""Who may be bound to what: judged by the occupant, not by the address (coordination.md §2.1, §2.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.requests import BindSeat, WhoAmI
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ReadInbox
from coordinatord.ids import COORDINATOR, peer_of, reviewer_of
from tests.features.staff import ask, staffed
from tests.house import living


async def test_a_handed_over_coordinator_cannot_be_made_a_worker(tmp_path: Path) -> None:
    """C-22: its terminal is another one than recorded, and nobody has recorded that yet."""
    async with living(tmp_path, run=False) as house:
        boss = house.host.add_agent()
        await house.parts.lookout.look_around()
        await house.call(InitSeat(), boss)
        house.host.stop()
        house.host.start(keep_processes=True)
        await house.parts.lookout.look_around()
        task = (await house.call(NewTask(title="t"))).id
        with pytest.raises(Refused) as refusal:
            await house.call(BindSeat(task=task, worker_pane=boss))
        assert refusal.value.reason == "seat-taken"
        assert (await house.call(WhoAmI(), boss)).id == COORDINATOR


async def test_a_parent_that_left_its_seat_is_seated_again(tmp_path: Path) -> None:
    """A peer's seat is kept when it is vacated; who sits in that terminal can be bound again."""
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house)
        other = house.host.add_agent()
        await house.until(lambda: other in house.parts.sightings.panes)
        for _ in range(2):
            seat = await house.call(BindSeat(task=task, parent_pane=other))
            assert (seat.id, seat.pane) == (peer_of(house.host.panes[other].terminal_id), other)
            await house.database.write(seats.vacate, None, seat.id)
        await house.call(BindSeat(task=task, parent_pane=other))
        await ask(house, task, worker)
        await house.until(lambda: house.prompts(other))


async def test_a_reviewer_can_be_written_to(tmp_path: Path) -> None:
    """interfaces.md, Messages: any seat."""
    async with living(tmp_path) as house:
        boss, _, task = await staffed(house)
        reviewer = house.host.add_agent()
        await house.until(lambda: reviewer in house.parts.sightings.panes)
        await house.call(BindSeat(task=task, reviewer_pane=reviewer), boss)
        sent = await house.call(SendMessage(to=reviewer_of(task), text="hello"))
        await house.until(lambda: house.prompts(reviewer))
        assert [item.id for item in (await house.call(ReadInbox(), reviewer)).items] == [sent.id]


async def test_a_reviewer_cannot_be_made_the_worker_of_what_it_reviews(tmp_path: Path) -> None:
    """§2.1: as a worker cannot be made its reviewer; with another reviewer it can."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        reviewer = house.host.add_agent()
        await house.until(lambda: reviewer in house.parts.sightings.panes)
        await house.call(BindSeat(task=task, reviewer_pane=reviewer), boss)
        for request in (
            BindSeat(task=task, worker_pane=reviewer),
            BindSeat(task=task, reviewer_pane=worker),
        ):
            with pytest.raises(Refused, match="nobody reviews his own work"):
                await house.call(request, boss)
        await house.call(BindSeat(task=task, reviewer_pane=boss), boss)
        seat = await house.call(BindSeat(task=task, worker_pane=reviewer), boss)
        assert seat.pane == reviewer


async def test_a_pane_that_waits_for_its_conversation_is_given_to_no_worker(tmp_path: Path) -> None:
    """C-23: after a restart the coordinator's pane has a new shell; its agent may yet be resumed in it."""
    async with living(tmp_path, run=False) as house:
        boss = house.host.add_agent(session="one")
        await house.parts.lookout.look_around()
        await house.call(InitSeat(), boss)
        task = (await house.call(NewTask(title="t"))).id
        house.host.stop()
        house.host.start()
        await house.parts.lookout.look_around()
        with pytest.raises(Refused) as refusal:
            await house.call(BindSeat(task=task, worker_pane=boss))
        assert refusal.value.reason == "seat-taken"
        house.host.resume(boss)
        await house.parts.lookout.look_around()
        assert (await house.call(WhoAmI(), boss)).id == COORDINATOR
