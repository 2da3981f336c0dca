"""The host itself: panes with their terminals, who looks at them, and what is announced.

Invariant: every change goes through here, is announced to the hub once, and wakes who waits. One
broken pane never ends the host.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Final

import anyio
import anyio.abc

from coordinatord.panehost import environment, views
from coordinatord.panehost.agents import Agent, Change, Counter
from coordinatord.panehost.detection import Kinds
from coordinatord.panehost.events import TICK, Hub
from coordinatord.panehost.failures import Failed, pane_missing
from coordinatord.panehost.hosted import HostedPane, stripped
from coordinatord.panehost.layout import Layout, Tab, Workspace
from coordinatord.panehost.metadata import Sequences, Tokens
from coordinatord.panehost.pane import Pane
from coordinatord.panehost.requests import Status
from coordinatord.panehost.settings import Settings
from coordinatord.panehost.tree import Rect

_LOOK_DELAY: Final = 0.05
"""Seconds from a pane's output to the look at it; output in between waits for the same look."""
_INPUT_DELAY: Final = 0.15
_BUSY_DELAY: Final = 0.1
"""The same while output keeps coming: a flood must not be looked at all the time."""
_AGAIN_DELAY: Final = 0.1
"""Seconds between the looks that must agree before working becomes idle."""
log = logging.getLogger("coordinatord.panehost")


class Host:
    """All panes, the layout they stand in, and the hub.

    Args:
        clock: seconds that never go back.
        new_terminal_id: a fresh id for each terminal.
    """

    def __init__(
        self,
        settings: Settings,
        kinds: Kinds,
        tasks: anyio.abc.TaskGroup,
        clock: Callable[[], float],
        new_terminal_id: Callable[[], str],
    ) -> None:
        self.settings = settings
        self.kinds = kinds
        self.clock = clock
        self.layout = Layout()
        self.hub = Hub(quirks=settings.quirks, tick=TICK * settings.pace)
        self.stopping = anyio.Event()
        self.saved_changed = anyio.Event()
        self._tasks = tasks
        self._new_terminal_id = new_terminal_id
        self._panes: dict[str, HostedPane] = {}
        self._tokens: dict[str, tuple[Tokens, Sequences]] = {}
        self._counter = Counter()
        self._announced_focus: tuple[str, str, str] | None = None

    @property
    def area(self) -> Rect:
        """The whole of a tab, in character cells."""
        return Rect(0, 0, self.settings.columns, self.settings.rows)

    # finding

    def pane(self, text: str) -> HostedPane:
        """The pane behind an id, also behind the one it had before a move."""
        pane_id = self.layout.resolve(text)
        if pane_id is None:
            raise pane_missing(text)
        return self._panes[pane_id]

    def here(self, pane_id: str) -> HostedPane | None:
        """The pane that has exactly this id now."""
        return self._panes.get(pane_id)

    def terminal(self, text: str) -> tuple[HostedPane, Pane]:
        """A pane with its terminal; a pane that has none yet counts as missing."""
        hosted = self.pane(text)
        if hosted.terminal is None:
            raise pane_missing(text)
        return hosted, hosted.terminal

    def focused_pane(self) -> HostedPane:
        """The pane that has the focus."""
        focused = self.layout.focused()
        if focused is None:
            raise Failed("pane_not_found", "pane not found")
        return self._panes[focused[2]]

    def workspace(self, text: str) -> Workspace:
        """A workspace by id or position."""
        found = self.layout.workspace(text)
        if found is None:
            raise Failed("workspace_not_found", f"workspace {text} not found")
        return found

    def tab(self, text: str) -> tuple[Workspace, Tab]:
        """A tab and its workspace."""
        found = self.layout.tab(text)
        if found is None:
            raise Failed("tab_not_found", f"tab {text} not found")
        return found

    def panes(self) -> Iterator[HostedPane]:
        """All panes in display order."""
        for pane_id in self.layout.panes():
            yield self._panes[pane_id]

    def shows(self, hosted: HostedPane) -> bool:
        """Is the pane in the active tab?"""
        return not hosted.gone and self.layout.shows(hosted.pane_id)

    def workspace_tokens(self, workspace_id: str) -> tuple[Tokens, Sequences]:
        """The tokens of a workspace and the sequence numbers of who wrote them."""
        return self._tokens.setdefault(workspace_id, (Tokens("workspace"), Sequences("workspace")))

    # opening and ending

    def add(self, pane_id: str, cwd: str) -> HostedPane:
        """A pane without a terminal yet; it stands in the layout already."""
        agent = Agent(self._counter, floor=self.settings.ready_floor)
        hosted = HostedPane(self._new_terminal_id(), pane_id, agent, cwd)
        self._panes[pane_id] = hosted
        self.save_soon()
        return hosted

    def start(self, hosted: HostedPane, asked: Mapping[str, str]) -> None:
        """Start the user's shell in the pane.

        Raises:
            OSError: nothing could be started.
        """
        workspace, tab = self.layout.where(hosted.pane_id)
        variables = environment.of_pane(
            self.settings.base,
            asked,
            socket=self.settings.socket,
            program=self.settings.program,
            workspace_id=workspace.workspace_id,
            tab_id=tab.tab_id,
            pane_id=hosted.pane_id,
        )
        hosted.terminal = Pane.spawn(
            argv=[self.settings.shell],
            cwd=hosted.started_in,
            env=variables,
            columns=self.settings.columns,
            rows=self.settings.rows,
            on_output=lambda: self._look_at_output(hosted),
            on_exit=lambda status: self._exited(hosted),
        )
        self._tasks.start_soon(self._run, hosted, hosted.terminal)

    async def end(self, hosted: HostedPane) -> None:
        """End all that runs in a pane that was taken out of the layout."""
        if hosted.terminal is not None:
            with anyio.CancelScope(shield=True):
                await hosted.terminal.close()

    def forget(self, hosted: HostedPane) -> None:
        """The pane is no longer in the layout: its id means nothing from now on."""
        hosted.gone = hosted.closing = True
        self._panes.pop(hosted.pane_id, None)
        self.hub.touch(hosted.terminal_id)
        self.save_soon()

    def forget_workspace(self, workspace_id: str) -> None:
        """Its tokens go with it."""
        self._tokens.pop(workspace_id, None)
        self.save_soon()

    def readdress(self, hosted: HostedPane, pane_id: str) -> None:
        """The pane was moved; across workspaces it has a new id now."""
        self._panes.pop(hosted.pane_id, None)
        hosted.pane_id = pane_id
        hosted.moves += 1
        self._panes[pane_id] = hosted
        self.hub.touch(hosted.terminal_id)
        self.save_soon()

    def later(self, delay: float, call: Callable[[], None]) -> None:
        """Call something after a delay, unless the host has stopped by then."""
        self._tasks.start_soon(self._later, delay, call)

    def spawn(self, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine function beside all requests."""
        self._tasks.start_soon(call)

    def save_soon(self) -> None:
        """The layout or what is saved with it has changed."""
        self.saved_changed.set()

    # input and looks

    def type_bytes(self, hosted: HostedPane, terminal: Pane, data: bytes) -> None:
        """Queue bytes; raises `PaneClosed` or `QueueFull`."""
        terminal.write(data)
        self.look_soon(hosted, _INPUT_DELAY * self.settings.pace)

    def look_soon(self, hosted: HostedPane, delay: float) -> None:
        """Look at the pane after a delay, once for all that comes in between."""
        if not hosted.looking and not hosted.gone:
            hosted.looking = True
            self.later(delay, lambda: self._look_due(hosted))

    def look(self, hosted: HostedPane) -> None:
        """Look at what is in front of a pane now and at its screen, and announce what changed."""
        terminal, agent = hosted.terminal, hosted.agent
        if terminal is None or hosted.gone:
            return
        facts = terminal.foreground()
        hosted.group, hosted.looked_at = facts.group, self.clock()
        kind, settled_before = self.kinds.kind_of(facts), agent.settles_at()

        def step(now: float, shows: bool) -> Change:
            change = agent.detect(kind, now, shows=shows)
            if kind is not None and not agent.screen_skipped:
                text, _ = terminal.screen.text("detection", None, True)
                change |= agent.see(
                    self.kinds.status_on(kind, text, terminal.screen.title), now, shows=shows
                )
            return change

        self.change(hosted, step)
        self._look_again(hosted, settled_before)
        self._look_at_title(hosted, terminal)
        self.hub.touch(hosted.terminal_id)

    def change(
        self, hosted: HostedPane, step: Callable[[float, bool], Change], *, asked: bool = False
    ) -> None:
        """Take one step of a pane's agent (time, is it shown) and announce what it changed.

        ``asked``: a release that was asked for tells the status after it, an exit the last one
        before.
        """
        agent = hosted.agent
        kind, status = agent.kind, agent.status
        change = step(self.clock(), self.shows(hosted))
        if Change.RECORD in change:
            self.updated(hosted)
        if Change.RELEASED in change and kind is not None:
            self.detected(hosted, kind, agent.status if asked else status)
        if Change.RELEASED in change and kind is not None:
            hosted.presentation.forget_kind(kind)
        if Change.DETECTED in change and agent.kind is not None:
            self.detected(hosted, agent.kind, None)
        if change:
            self.hub.touch(hosted.terminal_id)
            self.save_soon()

    def updated(self, hosted: HostedPane) -> None:
        """Announce the record of a pane."""
        if not hosted.gone:
            self.hub.publish("pane.updated", pane=views.pane_info(self, hosted))

    def detected(self, hosted: HostedPane, kind: str, final: Status | None) -> None:
        """Announce that an agent came, or went with this last status."""
        went = {} if final is None else {"released": True, "final_status": final}
        self.hub.publish(
            "pane.agent_detected",
            pane_id=hosted.pane_id,
            workspace_id=hosted.pane_id.partition(":")[0],
            agent=kind,
            **went,
        )

    def announce_focus(self, *, silently: bool = False) -> None:
        """Tell of a focus change, once per request: workspace, tab and pane together."""
        focused = self.layout.focused()
        now = None if focused is None else (focused[0].workspace_id, focused[1].tab_id, focused[2])
        if now == self._announced_focus:
            return
        self._announced_focus = now
        if now is not None and not silently:
            workspace_id, tab_id, pane_id = now
            self.hub.publish("workspace.focused", workspace_id=workspace_id)
            self.hub.publish("tab.focused", workspace_id=workspace_id, tab_id=tab_id)
            self.hub.publish("pane.focused", workspace_id=workspace_id, pane_id=pane_id)
            self.save_soon()

    def mark_seen(self, tab: Tab) -> None:
        """Somebody looks at a tab: what is done there is idle now."""
        for hosted in self.panes():
            if self.layout.where(hosted.pane_id)[1] is tab and hosted.agent.show():
                self.hub.touch(hosted.terminal_id)

    # inside

    async def _run(self, hosted: HostedPane, terminal: Pane) -> None:
        try:
            await terminal.run()
        except Exception:  # one broken terminal must not end all panes
            log.exception("the terminal of pane %s failed", hosted.pane_id)
            self._exited(hosted)
            await terminal.close()

    def _exited(self, hosted: HostedPane) -> None:
        """The shell ended by itself: the pane goes, and silently the tab and workspace it was last
        in.
        """
        if hosted.closing:
            return
        workspace, tab = self.layout.where(hosted.pane_id)
        kind, status, pane_id = hosted.agent.kind, hosted.agent.status, hosted.pane_id
        left = self.layout.drop(pane_id)
        self.forget(hosted)
        self.hub.publish("pane.exited", pane_id=pane_id, workspace_id=workspace.workspace_id)
        if kind is not None:
            self.detected(hosted, kind, status)
        if left.tab is None:
            self.hub.publish("layout.updated", layout=views.layout_of(self, workspace, tab))
        if left.workspace is not None:
            self.forget_workspace(workspace.workspace_id)
        self.announce_focus()

    def _look_at_output(self, hosted: HostedPane) -> None:
        if not hosted.looking:
            busy = self.clock() - hosted.looked_at < 2 * _BUSY_DELAY
            delay = _BUSY_DELAY if busy else _LOOK_DELAY
            self.look_soon(hosted, delay * self.settings.pace)

    def _look_due(self, hosted: HostedPane) -> None:
        hosted.looking = False
        self.look(hosted)

    def _look_again(self, hosted: HostedPane, settled_before: float | None) -> None:
        settles, now = hosted.agent.settles_at(), self.clock()
        if settles is not None and settles != settled_before and settles > now:
            self.later(settles - now + 0.01, lambda: self.look(hosted))
        if hosted.agent.wants_another_look():
            self.look_soon(hosted, _AGAIN_DELAY * self.settings.pace)

    def _look_at_title(self, hosted: HostedPane, terminal: Pane) -> None:
        title = stripped(terminal.screen.title)
        if title != hosted.title:
            hosted.title = title
            hosted.revision += 1
            self.updated(hosted)

    async def _later(self, delay: float, call: Callable[[], None]) -> None:
        await anyio.sleep(delay)
        try:
            call()
        except Exception:  # one broken look must not end all panes
            log.exception("a delayed step failed")
