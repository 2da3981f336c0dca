"""What the daemon may ask of a terminal host, in the daemon's words.

Every call is bounded by a deadline of its own (5 seconds by default) and raises only:

* `Unreachable`: the host did not answer and did nothing that matters. Reads that time out raise it
  too.
* `PaneMissing`: the host has no such pane.
* `HostRefused`: the host said no, with its code; nothing was done.
* `Uncertain`: the request was sent and no answer came: it may have been done. Only calls that act
  raise it.

Source of the rules: herdr-protocol.md §1.5 (codes), §7.1 (prompt), §4.3 and §4.6 (events are
hints).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias

import msgspec
from anyio.abc import TaskStatus

from coordinatord.ids import PaneId, ProcessId

Status = Literal["idle", "working", "blocked", "done", "unknown"]
SETTLED: Final[frozenset[Status]] = frozenset({"idle", "done"})
"""``idle`` and ``done`` mean the same here: neither proves that a task was completed (H#3132)."""

Direction = Literal["right", "down"]
Source = Literal["visible", "recent", "recent_unwrapped", "detection"]


class AgentSession(msgspec.Struct, frozen=True):
    """The agent's own conversation, as its hook reported it to the host: a hint, never a hold."""

    source: str
    agent: str
    kind: str
    value: str


class Occupant(msgspec.Struct, frozen=True, kw_only=True):
    """Who is in a pane: what a seat records, and what a fresh look is judged against."""

    terminal_id: str
    agent: str | None = None
    session: AgentSession | None = None
    shell: ProcessId | None = None


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """One pane as the host showed it at one moment.

    ``live`` is False for a restored agent that has no process yet (herdr-protocol.md §3.4): it
    looks idle and ready, and is not. ``state_change_seq`` is None where the host did not say (a
    pane without agent).
    """

    pane: PaneId
    terminal_id: str
    workspace_id: str
    tab_id: str
    status: Status = "unknown"
    agent: str | None = None
    name: str | None = None
    label: str | None = None
    session: AgentSession | None = None
    cwd: str | None = None
    foreground_cwd: str | None = None
    focused: bool = False
    live: bool = True
    launch_pending: bool = False
    interactive_ready: bool = False
    state_change_seq: int | None = None
    tokens: dict[str, str] = {}


class HostWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """A host workspace: what Herdr calls a workspace; ours is the project root."""

    workspace_id: str
    label: str = ""
    focused: bool = False
    tokens: dict[str, str] = {}


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the host has, at one moment. It has no sequence number: newest request wins.

    ``incomplete``: a record could not be read, so a pane that is not here may exist all the same.
    """

    panes: dict[PaneId, Sighting]
    workspaces: dict[str, HostWorkspace]
    focused_pane: PaneId | None = None
    incomplete: bool = False


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a pane's foreground process group.

    ``declared`` is the process's own ``HERDR_AGENT``, by which a wrapper says which agent it
    carries.
    """

    pid: int
    name: str
    argv: tuple[str, ...] = ()
    cwd: str | None = None
    declared: str | None = None


class Foreground(msgspec.Struct, frozen=True, kw_only=True):
    """What really runs in a pane. ``shell`` is None if it is gone or cannot be identified."""

    shell: ProcessId | None
    group: int | None = None
    programs: tuple[Program, ...] = ()
    launch_token: str | None = None
    """The ``COORDINATORD_TOKEN`` that the shell was started with."""


class PaneText(msgspec.Struct, frozen=True, kw_only=True):
    """Text read from a pane, with SGR sequences if they were asked for."""

    text: str
    truncated: bool = False


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the host at the socket. ``may_type``: False for an unknown protocol."""

    kind: Literal["herdr", "embedded"]
    socket: str
    version: str
    protocol: int
    may_type: bool = True


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The connection as `coordctl status` shows it. Times are wall seconds; None: never yet.

    ``gaps_found``: changes that a snapshot showed and no event announced, and each time that the
    stream ended, since nobody can say what it would have announced.
    """

    connected: bool
    events_seen: int = 0
    gaps_found: int = 0
    reconnects: int = 0
    last_snapshot: float | None = None
    trouble: str | None = None


class StreamUp(msgspec.Struct, frozen=True):
    """The subscription stands: take a snapshot now, then believe nothing older."""


class StreamDown(msgspec.Struct, frozen=True):
    """The event stream ended; hold everything until `StreamUp`."""

    why: str


class LookAt(msgspec.Struct, frozen=True):
    """Something about this pane may have changed: look again at it."""

    pane: PaneId


class LookAround(msgspec.Struct, frozen=True):
    """Something changed that no single pane tells: take a snapshot."""


TerminalEvent: TypeAlias = StreamUp | StreamDown | LookAt | LookAround


BACKSTOP: Final = 15.0
"""Seconds between two snapshots that are taken although no event asked for one."""

_CHEAP: Final = 40
"""Panes up to which a snapshot costs the host nothing that matters (timings: 30 panes 3 ms)."""


def backstop_interval(panes: int, shortest: float = BACKSTOP) -> float:
    """Seconds until the next backstop snapshot of a host with that many panes.

    A snapshot's cost grows with the panes, in a host of 200 to seconds (herdr-protocol.md §8), so
    the pause grows in proportion, up to eight times the shortest.
    """
    return shortest * min(8.0, max(1.0, panes / _CHEAP))


class Terminal(Protocol):
    """A terminal host. Implementations: `terminals.herdr.backend`, `terminals.fake`."""

    async def run(
        self,
        deliver: Callable[[TerminalEvent], None],
        *,
        task_status: TaskStatus[None],
    ) -> None:
        """Keep the one event stream alive for ever, reconnecting with a jittered, growing pause.

        ``deliver`` is called in the event loop, must not block, and gets no facts. ``started()`` is
        called after the first attempt, whether it succeeded or not. Cancel the scope to stop.
        """

    def watch(self, panes: frozenset[PaneId]) -> None:
        """Ask for status events of exactly these panes; missing ones are dropped silently."""

    def missed(self, changes: int) -> None:
        """Count changes that a snapshot showed and no event announced; `health` tells the sum."""

    def health(self) -> Health:
        """The connection's state now."""

    async def greet(self) -> HostFacts:
        """Who answers at the socket."""

    async def snapshot(self) -> Snapshot:
        """All panes and host workspaces. Agents whose start is pending are looked at one by one, too:
        nothing else brings such a start to its end.
        """

    async def look(self, pane: PaneId) -> Sighting:
        """One pane, freshly; one host call for a pane with a live agent, two for others.

        A pane that moved to another host workspace may be found under its old address: ``pane`` in
        the answer is the new one. ``label`` of a live agent's pane is as last seen by a snapshot.
        """

    async def foreground(self, pane: PaneId) -> Foreground:
        """The processes in front in this pane, and its shell."""

    async def read(
        self,
        pane: PaneId,
        source: Source = "visible",
        *,
        lines: int | None = None,
        ansi: bool = False,
    ) -> PaneText:
        """Text of the pane. ``visible`` never moves an agent's view; the ``recent`` sources may."""

    async def prompt(self, pane: PaneId, text: str) -> None:
        """Give text to the agent in the pane; Enter follows 300 ms after this returns. No wait."""

    async def press(self, pane: PaneId, keys: Sequence[str], *, to_agent: bool = False) -> None:
        """Press keys, for example ``("enter",)`` or ``("ctrl+c",)``.

        With ``to_agent`` the host first checks that the agent is in front (`HostRefused` if not),
        and writes all keys at once: the way to nudge a composer, since Enter in a shell would run
        the text.
        """

    async def send(self, pane: PaneId, text: str, keys: Sequence[str] = ()) -> None:
        """Type text into whatever is in front (paste-wrapped if it asked for that), then keys."""

    async def split(
        self, pane: PaneId, direction: Direction, *, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        """A new pane with the user's shell beside ``pane``, without focus."""

    async def new_tab(
        self, workspace_id: str, *, label: str | None, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        """A new tab's root pane in a host workspace, without focus."""

    async def new_workspace(
        self, *, label: str | None, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        """A new host workspace's root pane, without focus (a first one is focused all the same)."""

    async def rename(self, pane: PaneId, label: str | None) -> None:
        """Set or clear the pane's label."""

    async def set_tokens(self, pane: PaneId, tokens: Mapping[str, str | None]) -> dict[str, str]:
        """Set up to 16 tokens of the pane, None clears one; returns those of these names that the
        host holds now.

        That is looked up, since the host says ok to what it ignores as well. It trims and cuts
        values (80 characters), any program may overwrite them (the names are the only guard), and
        they are lost when the host ends: `Sighting.tokens` tells.
        """

    async def set_workspace_tokens(
        self, workspace_id: str, tokens: Mapping[str, str | None]
    ) -> dict[str, str]:
        """The same for a host workspace; `HostRefused` where it is not there."""

    async def focus(self, pane: PaneId) -> None:
        """Show the pane to the person and give it the keyboard: only where somebody asked."""

    async def notify(self, title: str, body: str) -> bool:
        """Show the person a short note, cut to the host's limits (80 and 240 characters, one line
        each); False where the host shows none: it is switched off, busy, or nobody looks."""

    async def close(self, pane: PaneId) -> None:
        """End the pane and all that runs in it."""

    async def start_agent(
        self, pane: PaneId, kind: str, name: str, args: Sequence[str]
    ) -> Sighting:
        """Start an agent at the pane's shell prompt; pending until `look` says it is ready."""
