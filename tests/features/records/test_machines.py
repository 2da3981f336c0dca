"""One daemon, one database, one machine: what of that is recorded and what follows (decision 0002)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import anyio
import pytest

from coordinatord import ids
from coordinatord.daemon import host_id
from coordinatord.errors import Refused
from coordinatord.features.delivery.requests import InitSeat, PumpNow
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes.requests import BindSeat, WhoAmI
from coordinatord.features.panes.run_host import name_host
from coordinatord.features.panes.table import SEATS
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ReadLog, ReadRundown, ShowRecord
from coordinatord.ids import PaneId, worker_of
from coordinatord.sockets import lock
from tests.features.staff import ask, new_task, staffed
from tests.house import living

HERE, ELSEWHERE = "h-00000001", "h-00000002"


def test_a_machine_is_named_by_its_own_id_and_that_is_not_given_away() -> None:
    """C-27: the host name plays no part; another id is another machine."""
    named = host_id.named("0123456789abcdef0123456789abcdef")
    assert ids.kind_of(named) == "host"
    assert named == host_id.named("0123456789abcdef0123456789abcdef")
    assert named != host_id.named("0123456789abcdef0123456789abcdee")


def test_a_machine_without_an_id_gets_one_that_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_id, "_FILES", (str(tmp_path / "none"),))
    folders = host_id.state_folders({"XDG_STATE_HOME": str(tmp_path / "s")}, tmp_path)
    first = host_id.host_id(folders, random.Random(1))
    assert host_id.host_id(folders, random.Random(2)) == first
    (tmp_path / "file").write_text("")
    nowhere = [tmp_path / "file" / "x"]
    assert host_id.host_id([*nowhere, folders[0]], random.Random(3)) == first
    with pytest.raises(Refused) as refusal:
        host_id.host_id(nowhere, random.Random(4))
    assert refusal.value.reason == "folder-unsafe"


async def test_records_carry_the_machine_they_were_made_on(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        await house.database.write(name_host, HERE)
        _, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        assert (await house.call(ShowRecord(id=task)))["host"] == HERE
        assert [line.host for line in (await house.call(ReadLog(record=question))).items] == [HERE]
        seats = (await house.database.read(SEATS.select)).items
        assert {seat.host for seat in seats} == {HERE}
        assert await house.database.write(name_host, HERE) == 0


async def test_a_database_from_another_machine_shows_its_tasks_and_types_nothing(
    tmp_path: Path,
) -> None:
    """C-27, §3.8.24: nobody has a seat here until he is seated here, even in panes that look the same."""
    async with living(tmp_path) as house:
        await house.database.write(name_host, HERE)
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        host = house.host
    async with living(tmp_path, host) as house:
        assert await house.database.write(name_host, ELSEWHERE) == 2
        await house.until(lambda: house.parts.sightings.connected)
        host.set_status(boss, "idle")
        await house.rest()
        assert house.prompts(boss) == []
        assert {(await house.call(WhoAmI(), pane)).role for pane in (boss, worker)} == {"developer"}
        rundown = await house.call(ReadRundown())
        assert [debt.id for item in rundown.items for debt in item.owed] == [question]
        claimed = await house.call(InitSeat(), boss)
        assert [each.id for each in claimed.owed] == [question]
        await house.call(BindSeat(task=task, worker_pane=worker), boss)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.until(lambda: house.prompts(worker))


def test_a_second_daemon_cannot_have_the_workspace(tmp_path: Path) -> None:
    """C-12: two that race for a recipient cannot exist; the kernel's lock is one process's."""
    held = lock.acquire(tmp_path / "lock")
    try:
        with pytest.raises(lock.Held):
            lock.acquire(tmp_path / "lock")
    finally:
        held.release()


async def test_a_pass_over_a_hundred_tasks_asks_a_silent_host_nothing(tmp_path: Path) -> None:
    """C-50: the pass ends at once, whatever the host does; everything stays owed and says why."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house, boss_status="working")
        for _ in range(100):
            worker = house.host.add_agent(status="working")
            task = await new_task(house, boss, worker)
            question = await ask(house, task, worker)
            await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.rest()
        house.host.stop()
        await house.until(lambda: not house.parts.sightings.connected)
        before = len(house.host.calls)
        found = await house.call(PumpNow())
        assert len(house.host.calls) - before <= 2
        assert {hold.reason for hold in found.held} == {"host-unreachable"}
        assert len(found.held) >= 100
        assert found.attempts == []


async def test_a_pass_over_a_hundred_tasks_ends_though_the_host_is_slow(tmp_path: Path) -> None:
    """C-50: no answer comes within the pass's time; who is not through is deferred, and told later."""
    async with living(tmp_path) as house:
        await staffed(house)
        panes = [house.host.add_agent() for _ in range(100)]
        await house.until(lambda: set(panes) <= house.parts.sightings.panes.keys())
        seats = [
            worker_of((await house.call(NewTask(title="t", worker_pane=pane))).id) for pane in panes
        ]
        await house.rest()
        await house.clock.sleep(2)  # it was not heard of lately
        asked, answer = list[PaneId](), anyio.Event()
        terminal = house.parts.ground.terminal
        real = terminal.look

        async def slow(pane: PaneId) -> Any:
            asked.append(pane)
            await answer.wait()
            return await real(pane)

        terminal.look = slow  # type: ignore[method-assign]
        for seat in seats:
            await house.call(SendMessage(to=seat, text="hello"))
        with anyio.fail_after(60):
            found = await house.call(PumpNow())
        assert set(seats) == {*found.deferred, *(hold.seat for hold in found.held)}
        assert (found.attempts, await house.attempts()) == ([], [])
        assert len(asked) < 10
        answer.set()
        for pane in panes:
            await house.until(lambda pane=pane: house.prompts(pane))
        assert all(len(house.prompts(pane)) == 1 for pane in panes)


async def test_a_second_coordinator_is_refused_and_told_how(tmp_path: Path) -> None:
    """§2.2 point 7: a living one is never replaced, reclaiming or not."""
    async with living(tmp_path) as house:
        await staffed(house)
        other = house.host.add_agent()
        for reclaim in (False, True):
            with pytest.raises(Refused) as refusal:
                await house.call(InitSeat(role="coordinator", reclaim=reclaim), other)
            assert refusal.value.reason == "seat-taken"
            assert refusal.value.hint
