"""What a scripted terminal host is made of: its panes and agents, and what was typed into them."""

from __future__ import annotations

import dataclasses
from typing import Final, Literal

import msgspec

from coordinatord.ids import PaneId, ProcessId
from coordinatord.terminals.port import AgentSession, Sighting, Status

How = Literal["prompt", "keys", "text"]

_DIM: Final = "\x1b[2m"
_PLAIN: Final = "\x1b[0m"
_PLACEHOLDER: Final = "Ask Codex to do anything"


class Typed(msgspec.Struct, frozen=True, kw_only=True):
    """Something that reached a pane, in the order it came."""

    at: float
    pane: PaneId
    terminal_id: str
    how: How
    text: str = ""
    keys: tuple[str, ...] = ()


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent got as one message when Enter was pressed in its composer."""

    at: float
    pane: PaneId
    terminal_id: str
    text: str


class Call(msgspec.Struct, frozen=True):
    """One call that came from the daemon."""

    at: float
    method: str
    pane: PaneId | None = None


@dataclasses.dataclass
class FakeAgent:
    """An agent in a pane; ``composer`` is what stands unsent in it."""

    kind: str
    status: Status = "idle"
    name: str | None = None
    session: AgentSession | None = None
    composer: str = ""
    dialog: str | None = None
    live: bool = True
    pending: bool = False
    ready: bool = False
    changes: int = 0
    swallows: int = 0
    """So many presses of Enter get lost, as real agents do it (agents.md §1.3)."""

    def screen(self, *, ansi: bool) -> str:
        """A picture like codex's: work, a dialog or the composer, then the status line."""
        if self.dialog is not None:
            return f"\n  {self.dialog}\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n"
        hint = f"{_DIM}{_PLACEHOLDER}{_PLAIN}" if ansi else _PLACEHOLDER
        work = "• Working (1s • esc to interrupt)\n\n" if self.status == "working" else ""
        return f"{work}› {self.composer or hint}\n\n  fake default · /work\n"


@dataclasses.dataclass
class FakePane:
    """A pane; ``shown`` overrides the screen that is drawn from the agent."""

    pane: PaneId
    terminal_id: str
    tab_id: str
    shell: ProcessId
    agent: FakeAgent | None = None
    label: str | None = None
    cwd: str = "/work"
    tokens: dict[str, str] = dataclasses.field(default_factory=dict)
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    shown: str | None = None

    @property
    def workspace_id(self) -> str:
        """The host workspace that the address names."""
        return self.pane.partition(":")[0]

    def sighting(self, *, focused: bool) -> Sighting:
        """The pane as the host shows it now."""
        shown = Sighting(
            pane=self.pane,
            terminal_id=self.terminal_id,
            workspace_id=self.workspace_id,
            tab_id=self.tab_id,
            label=self.label,
            cwd=self.cwd,
            foreground_cwd=self.cwd,
            focused=focused,
            tokens=dict(self.tokens),
        )
        if self.agent is None:
            return shown
        agent = self.agent
        return msgspec.structs.replace(
            shown,
            status=agent.status,
            agent=None if agent.pending else agent.kind,
            name=agent.name,
            session=agent.session,
            live=agent.live,
            foreground_cwd=self.cwd if agent.live else None,
            launch_pending=agent.pending,
            interactive_ready=agent.ready,
            state_change_seq=agent.changes,
        )

    def screen(self, *, ansi: bool = False) -> str:
        """What the pane shows: what was scripted, else a codex-like picture of its agent."""
        if self.shown is not None:
            return self.shown
        return "$\n" if self.agent is None else self.agent.screen(ansi=ansi)
