"""What may happen in a simulated workspace at any moment, and how often."""

from __future__ import annotations

import contextlib
import random
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from coordinatord import ids
from coordinatord.errors import Refused, WorldFailed
from coordinatord.features.delivery.requests import ConsumeWake, InitSeat, PumpNow, ShowWake
from coordinatord.features.messages.requests import AckMessage, SendMessage, WithdrawMessage
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.questions.requests import (
    AnswerQuestion,
    AskQuestion,
    ResolveQuestion,
)
from coordinatord.features.reports.requests import FileReport, RecordVerification
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.typing.requests import PauseTyping, ResumeTyping
from coordinatord.features.views.requests import ReadInbox
from coordinatord.ids import PaneId
from coordinatord.terminals.fake_panes import FakeAgent
from coordinatord.terminals.port import SETTLED
from tests.house import House
from tests.simulation.observer import WatchedHost
from tests.simulation.world import Life, SimClock

Action: TypeAlias = Callable[[], Awaitable[None]]


class Actors:
    """Agents that work, people who type, a host and a daemon that come and go."""

    def __init__(
        self, chance: random.Random, host: WatchedHost, clock: SimClock, *, faults: bool = True
    ) -> None:
        self.chance = chance
        self.host = host
        self.clock = clock
        self.accepted: list[str] = []
        """Records whose acceptance was answered."""
        self._loose: deque[str] = deque()
        self.tasks: list[tuple[str, PaneId]] = []
        self.house: House | None = None
        self.life: Life | None = None
        self._acted = 0
        self._actions = self._work_and_talk() + (self._faults() if faults else [])
        self._boss = host.add_agent()
        host.add_agent()

    def _work_and_talk(self) -> list[Action]:
        return (
            [self._ask] * 6 + [self._send] * 6 + [self._work] * 8 + [self._deal] * 8
            + [self._draft] * 2 + [self._finish_draft] * 3 + [self._dialog] * 2 + [self._end_dialog] * 3
            + [self._tidy] * 5 + [self._new_agent, self._new_task, self._pump, self._consume]
        )  # fmt: skip

    def _faults(self) -> list[Action]:
        return (
            [self._exit] + [self._restart_agent] * 6 + [self._host_down] + [self._host_up] * 2
            + [self._kill, self._fault, self._mute, self._recycle, self._fill_disk]
            + [self._pause] + [self.resume] * 3
        )  # fmt: skip

    async def act(self) -> None:
        """One action, whichever it is."""
        self._acted += 1
        # where the world is not as the action needs it, it is refused and nothing happens
        with contextlib.suppress(Refused, WorldFailed, KeyError, IndexError):
            await self.chance.choice(self._actions)()

    async def come_to_rest(self) -> None:
        """No more faults; drafts and dialogs are dealt with, everybody is idle. Events are as they were."""
        assert self.life is not None
        self.life.store_fails_until = 0.0
        await self.resume()
        if self.host.down:
            self.host.start(keep_processes=True)
        self._bring_back()
        self.host.forget_faults()
        for pane, each in self.host.panes.items():
            if each.agent is not None:
                each.agent.dialog, each.agent.composer = None, ""
                self.host.set_status(pane, "idle")

    def end_turns(self) -> None:
        """Whoever works is done."""
        for pane, each in self.host.panes.items():
            if each.agent is not None and each.agent.status == "working":
                self.host.set_status(pane, "idle")

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
        if ids.kind_of(getattr(answer, "id", "")) is not None:
            self.accepted.append(answer.id)
            if isinstance(request, AskQuestion | SendMessage):
                self._loose.append(answer.id)
        return answer

    async def _new_task(self) -> None:
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
        await self._call(AskQuestion(task=task, text="?"), worker)

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

    async def _tidy(self) -> None:
        """A person sees to the oldest message or question that is still open."""
        while self._loose:
            name = self._loose.popleft()
            if ids.kind_of(name) == "message":
                request: Any = WithdrawMessage(message=name)
            else:
                request = AnswerQuestion(question=name, text="!")
            with contextlib.suppress(Refused):  # it is dealt with
                await self._call(request, None)
                return

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
            self.host.add_agent(session=f"s{self._acted}" if self.chance.random() < 0.5 else None)

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
        self._bring_back()

    def _bring_back(self) -> None:
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
        assert self.life is not None
        self.life.kill_in(self.chance.randrange(40))

    async def _fill_disk(self) -> None:
        assert self.life is not None
        self.life.store_fails_until = self.clock.awake() + self.chance.uniform(0.5, 5)

    async def _pump(self) -> None:
        await self._call(PumpNow(), None)

    async def _pause(self) -> None:
        await self._call(PauseTyping(), None)
        self.host.paused = True

    async def resume(self) -> None:
        """A person lets it type again."""
        self.host.paused = False
        await self._call(ResumeTyping(), None)

    async def _consume(self) -> None:
        shown = await self._call(ShowWake(), self._boss)
        await self._call(ConsumeWake(boundary=shown.boundary), self._boss)
