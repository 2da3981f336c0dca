"""The scripted terminal keeps the contract."""

from __future__ import annotations

import pytest

from coordinatord.ids import PaneId
from coordinatord.terminals.fake import FakeTerminal
from coordinatord.terminals.fake_host import ENTER_DELAY, FakeHost
from tests.terminals.contract import Rig, TerminalContract


class FakeRig:
    foreign = PaneId("w9:p9")

    def __init__(self) -> None:
        self.time = 100.0
        self.host = FakeHost(lambda: self.time)
        self.terminal = FakeTerminal(self.host)

    async def shell(self) -> PaneId:
        return self.host.add_pane()

    async def agent(self) -> PaneId:
        return self.host.add_agent()

    async def enter(self) -> None:
        self.time += ENTER_DELAY
        self.host.settle()

    async def end(self, pane: PaneId) -> None:
        self.host.remove_pane(pane)


class TestFakeTerminal(TerminalContract):
    @pytest.fixture
    def rig(self) -> Rig:
        return FakeRig()
