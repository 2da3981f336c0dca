"""The real embedded pane host, a process of its own with real shells, keeps the contract."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest

from coordinatord.clock import SystemClock
from coordinatord.ids import PaneId
from coordinatord.terminals.herdr.backend import HerdrTerminal
from coordinatord.terminals.port import SETTLED, StreamUp
from tests.terminals.contract import Ear, Rig, TerminalContract

ROOT: Final = Path(__file__).parent.parent.parent
STAND_IN: Final = ROOT / "tests" / "panehost" / "codex_stand_in.py"


class EmbeddedRig:
    foreign = PaneId("wZZZ:p9")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.terminal = self._connect()

    async def shell(self) -> PaneId:
        return (await self.terminal.new_workspace(label=None, cwd=None, env={})).pane

    async def agent(self) -> PaneId:
        env = {"DEMO_ORDERS": self._folder, "DEMO_PACE": "0.2"}
        pane = (await self.terminal.new_workspace(label=None, cwd=None, env=env)).pane
        line = f"HERDR_AGENT=codex {shlex.quote(sys.executable)} {shlex.quote(str(STAND_IN))}"
        await self.terminal.send(pane, line, ["enter"])
        watcher = self._connect()
        watcher.watch(frozenset({pane}))
        ear = Ear(watcher)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                await group.start(ear.run)
                await ear.until_seen(
                    pane, lambda now: now.agent == "codex" and now.status in SETTLED
                )
                group.cancel_scope.cancel()
        return pane

    async def enter(self) -> None:
        """The host presses it by itself."""

    async def end(self, pane: PaneId) -> None:
        await self._connect().close(pane)

    async def up(self) -> None:
        """The client itself tries until the host stands."""
        ear = Ear(self._connect())
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                await group.start(ear.run)
                await ear.until(lambda: StreamUp() in ear.heard)
                group.cancel_scope.cancel()

    def _connect(self) -> HerdrTerminal:
        return HerdrTerminal(
            f"{self._folder}/s", deadline=5.0, source=random.Random(3), clock=SystemClock()
        )


pytestmark = pytest.mark.xdist_group("contract")  # one host serves them all


@pytest.fixture(scope="module")
def host_folder() -> Iterator[str]:
    """A host that runs while the module's tests run."""
    with tempfile.TemporaryDirectory(prefix="contract-", dir="/tmp") as folder:
        command = [sys.executable, "-m", "coordinatord.panehost", "--socket", f"{folder}/s"]
        command += ["--state", f"{folder}/state.json", "--log", f"{folder}/log", "--cwd", folder]
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "SHELL": "/bin/sh"}
        host = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        try:
            yield folder
        finally:
            host.terminate()
            host.wait(timeout=20)


class TestEmbeddedHost(TerminalContract):
    @pytest.fixture
    async def rig(self, host_folder: str) -> Rig:
        rig = EmbeddedRig(host_folder)
        await rig.up()
        return rig
