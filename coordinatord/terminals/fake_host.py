"""A scripted terminal host in memory: what happens in its panes, and its faults.

Nothing happens by itself: tests and simulations drive it by plain methods, and time is the function
that is passed in. It reproduces what matters of Herdr: Enter 300 ms after a prompt's text, a draft
that is submitted along, a dialog that gets the Enter, new terminal ids on restart, restored agents
that look ready before they have a process.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal

import anyio

from coordinatord.errors import HostRefused, PaneMissing
from coordinatord.ids import PaneId, ProcessId
from coordinatord.terminals.fake_panes import Call, FakeAgent, FakePane, How, Submitted, Typed
from coordinatord.terminals.port import (
    AgentSession,
    LookAround,
    LookAt,
    Status,
    StreamDown,
    StreamUp,
    TerminalEvent,
)

ENTER_DELAY: Final = 0.3
"""Seconds between a prompt's text and its Enter (herdr-protocol.md §7.1)."""

Fault = Literal["unreachable", "hang", "uncertain-done", "uncertain-lost"]
"""``uncertain-done`` takes effect, ``uncertain-lost`` does not; the caller cannot tell them apart.
"""


@dataclasses.dataclass
class Stream:
    """One daemon's subscription; status events come only for the panes it watches."""

    deliver: Callable[[TerminalEvent], None]
    watching: frozenset[PaneId] = frozenset()
    events_seen: int = 0
    ups: int = 0


class FakeHost:
    """The host's state, its script and its faults. `fake.FakeTerminal` is a daemon's view of it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.now = clock
        self.panes: dict[PaneId, FakePane] = {}
        self.typed: list[Typed] = []
        self.notes: list[tuple[str, str]] = []
        """Notes shown to the person: title and body."""
        self.workspace_tokens: dict[str, dict[str, str]] = {}
        self.submitted: list[Submitted] = []
        self.calls: list[Call] = []
        self.focused: PaneId | None = None
        self.protocol = 20
        self.may_type = True
        self.down = False
        self.mute = False
        """The subscription stands and says nothing."""
        self._faults: dict[str, deque[Fault]] = {}
        self._refusals: dict[str, deque[str]] = {}
        self.released = anyio.Event()
        self._streams: list[Stream] = []
        self._enters: deque[tuple[float, str]] = deque()
        self._numbers: dict[str, int] = {}
        self._made = 0
        self._changes = 0

    # what is there

    def add_pane(
        self, workspace_id: str = "w1", *, tab_id: str | None = None, label: str | None = None
    ) -> PaneId:
        """A new pane with a shell; the first one has the focus."""
        number = self._numbers[workspace_id] = self._numbers.get(workspace_id, 0) + 1
        pane = PaneId(f"{workspace_id}:p{number}")
        tab = tab_id or f"{workspace_id}:t{number}"
        self.panes[pane] = FakePane(pane, self._new_terminal(), tab, self._new_shell(), label=label)
        self.focused = self.focused or pane
        self.announce(LookAt(pane))
        return pane

    def add_agent(
        self,
        pane: PaneId | None = None,
        *,
        kind: str = "codex",
        status: Status = "idle",
        session: str | None = None,
    ) -> PaneId:
        """An agent that runs and has reported itself, in ``pane`` or in a new one."""
        pane = self.add_pane() if pane is None else pane
        known = None if session is None else AgentSession(f"herdr:{kind}", kind, "id", session)
        self.at(pane).agent = FakeAgent(kind, status, session=known)
        self.announce(LookAt(pane))
        return pane

    def at(self, pane: PaneId) -> FakePane:
        """The pane. Raises `PaneMissing`."""
        try:
            return self.panes[pane]
        except KeyError:
            raise PaneMissing(pane) from None

    def agent(self, pane: PaneId) -> FakeAgent:
        """The agent in the pane. Raises `HostRefused` with Herdr's code if there is none."""
        found = self.at(pane).agent if pane in self.panes else None
        if found is None:
            raise HostRefused("agent_not_found", f"agent target {pane} not found")
        return found

    # the script

    def set_status(self, pane: PaneId, status: Status) -> None:
        """The agent begins to work, is done, asks for something …"""
        self._set(self.agent(pane), status)
        self.announce(LookAt(pane), about=pane)

    def type_draft(self, pane: PaneId, text: str) -> None:
        """A person types into the composer and does not send it."""
        self.agent(pane).composer += text

    def open_dialog(self, pane: PaneId, text: str, *, blocked: bool = True) -> None:
        """A dialog opens. With ``blocked=False`` the host has not noticed it yet."""
        self.agent(pane).dialog = text
        if blocked:
            self.set_status(pane, "blocked")

    def close_dialog(self, pane: PaneId) -> None:
        """The dialog is answered by a person; the agent goes on."""
        self.agent(pane).dialog = None
        self.set_status(pane, "working")

    def agent_ready(self, pane: PaneId) -> None:
        """A pending start has come to its end: the agent is there and idle."""
        agent = self.agent(pane)
        agent.pending, agent.ready = False, True
        self._set(agent, "idle")
        self.announce(LookAt(pane), about=pane)

    def agent_exits(self, pane: PaneId) -> None:
        """The agent ends, the shell stays; label and tokens stay too (recording 04)."""
        self.agent(pane)
        self.at(pane).agent = None
        self.announce(LookAt(pane))

    def remove_pane(self, pane: PaneId) -> None:
        """The pane's shell ends."""
        self.at(pane)
        del self.panes[pane]
        if self.focused == pane:
            self.focused = next(iter(self.panes), None)
        self.announce(LookAt(pane))

    def recycle(self, pane: PaneId) -> None:
        """The same address is another pane now, as after a kill (recording 07)."""
        self.panes[pane] = FakePane(
            pane, self._new_terminal(), self.at(pane).tab_id, self._new_shell()
        )
        self.announce(LookAround())

    # the host itself

    def stop(self, why: str = "the host closed the connection") -> None:
        """The host ends: every call is `Unreachable`, the stream is down, typed text is gone."""
        self.down = True
        self._enters.clear()
        self.announce(StreamDown(why))

    def start(self, *, keep_processes: bool = False) -> None:
        """The host stands again: new terminal ids always, new shells except after a hand-off.

        An agent with a session comes back looking ready and has no process until `resume`; one
        without is gone. Tokens are lost, labels stay (herdr-protocol.md §3.3).
        """
        self.down = False
        self._changes = 0
        self.workspace_tokens = {}
        for found in self.panes.values():
            found.terminal_id = self._new_terminal()
            found.tokens = {}
            if not keep_processes:
                self._restart(found)
        self.announce(StreamUp())

    def resume(self, pane: PaneId) -> None:
        """The restored agent's process is there now."""
        self.agent(pane).live = True
        self.set_status(pane, "idle")

    def fail(self, method: str, fault: Fault) -> None:
        """The next call of ``method`` fails this way; several queue up."""
        self._faults.setdefault(method, deque()).append(fault)

    def refuse(self, method: str, code: str) -> None:
        """The host refuses the next call of ``method`` with this code."""
        self._refusals.setdefault(method, deque()).append(code)

    def release(self) -> None:
        """End every hung call: its deadline has passed."""
        self.released.set()
        self.released = anyio.Event()

    def take_fault(self, method: str) -> Fault | None:
        """The fault that this call has to suffer, if any."""
        waiting = self._faults.get(method)
        return waiting.popleft() if waiting else None

    def take_refusal(self, method: str) -> str | None:
        """The code with which this call is refused, if any."""
        waiting = self._refusals.get(method)
        return waiting.popleft() if waiting else None

    # typing

    def prompt(self, pane: PaneId, text: str) -> None:
        """`agent.prompt`: the checks in Herdr's order, the text at once, Enter later."""
        if not text:
            raise HostRefused("empty_agent_prompt", "agent prompt must not be empty")
        agent = self.agent(pane)
        if not agent.live:
            raise HostRefused("agent_not_found", f"agent target {pane} not found")
        if agent.status == "blocked":
            raise HostRefused("agent_blocked", "the agent waits for an answer")
        if agent.pending:
            raise HostRefused("agent_not_ready", "the agent is still starting")
        self._note(pane, "prompt", text, ())
        agent.composer += text
        self._enters.append((self.now() + ENTER_DELAY, self.at(pane).terminal_id))

    def press(self, pane: PaneId, keys: Sequence[str], *, to_agent: bool = False) -> None:
        """Keys as they come; Enter answers a dialog, else submits the composer."""
        if to_agent and not self.agent(pane).live:
            raise HostRefused("agent_not_found", f"agent target {pane} not found")
        self._note(pane, "keys", "", keys)
        self._press(pane, keys)

    def type_text(self, pane: PaneId, text: str, keys: Sequence[str]) -> None:
        """Text for whatever is in front."""
        self._note(pane, "text", text, keys)
        if (agent := self.at(pane).agent) is not None:
            agent.composer += text
        self._press(pane, keys)

    def settle(self) -> None:
        """Do what is due by now. Every call of the daemon does this first."""
        while self._enters and self._enters[0][0] <= self.now():
            terminal_id = self._enters.popleft()[1]
            for found in list(self.panes.values()):
                if found.terminal_id == terminal_id:
                    self._enter(found)

    # events

    def open_stream(self, deliver: Callable[[TerminalEvent], None]) -> Stream:
        """A stream that hears what is announced from now on."""
        stream = Stream(deliver)
        self._streams.append(stream)
        stream.ups += not self.down
        deliver(StreamDown("the host is down") if self.down else StreamUp())
        return stream

    def close_stream(self, stream: Stream) -> None:
        """The daemon let go of it."""
        self._streams.remove(stream)

    def announce(self, event: TerminalEvent, *, about: PaneId | None = None) -> None:
        """Tell the streams, unless they are mute; ``about``: only those that watch this pane."""
        hint = isinstance(event, LookAt | LookAround)
        if hint and (self.mute or self.down):
            return
        for stream in [*self._streams]:
            if about is None or about in stream.watching:
                stream.events_seen += hint
                stream.ups += isinstance(event, StreamUp)
                stream.deliver(event)

    # inside

    def _note(self, pane: PaneId, how: How, text: str, keys: Sequence[str]) -> None:
        where = self.at(pane).terminal_id
        self.typed.append(
            Typed(at=self.now(), pane=pane, terminal_id=where, how=how, text=text, keys=tuple(keys))
        )

    def _press(self, pane: PaneId, keys: Sequence[str]) -> None:
        for _ in filter("enter".__eq__, keys):
            self._enter(self.at(pane))

    def _enter(self, found: FakePane) -> None:
        agent = found.agent
        if agent is None:
            return
        if agent.swallows:
            agent.swallows -= 1
            return
        if agent.dialog is not None:
            agent.dialog = None
        elif agent.composer:
            self.submitted.append(
                Submitted(
                    at=self.now(),
                    pane=found.pane,
                    terminal_id=found.terminal_id,
                    text=agent.composer,
                )
            )
            agent.composer = ""
        else:
            return
        self.set_status(found.pane, "working")

    def _set(self, agent: FakeAgent, status: Status) -> None:
        if agent.status != status:
            agent.status = status
            self._changes += 1
            agent.changes = self._changes

    def _restart(self, found: FakePane) -> None:
        found.shell = self._new_shell()
        found.shown = None
        agent = found.agent
        if agent is None or agent.session is None:
            found.agent = None
        else:
            # as recorded: idle and ready for all to see, and no process behind it
            agent.live, agent.status, agent.ready = False, "idle", True
            agent.composer, agent.dialog, agent.changes = "", None, 0

    def _new_terminal(self) -> str:
        self._made += 1
        return f"term_{self._made:04x}"

    def _new_shell(self) -> ProcessId:
        self._made += 1
        return ProcessId("fake-boot", 1000 + self._made, 10 * self._made)
