"""Herdr's client keeps the contract, where a real Herdr's recorded answers are what it gets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from coordinatord.ids import PaneId
from tests.terminals.contract import Rig, TerminalContract
from tests.terminals.replay import Json, ReplayHost, Tape, Truth, serving, terminal_at


class RecordedRig:
    """Answers come from any place of one recording that has the same request."""

    foreign = PaneId("w9:p9")

    def __init__(self, host: ReplayHost) -> None:
        self.host = host
        self.terminal = terminal_at(host.path)

    async def shell(self) -> PaneId:
        pane = self._load("02-errors", until=2)
        tape = Tape("09-events")
        for index, row in enumerate(tape.rows):
            if row.method == "pane.split" and (answer := tape.answer(index)) is not None:
                self.host.pool.append((row.line, answer))
        return pane

    async def agent(self) -> PaneId:
        return self._load("05-two-prompts", until=3)

    async def enter(self) -> None:
        event: Json = {
            "event": "pane.agent_status_changed",
            "data": {"pane_id": "w1:p1", "workspace_id": "w1", "agent_status": "working"},
        }
        self.host.truth.agents["w1:p1"]["state_change_seq"] += 1
        self.host.truth.hear(event)
        await self.host.until(lambda: "w1:p1" in self.host.watched())
        await self.host.emit(event)

    async def end(self, pane: PaneId) -> None:
        self.host.truth.drop(pane)
        event = {"event": "pane_closed", "data": {"type": "pane_closed", "pane_id": pane}}
        await self.host.emit(event)

    def _load(self, name: str, *, until: int) -> PaneId:
        """Fold the recording's first answers; the rest waits to be asked for."""
        tape = Tape(name)
        for index, row in enumerate(tape.rows):
            request = tape.request_of(index) if row.what == "response" else None
            if request is None:
                continue
            if row.line.get("id") == "" or not isinstance(request.line.get("params"), dict):
                continue  # one of the broken requests, which the client cannot make
            if request.conn <= until:
                self.host.truth.fold(request.line, row.line, tape.names)
            else:
                self.host.pool.append((request.line, row.line))
        self.host.names = tape.names
        return PaneId("w1:p1")


class TestRecordedHerdr(TerminalContract):
    @pytest.fixture
    async def rig(self) -> AsyncIterator[Rig]:
        async with serving(Truth()) as host:
            yield RecordedRig(host)
