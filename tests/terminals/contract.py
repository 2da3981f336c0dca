"""What every terminal host does, whichever it is: run over the fake, recordings and a real host.

A `Rig` brings a host into the state that a test asks for. Which replies are recorded and which are
folded from recordings is the rig's business; what is asserted here holds for all of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import anyio
import pytest

from coordinatord.errors import HostRefused, PaneMissing
from coordinatord.ids import PaneId
from coordinatord.terminals.port import (
    SETTLED,
    LookAround,
    LookAt,
    Sighting,
    StreamUp,
    Terminal,
    TerminalEvent,
)

MISSING = PaneId("w1:p9")
"""No rig has this pane."""


class Rig(Protocol):
    """A host to test, and the hand that moves it."""

    foreign: PaneId
    """A pane of a host workspace that is not there."""

    @property
    def terminal(self) -> Terminal:
        """The daemon's view of the host."""

    async def shell(self) -> PaneId:
        """A pane with nothing but a shell."""

    async def agent(self) -> PaneId:
        """A pane with a settled agent. Not in the same test as `shell`."""

    async def enter(self) -> None:
        """Let the time pass that lies between a prompt's text and its Enter."""

    async def end(self, pane: PaneId) -> None:
        """Somebody else closes the pane."""


class Ear:
    """Listens to a terminal's stream."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._more = anyio.Event()
        self.heard: list[TerminalEvent] = []

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        await self._terminal.run(self._hear, task_status=task_status)

    def _hear(self, event: TerminalEvent) -> None:
        self.heard.append(event)
        self._more.set()
        self._more = anyio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._more.wait()

    async def until_seen(self, pane: PaneId, wanted: Callable[[Sighting], bool]) -> Sighting:
        """Look again at each hint until the pane is as wanted."""
        while True:
            more = self._more
            sighting = await self._terminal.look(pane)
            if wanted(sighting):
                return sighting
            await more.wait()


def about(pane: PaneId) -> Callable[[TerminalEvent], bool]:
    """Is the event a reason to look at this pane?"""
    return lambda event: event == LookAt(pane) or isinstance(event, LookAround)


class TerminalContract:
    """Subclass it with a fixture ``rig``."""

    async def test_host_says_who_it_is(self, rig: Rig) -> None:
        facts = await rig.terminal.greet()
        assert facts.kind in ("herdr", "embedded")
        assert facts.protocol in (19, 20, 21, 22)
        assert facts.may_type

    async def test_snapshot_and_look_agree(self, rig: Rig) -> None:
        pane = await rig.shell()
        snapshot = await rig.terminal.snapshot()
        sighting = await rig.terminal.look(pane)
        assert snapshot.panes[pane] == sighting
        assert sighting.pane == pane
        assert sighting.workspace_id in snapshot.workspaces
        assert not snapshot.incomplete

    async def test_shell_is_no_agent(self, rig: Rig) -> None:
        sighting = await rig.terminal.look(await rig.shell())
        assert sighting.agent is None
        assert sighting.state_change_seq is None
        assert sighting.live

    async def test_agent_is_seen_with_its_status(self, rig: Rig) -> None:
        pane = await rig.agent()
        sighting = await rig.terminal.look(pane)
        assert sighting.agent == "codex"
        assert sighting.status in SETTLED
        assert sighting.state_change_seq is not None
        assert sighting.live
        assert not sighting.launch_pending

    @pytest.mark.parametrize("call", ["look", "foreground", "read", "press", "send", "close"])
    async def test_missing_pane_is_missing(self, rig: Rig, call: str) -> None:
        await rig.shell()
        terminal = rig.terminal
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "look": lambda: terminal.look(MISSING),
            "foreground": lambda: terminal.foreground(MISSING),
            "read": lambda: terminal.read(MISSING),
            "press": lambda: terminal.press(MISSING, ["enter"]),
            "send": lambda: terminal.send(MISSING, "x"),
            "close": lambda: terminal.close(MISSING),
        }
        with pytest.raises(PaneMissing):
            await calls[call]()

    async def test_missing_pane_can_be_neither_named_nor_split(self, rig: Rig) -> None:
        await rig.shell()
        with pytest.raises(PaneMissing):
            await rig.terminal.rename(MISSING, "x")
        with pytest.raises(PaneMissing):
            await rig.terminal.split(rig.foreign, "right", cwd=None, env={})

    @pytest.mark.parametrize("spelling", ["1", "p_1", "w1-1", "w1", "codex", "w1:t1", ""])
    async def test_other_spellings_of_panes_are_missing(self, rig: Rig, spelling: str) -> None:
        """T-21: a host would resolve some of them by position."""
        await rig.shell()
        with pytest.raises(PaneMissing):
            await rig.terminal.look(PaneId(spelling))
        with pytest.raises(PaneMissing):
            await rig.terminal.close(PaneId(spelling))

    async def test_unknown_host_workspace_gets_no_tab(self, rig: Rig) -> None:
        await rig.shell()
        with pytest.raises(HostRefused) as refused:
            await rig.terminal.new_tab(rig.foreign.partition(":")[0], label=None, cwd=None, env={})
        assert refused.value.code == "workspace_not_found"

    async def test_shell_cannot_be_prompted(self, rig: Rig) -> None:
        """A refusal says that nothing was typed."""
        pane = await rig.shell()
        with pytest.raises(HostRefused) as refused:
            await rig.terminal.prompt(pane, "x")
        assert refused.value.code == "agent_not_found"
        with pytest.raises(HostRefused):
            await rig.terminal.press(pane, ["enter"], to_agent=True)

    async def test_missing_pane_cannot_be_prompted(self, rig: Rig) -> None:
        await rig.shell()
        with pytest.raises(HostRefused) as refused:
            await rig.terminal.prompt(MISSING, "x")
        assert refused.value.code == "agent_not_found"

    async def test_prompt_moves_the_agent(self, rig: Rig) -> None:
        pane = await rig.agent()
        ear = Ear(rig.terminal)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                await group.start(ear.run)
                rig.terminal.watch(frozenset({pane}))
                before = await rig.terminal.look(pane)
                await rig.terminal.prompt(pane, "alpha one")
                await rig.enter()
                seen = await ear.until_seen(
                    pane, lambda now: now.state_change_seq != before.state_change_seq
                )
                group.cancel_scope.cancel()
        assert seen.terminal_id == before.terminal_id

    async def test_new_pane_comes_and_goes(self, rig: Rig) -> None:
        """T-22: without focus; the new pane is another terminal."""
        pane = await rig.shell()
        made = await rig.terminal.split(pane, "right", cwd=None, env={})
        there = (await rig.terminal.snapshot()).panes
        assert made.pane in there
        assert not made.focused
        assert made.workspace_id == there[pane].workspace_id
        assert made.terminal_id != there[pane].terminal_id
        await rig.terminal.close(made.pane)
        assert made.pane not in (await rig.terminal.snapshot()).panes
        with pytest.raises(PaneMissing):
            await rig.terminal.look(made.pane)

    async def test_text_of_a_pane(self, rig: Rig) -> None:
        pane = await rig.shell()
        text = await rig.terminal.read(pane, "visible")
        assert isinstance(text.text, str)
        assert not text.truncated

    async def test_tokens_are_set_and_cleared(self, rig: Rig) -> None:
        """T-15, T-17: what the host holds is looked up; names of others are left alone."""
        pane = await rig.shell()
        terminal = rig.terminal
        assert await terminal.set_tokens(pane, {"cd_a": "x", "cd_b": "  2 "}) == {
            "cd_a": "x", "cd_b": "2",
        }  # fmt: skip
        assert await terminal.set_tokens(pane, {"cd_a": None, "cd_c": ""}) == {}
        assert (await terminal.look(pane)).tokens == {"cd_b": "2"}
        space = (await terminal.look(pane)).workspace_id
        assert await terminal.set_workspace_tokens(space, {"cd_t": "3"}) == {"cd_t": "3"}
        assert (await terminal.snapshot()).workspaces[space].tokens == {"cd_t": "3"}
        assert await terminal.set_workspace_tokens(space, {"cd_t": None}) == {}

    async def test_what_is_not_there_has_no_tokens(self, rig: Rig) -> None:
        await rig.shell()
        with pytest.raises(PaneMissing):
            await rig.terminal.set_tokens(MISSING, {"cd_a": "x"})
        for space in (rig.foreign.partition(":")[0], "1"):
            with pytest.raises(HostRefused) as refused:
                await rig.terminal.set_workspace_tokens(space, {"cd_a": "x"})
            assert refused.value.code == "workspace_not_found"

    async def test_stream_stands_and_hints(self, rig: Rig) -> None:
        pane = await rig.shell()
        ear = Ear(rig.terminal)
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                await group.start(ear.run)
                await ear.until(lambda: StreamUp() in ear.heard)
                assert rig.terminal.health().connected
                await rig.end(pane)
                await ear.until(lambda: any(map(about(pane), ear.heard)))
                group.cancel_scope.cancel()
        assert not rig.terminal.health().connected

    async def test_changes_that_no_event_announced_are_counted(self, rig: Rig) -> None:
        rig.terminal.missed(2)
        rig.terminal.missed(1)
        assert rig.terminal.health().gaps_found == 3
