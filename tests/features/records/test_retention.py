"""What archiving ends and what time removes: no living seat and no open debt (coordination.md §1.13)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import structlog

from coordinatord.daemon.settings import Settings
from coordinatord.daemon.sweep import sweep
from coordinatord.errors import Refused
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.launches import table as launches
from coordinatord.features.messages import table as messages
from coordinatord.features.messages.records import Expired, Owed, Withdrawn
from coordinatord.features.messages.requests import AckMessage, SendMessage
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.panes.table import SEATS, all_seats, seat_or_none
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.tasks.table import TASKS
from coordinatord.features.upkeep.records import Pruned
from coordinatord.features.upkeep.requests import ArchiveTask, Prune
from coordinatord.features.views.requests import ReadInbox, ShowRecord
from coordinatord.ids import COORDINATOR, PaneId, SeatId, TaskId, peer_of, reviewer_of, worker_of
from coordinatord.store.database import Transaction
from tests.features.staff import ask, new_task, staffed
from tests.house import FastClock, House, living


async def send(house: House, to: str, pane: PaneId | None = None, **facts: Any) -> str:
    return (await house.call(SendMessage(to=to, text="hello", **facts), pane)).id


async def prune(house: House) -> Pruned:
    return await house.call(Prune(older_than_s=0))


async def test_archiving_ends_what_its_seats_were_owed(tmp_path: Path) -> None:
    """§1.13: archiving ends all of them, whoever was to be told, and nobody waits for who has left."""
    async with living(tmp_path, run=False) as house:
        boss, worker, reviewer = (house.host.add_agent(status="working") for _ in range(3))
        await house.parts.lookout.look_around()
        await house.call(InitSeat(), boss)
        task = await new_task(house, boss, worker)
        await house.call(BindSeat(task=task, reviewer_pane=reviewer), boss)
        other = await new_task(house, boss)
        await house.call(BindSeat(task=other, parent_pane=worker), boss)
        owed = [await send(house, to) for to in (worker_of(TaskId(task)), reviewer_of(task))]
        late = await send(house, COORDINATOR, worker, expires_s=1.0)
        later = await send(house, COORDINATOR, worker, expires_s=3600.0)
        await house.clock.sleep(1.5)
        await house.database.write(messages.expire)
        with pytest.raises(Refused) as refusal:
            await house.call(ArchiveTask(task=task), boss)
        assert all(each in refusal.value.message for each in (*owed, late))
        await house.call(ArchiveTask(task=task, acknowledge=True), boss)
        for name in owed:
            message = await house.database.read(messages.message_named, name)
            assert isinstance(message.state, Withdrawn)
            await house.database.write(messages.typed, name, Owed())
            assert (await house.database.read(messages.message_named, name)) == message
        for seat in (worker_of(task), reviewer_of(task)):
            assert (await house.call(ReadInbox(seat=seat))).items == []
        await house.database.write(expire_after, 4000.0)
        message = await house.database.read(messages.message_named, later)
        assert isinstance(message.state, Expired)
        assert message.state.known_at is not None
        left = await house.database.read(TASKS.get, other)
        assert left is not None
        assert left.parent == COORDINATOR


def expire_after(tx: Transaction, seconds: float) -> None:
    tx.now += seconds
    messages.expire(tx)


async def test_what_is_over_goes_and_what_is_owed_stays(tmp_path: Path) -> None:
    """Messages with their files, attempts and lines of the journal that tell of nothing there."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        read = await send(house, COORDINATOR)
        await house.until(lambda: house.prompts(boss))
        await house.call(AckMessage(message=read), boss)
        house.host.set_status(worker, "working")
        await house.rest()
        open_ = await send(house, worker_of(TaskId(task)))
        question = await ask(house, task, worker)
        await house.rest()
        await anyio.to_thread.run_sync(write_letters, tmp_path / "messages", [read, open_])
        before = await house.call(ReadInbox(seat=worker_of(TaskId(task))))
        dry = await house.call(Prune(older_than_s=0, dry_run=True))
        assert dry.others["messages"] == 1
        assert (await house.call(ShowRecord(id=read)))["id"] == read
        pruned = await prune(house)
        assert (pruned.others["messages"], pruned.more, pruned.tasks) == (1, False, [])
        with pytest.raises(Refused):
            await house.call(ShowRecord(id=read))
        assert os.listdir(tmp_path / "messages") == [f"{open_}.txt"]
        assert await house.call(ReadInbox(seat=worker_of(TaskId(task)))) == before
        assert (await house.call(ShowRecord(id=question)))["id"] == question
        rows = await house.database.read(lambda view: view.rows("SELECT kind, id FROM journal"))
        assert ("message", open_) in rows
        assert ("question", question) in rows
        assert read not in [id for _, id in rows]
        again = await prune(house)
        assert again.others.get("messages") is None
        assert again.others.get("attempts") is None


def write_letters(folder: Path, names: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.txt").write_text("x")
        os.utime(folder / f"{name}.txt", (1.0, 1.0))


async def test_seats_of_panes_that_are_gone_are_removed_and_no_living_ones(tmp_path: Path) -> None:
    """A peer that is owed something stays, and everybody stays while the host is out of sight."""
    async with living(tmp_path) as house:
        await staffed(house)
        here, owed, gone = (house.host.add_agent(status="working") for _ in range(3))
        await house.until(lambda: {here, owed, gone} <= house.parts.sightings.panes.keys())
        names: dict[PaneId, SeatId] = {}
        for pane in (here, owed, gone):
            message = await send(house, pane)
            names[pane] = peer_of(house.host.panes[pane].terminal_id)
            if pane != owed:
                await house.call(AckMessage(message=message), pane)
        for token, pane in (("t1", here), ("t2", gone)):
            terminal = house.host.panes[pane].terminal_id
            await house.database.write(put_launch, token, pane, terminal)
        for pane in (owed, gone):
            house.host.remove_pane(pane)
        await house.until(lambda: gone not in house.parts.sightings.panes)
        house.host.stop()
        await house.until(lambda: not house.parts.sightings.connected)
        assert "seats" not in (await prune(house)).others
        house.host.start(keep_processes=True)
        await house.until(lambda: house.parts.sightings.connected)
        pruned = await prune(house)
        assert (pruned.others["seats"], pruned.others["launches"]) == (1, 1)
        left = {seat.id for seat in await house.database.read(all_seats)}
        assert {names[here], names[owed], COORDINATOR} <= left
        assert await house.database.read(seat_or_none, names[gone]) is None


def put_launch(tx: Any, token: str, pane: PaneId, terminal: str) -> None:
    tx.run("INSERT INTO launches (token, key, at) VALUES (?, ?, 0)", token, token)
    launches.opened(tx, token, pane, terminal)


async def test_a_task_that_somebody_sits_in_is_kept_though_it_is_archived(tmp_path: Path) -> None:
    """Whatever left it so: retention trusts what it sees, not what should be."""
    async with living(tmp_path, run=False) as house:
        worker = house.host.add_agent()
        await house.parts.lookout.look_around()
        task = (await house.call(NewTask(title="t", worker_pane=worker))).id
        seat = await house.database.read(seat_or_none, worker_of(task))
        assert seat is not None
        await house.call(ArchiveTask(task=task))
        await house.database.write(SEATS.put, seat)
        pruned = await prune(house)
        assert (pruned.tasks, pruned.kept) == ([], 1)


async def test_the_sweep_removes_what_is_older_than_the_setting_says(tmp_path: Path) -> None:
    clock = FastClock(speed=100_000.0)
    settings = Settings(retention_days=1)
    async with living(tmp_path, clock=clock, settings=settings, run=False) as house:
        task = (await house.call(NewTask(title="t"))).id
        await house.call(ArchiveTask(task=task))
        async with anyio.create_task_group() as group:
            await group.start(sweep, house.parts, structlog.get_logger())

            async def is_gone() -> bool:
                return await house.database.read(TASKS.get, task) is None

            await house.until(is_gone)
            group.cancel_scope.cancel()
