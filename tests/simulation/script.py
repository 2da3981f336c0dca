"""What happens in a simulated workspace: agents work, people type, hosts restart, daemons die."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import anyio
import msgspec

from coordinatord import ids, kinds
from coordinatord.daemon.parts import Ground, Parts
from coordinatord.daemon.settings import Settings
from coordinatord.errors import Refused, WorldFailed
from coordinatord.features.delivery import pacing
from coordinatord.features.delivery import table as delivery
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.launches.run import Surroundings
from coordinatord.features.messages.requests import AckMessage, SendMessage
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.panes.table import all_seats
from coordinatord.features.questions.requests import AnswerQuestion, AskQuestion, ResolveQuestion
from coordinatord.features.reports.requests import FileReport, RecordVerification
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.methods import Running
from coordinatord.features.views.requests import ReadInbox
from coordinatord.ids import PaneId
from coordinatord.terminals.fake_panes import FakeAgent
from coordinatord.terminals.port import SETTLED
from tests.house import HOST_SOCKET, House
from tests.simulation import observer
from tests.simulation.world import InlineDatabase, Killed, Life, SimClock, SimTerminal

# without transcripts: reading them takes threads, and threads would take the course out of the seed's hands
KINDS = {
    name: msgspec.structs.replace(kind, transcript=None) for name, kind in kinds.load(None).items()
}


class Simulation:
    """One seed's course of events."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.clock = SimClock()
        self.disk = InlineDatabase.file()
        self.host = observer.WatchedHost(self.clock.awake, self.disk)
        self.accepted: list[str] = []
        self.tasks: list[tuple[str, PaneId]] = []
        self.questions: list[str] = []
        self.steps = 0
        self.life = Life(self.chance)
        self.house: House | None = None
        self._boss: PaneId | None = None

    async def run(self, steps: int) -> None:
        """``steps`` actions, across as many lives of the daemon as it takes; then everything settles."""
        self._boss = self.host.add_agent()
        self.host.add_agent()
        while self.steps < steps:
            await self._live(steps)
        self.life = Life(self.chance)
        await self._settle_down()

    async def _live(self, steps: int) -> None:
        self.life = Life(self.chance)
        try:
            async with anyio.create_task_group() as group:
                await self._start(group, lossy=True)
                while self.steps < steps and not self.life.over:
                    self.steps += 1
                    await self._act()
                    # never at the same instant as the daemon: what changes between its look and its prompt
                    # cannot be seen by anybody (coordination.md §3.8, 9)
                    pause = self.chance.choice((0.001, 0.01, 0.2, 0.7, 2.0, 6.0))
                    await anyio.sleep(pause * self.chance.uniform(0.5, 1.5))
                    self.host.settle()
                    observer.nothing_told_twice(self.host)
                self.life.over = True
                group.cancel_scope.cancel()
        except* Killed:
            pass
        observer.nothing_lost(self.disk, self.accepted)

    async def _start(self, group: Any, *, lossy: bool) -> Parts:
        database: Any = InlineDatabase(
            self.disk, random.Random(self.chance.random()), self.clock.wall, self.life
        )
        terminal = SimTerminal(self.host, self.life, self.chance)
        terminal.lossy = lossy
        ground = Ground(
            database=database,
            terminal=terminal,
            kinds=KINDS,
            clock=self.clock,
            source=random.Random(self.chance.random()),
            settings=Settings(backstop_s=15),
            surroundings=Surroundings(root="/work", name="work", coordctl=None, path="/bin"),
            letters=Path("/nowhere/messages"),
            environment=lambda pid: {},
            running=Running(pid=1, version="0", workspace="/work", socket="/s", started_at=0.0),
            host_socket=HOST_SOCKET,
            host_kind="embedded",
            in_repository=False,
            stop=lambda panes: None,
        )
        parts = Parts(ground)
        self.house = House(self.host, parts, self.clock)  # type: ignore[arg-type]
        await group.start(parts.intake.run)
        await group.start(parts.pump.run)
        await group.start(parts.attendant.run)
        return parts

    # one action

    async def _act(self) -> None:
        actions = (
            [self._ask] * 6 + [self._send] * 6 + [self._work] * 6 + [self._deal] * 12
            + [self._draft] * 2 + [self._finish_draft] * 3 + [self._dialog] * 2 + [self._end_dialog] * 3
            + [self._new_agent, self._exit, self._restart_agent, self._host_down, self._host_up]
            + [self._host_up, self._kill, self._fault, self._mute, self._recycle, self._new_task]
        )  # fmt: skip
        # where the world is not as the action needs it, it is refused and nothing happens
        with contextlib.suppress(Refused, WorldFailed, KeyError, IndexError):
            await self.chance.choice(actions)()

    def _some_agent(self) -> tuple[PaneId, FakeAgent]:
        found = [
            (pane, each.agent) for pane, each in self.host.panes.items() if each.agent is not None
        ]
        pane, agent = self.chance.choice(found)
        assert agent is not None
        return pane, agent

    async def _call(self, request: Any, pane: PaneId | None) -> Any:
        assert self.house is not None
        answer = await self.house.call(request, pane)
        if ids.kind_of(answer.id) is not None:
            self.accepted.append(answer.id)
        return answer

    async def _new_task(self) -> None:
        assert self._boss is not None
        if len(self.tasks) < 5:
            await self._call(InitSeat(), self._boss)
            worker, _ = self._some_agent()
            task = await self._call(NewTask(title="t", worker_pane=worker), None)
            self.tasks.append((task.id, worker))
        else:
            task_id, _ = self.chance.choice(self.tasks)
            worker, _ = self._some_agent()
            await self._call(BindSeat(task=task_id, worker_pane=worker), None)
            self.tasks = [(name, worker if name == task_id else pane) for name, pane in self.tasks]

    async def _ask(self) -> None:
        task, worker = self.chance.choice(self.tasks)
        question = await self._call(AskQuestion(task=task, text="?"), worker)
        self.questions.append(question.id)

    async def _send(self) -> None:
        to, _ = self._some_agent()
        await self._call(SendMessage(to=to, text="m"), None)

    async def _work(self) -> None:
        pane, agent = self._some_agent()
        if agent.dialog is None and not agent.composer:
            self.host.set_status(pane, self.chance.choice(("working", "idle", "done")))

    async def _deal(self) -> None:
        """An agent that works comes to an end; before that it may deal with what it owes."""
        working = [
            pane
            for pane, each in self.host.panes.items()
            if each.agent is not None and each.agent.status == "working"
        ]
        pane = self.chance.choice(working)
        assert self.house is not None
        if self.chance.random() < 0.7:
            for item in (await self.house.call(ReadInbox(), pane)).items[:3]:
                await self._deal_with(item, pane)
        if self.host.agent(pane).dialog is None:
            self.host.set_status(pane, self.chance.choice(("idle", "done")))

    async def _deal_with(self, item: Any, pane: PaneId) -> None:
        if item.kind == "question":
            await self._call(AnswerQuestion(question=item.id, text="!"), pane)
        elif item.kind == "answer":
            await self._call(ResolveQuestion(question=item.id), pane)
            await self._call(FileReport(task=item.task, outcome="completed", text="r"), pane)
        elif item.kind == "report":
            await self._call(RecordVerification(task=item.task, candidate="c", result="pass"), pane)
        elif item.kind == "message":
            await self._call(AckMessage(message=item.id), pane)

    async def _draft(self) -> None:
        pane, agent = self._some_agent()
        if agent.dialog is None and agent.status in SETTLED and not agent.composer:
            self.host.type_draft(pane, "could you")

    async def _finish_draft(self) -> None:
        pane, agent = self._some_agent()
        if agent.composer == "could you" and agent.dialog is None:
            agent.composer = ""
            if self.chance.random() < 0.5:
                self.host.set_status(pane, "working")

    async def _dialog(self) -> None:
        pane, agent = self._some_agent()
        if agent.status == "working":
            self.host.open_dialog(pane, "Allow?", blocked=self.chance.random() < 0.7)

    async def _end_dialog(self) -> None:
        pane, agent = self._some_agent()
        if agent.dialog is not None:
            self.host.close_dialog(pane)

    async def _new_agent(self) -> None:
        if len(self.host.panes) < 7:
            self.host.add_agent(session=f"s{self.steps}" if self.chance.random() < 0.5 else None)

    async def _exit(self) -> None:
        pane, _ = self._some_agent()
        self.host.agent_exits(pane)

    async def _restart_agent(self) -> None:
        empty = [pane for pane, each in self.host.panes.items() if each.agent is None]
        self.host.add_agent(self.chance.choice(empty))

    async def _host_down(self) -> None:
        if not self.host.down and self.chance.random() < 0.5:
            self.host.stop()

    async def _host_up(self) -> None:
        if self.host.down:
            self.host.start(keep_processes=self.chance.random() < 0.5)
        self._resume()

    def _resume(self) -> None:
        for pane, each in list(self.host.panes.items()):
            if each.agent is not None and not each.agent.live:
                self.host.resume(pane)

    async def _recycle(self) -> None:
        pane = self.chance.choice(list(self.host.panes))
        if pane != self._boss:
            self.host.recycle(pane)

    async def _mute(self) -> None:
        self.host.mute = not self.host.mute

    async def _fault(self) -> None:
        method = self.chance.choice(("prompt", "look", "foreground", "read", "snapshot"))
        acting: tuple[Any, ...] = ("uncertain-done", "uncertain-lost", "unreachable")
        self.host.fail(method, self.chance.choice(acting) if method == "prompt" else "unreachable")

    async def _kill(self) -> None:
        self.life.kill_in(self.chance.randrange(40))

    # the end: the world comes to rest, and everything that is owed must have been told

    async def _settle_down(self) -> None:
        self.host.mute = False
        if self.host.down:
            self.host.start(keep_processes=True)
        self._resume()
        self.host._faults.clear()
        for pane, each in self.host.panes.items():
            if each.agent is not None:
                each.agent.dialog = None
                each.agent.composer = ""
                self.host.set_status(pane, "idle")
        async with anyio.create_task_group() as group:
            parts = await self._start(group, lossy=False)
            for _ in range(40):
                await anyio.sleep(5)
                self.host.settle()
                for pane, each in self.host.panes.items():
                    if each.agent is not None and each.agent.status == "working":
                        self.host.set_status(pane, "idle")
            await self._check_the_end(parts)
            self.life.over = True
            group.cancel_scope.cancel()

    async def _check_the_end(self, parts: Parts) -> None:
        database = parts.ground.database
        owed = (await database.read(parts.sources.owed, self.clock.wall())).items
        seats = {seat.id: seat.binding for seat in await database.read(all_seats)}
        told = {
            (each.obligation, each.seat): pacing.classify(each)
            for each in await database.read(delivery.told_about, owed, seats)
        }
        held = {seat: each.reason for seat, each in (await database.read(delivery.holds)).items()}
        observer.everything_told(owed, told, {str(k): v for k, v in held.items()})
        observer.no_attempt_in_the_air(self.disk)
        observer.nothing_told_twice(self.host)
        observer.nothing_lost(self.disk, self.accepted)


def run(seed: int, steps: int) -> Simulation:
    """One simulation from its seed, the same every time."""
    import trio
    import trio._core._run as scheduling
    from trio.testing import MockClock

    scheduling._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduling._r.seed(seed)
    simulation = Simulation(seed)
    try:
        trio.run(simulation.run, steps, clock=MockClock(autojump_threshold=0))
    finally:
        simulation.disk.close()
    return simulation
