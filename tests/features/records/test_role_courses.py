"""Random courses of roles and hosts: whatever happens, nobody ends up judging his own work (§2.1, §2.3).

Each course is drawn from its number.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from coordinatord.errors import Refused, WorldFailed
from coordinatord.features.delivery.records import Initiated
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.judgement import occupant_of
from coordinatord.features.panes.records import Present
from coordinatord.features.panes.requests import BindSeat, WhoAmI
from coordinatord.features.reports.requests import FileReview
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.tasks.table import TASKS
from coordinatord.features.upkeep.requests import ArchiveTask, Examine
from coordinatord.ids import COORDINATOR, PaneId, reviewer_of
from coordinatord.terminals.port import AgentSession
from coordinatord.wire.requests import Request
from tests.house import House, living

COURSES, STEPS = 12, 40
R = TypeVar("R")


class Course:
    """One course: what happens is drawn from its chance."""

    def __init__(self, house: House, chance: random.Random) -> None:
        self.house = house
        self.chance = chance
        self.tasks: list[str] = []
        self.steps: list[Callable[[PaneId], Awaitable[None]]] = [
            self.init,
            self.claim,
            self.reclaim,
            self.begin_task,
            self.bind_worker,
            self.bind_reviewer,
            self.bind_parent,
            self.review,
            self.write,
            self.archive,
            self.hand_over,
            self.restart,
            self.resume,
            self.converse,
            self.close,
            self.open,
        ]

    async def run(self) -> None:
        for _ in range(3):
            await self.open(PaneId(""))
        for _ in range(STEPS):
            await self.house.parts.lookout.look_around()
            await self.chance.choice(self.steps)(self.pane)
            await self.house.parts.lookout.look_around()
            await self.check()

    @property
    def pane(self) -> PaneId:
        return self.chance.choice(list(self.house.host.panes))

    @property
    def somebody(self) -> PaneId | None:
        return self.chance.choice((None, self.pane))

    @property
    def task(self) -> str:
        return self.chance.choice(self.tasks or ["t-00000000"])

    async def may(self, request: Request[R], pane: PaneId | None) -> R | None:
        """The answer, or None where it is refused."""
        try:
            return await self.house.call(request, pane)
        except (Refused, WorldFailed):
            return None

    async def arrive(self, request: InitSeat, pane: PaneId) -> None:
        granted: Initiated | None = await self.may(request, pane)
        if granted is not None:
            found = await self.house.call(WhoAmI(), pane)
            assert found.role == granted.role
            assert found.id == granted.id or found.role == "developer"

    async def init(self, pane: PaneId) -> None:
        await self.arrive(InitSeat(), pane)

    async def claim(self, pane: PaneId) -> None:
        await self.arrive(InitSeat(role="coordinator"), pane)

    async def reclaim(self, pane: PaneId) -> None:
        await self.arrive(InitSeat(role="coordinator", reclaim=True), pane)

    async def begin_task(self, pane: PaneId) -> None:
        worker = self.chance.choice((None, pane))
        made = await self.may(NewTask(title="t", worker_pane=worker), self.somebody)
        self.tasks += [made.id] if made else []

    async def bind_worker(self, pane: PaneId) -> None:
        await self.may(BindSeat(task=self.task, worker_pane=pane), self.somebody)

    async def bind_reviewer(self, pane: PaneId) -> None:
        await self.may(BindSeat(task=self.task, reviewer_pane=pane), self.somebody)

    async def bind_parent(self, pane: PaneId) -> None:
        await self.may(BindSeat(task=self.task, parent_pane=pane), self.somebody)

    async def review(self, pane: PaneId) -> None:
        filed = FileReview(task=self.task, candidate="v1", verdict="comment", text="x")
        await self.may(filed, pane)

    async def write(self, pane: PaneId) -> None:
        await self.may(SendMessage(to=pane, text="x"), self.somebody)

    async def archive(self, pane: PaneId) -> None:
        task = self.task
        if await self.may(ArchiveTask(task=task, acknowledge=True), self.somebody):
            self.tasks.remove(task)

    async def hand_over(self, pane: PaneId) -> None:
        self.house.host.stop()
        self.house.host.start(keep_processes=True)

    async def restart(self, pane: PaneId) -> None:
        self.house.host.stop()
        self.house.host.start()

    async def resume(self, pane: PaneId) -> None:
        agent = self.house.host.panes[pane].agent
        if agent is not None and not agent.live:
            self.house.host.resume(pane)

    async def converse(self, pane: PaneId) -> None:
        if self.house.host.panes[pane].agent is not None:
            session = AgentSession("herdr:codex", "codex", "id", f"{self.chance.random()}")
            self.house.host.agent(pane).session = session

    async def close(self, pane: PaneId) -> None:
        if len(self.house.host.panes) > 2:
            self.house.host.remove_pane(pane)

    async def open(self, pane: PaneId) -> None:
        if len(self.house.host.panes) < 6:
            self.house.host.add_agent(session=f"{self.chance.random()}")

    async def check(self) -> None:
        sightings = self.house.parts.sightings
        for seen in list(sightings.panes.values()):
            present = Present(seen, occupant_of(seen, sightings.shell(seen.terminal_id)))
            here = await self.house.database.read(seats.seats_in, present)
            names = {seat.id for seat in here}
            for seat in here:
                if seat.role == "worker" and seat.task is not None:
                    task = await self.house.database.read(TASKS.get, seat.task)
                    assert task is not None
                    judges = {COORDINATOR, reviewer_of(seat.task), task.parent}
                    assert not judges & names
        found = (await self.house.call(Examine())).items
        wrong = [each for each in found if each.id == "obligations" and each.level == "bad"]
        assert wrong == []


@pytest.mark.parametrize("number", range(COURSES))
async def test_nobody_judges_his_own_work(tmp_path: Path, number: int) -> None:
    """C-20 to C-25, whoever comes, goes, is restored, handed over or bound in whatever order."""
    async with living(tmp_path, run=False) as house:
        await Course(house, random.Random(number)).run()
