"""What is read from the host: only the fields that are used, everything else allowed.

Every field has a default, since hosts leave out what is empty; capabilities are data, not promises
(herdr-protocol.md §2.8). Lists are read record by record, so that one odd record costs only itself.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from coordinatord.ids import PaneId
from coordinatord.terminals.port import AgentSession, HostWorkspace, Sighting, Snapshot, Status

T = TypeVar("T")

_STATUSES: Final[dict[str, Status]] = {
    "idle": "idle", "working": "working", "blocked": "blocked", "done": "done",
    "unknown": "unknown",
}  # fmt: skip

_NOTHING: Final = msgspec.Raw(b"null")


class Refusal(msgspec.Struct):
    """An error answer."""

    code: str = "internal_error"
    message: str = ""


class Answer(msgspec.Struct):
    """The one line that answers a request."""

    id: str = ""
    result: msgspec.Raw = _NOTHING
    error: Refusal | None = None


class Pong(msgspec.Struct):
    """Who answers. Only the embedded host knows ``coordinatord_panehost``."""

    version: str = ""
    protocol: int = 0
    capabilities: dict[str, object] = {}


class NotificationResult(msgspec.Struct):
    """Was a note shown to the person? ``reason`` says why not."""

    shown: bool = False
    reason: str = ""


class PaneRecord(msgspec.Struct):
    """A pane or an agent: the host's two records of one pane, which overlap.

    A pane record lacks ``name``, ``launch_pending``, ``interactive_ready`` and
    ``state_change_seq``; an agent record lacks ``label`` and ``scroll`` (§3.1).
    """

    pane_id: str
    terminal_id: str
    workspace_id: str = ""
    tab_id: str = ""
    agent_status: str = "unknown"
    agent: str | None = None
    name: str | None = None
    label: str | None = None
    agent_session: AgentSession | None = None
    cwd: str | None = None
    foreground_cwd: str | None = None
    focused: bool = False
    launch_pending: bool = False
    interactive_ready: bool = False
    state_change_seq: int | None = None
    tokens: dict[str, str] = {}
    scroll: dict[str, object] | None = None


class PaneResult(msgspec.Struct):
    """``pane_info`` and its like."""

    pane: PaneRecord


class WorkspaceResult(msgspec.Struct):
    """``workspace_info``."""

    workspace: HostWorkspace


class RootPaneResult(msgspec.Struct):
    """``tab_created``, ``workspace_created``."""

    root_pane: PaneRecord


class AgentResult(msgspec.Struct):
    """``agent_info``, ``agent_started``."""

    agent: PaneRecord


class SnapshotRecord(msgspec.Struct):
    """``session_snapshot``; the records are read one by one."""

    focused_pane_id: str | None = None
    workspaces: list[msgspec.Raw] = []
    panes: list[msgspec.Raw] = []
    agents: list[msgspec.Raw] = []


class SnapshotResult(msgspec.Struct):
    """The envelope of a snapshot."""

    snapshot: SnapshotRecord


class ProcessRecord(msgspec.Struct):
    """One process in the foreground group."""

    pid: int
    name: str = ""
    argv: list[str] = []
    cwd: str | None = None


class ProcessInfo(msgspec.Struct):
    """What runs in a pane."""

    shell_pid: int | None = None
    foreground_process_group_id: int | None = None
    foreground_processes: list[ProcessRecord] = []


class ProcessResult(msgspec.Struct):
    """``pane_process_info``."""

    process_info: ProcessInfo


class TextRecord(msgspec.Struct):
    """Text that was read. ``revision`` is always 0 in Herdr and means nothing (§2.4)."""

    text: str = ""
    truncated: bool = False


class TextResult(msgspec.Struct):
    """``pane_read``."""

    read: TextRecord


class _PaneOnly(msgspec.Struct):
    pane_id: str = ""


class EventBody(msgspec.Struct):
    """Where an event may name a pane: at its top, or inside a whole pane record."""

    pane_id: str = ""
    pane: _PaneOnly | None = None


class Event(msgspec.Struct):
    """One line of the stream. Global kinds are snake_case, pane-scoped ones dotted (T-8)."""

    event: str = ""
    data: EventBody = msgspec.field(default_factory=EventBody)


def each(raws: list[msgspec.Raw], kind: type[T]) -> tuple[list[T], bool]:
    """The records that can be read, and whether those are all."""
    records = []
    for raw in raws:
        try:
            records.append(msgspec.json.decode(raw, type=kind))
        except msgspec.MsgspecError:
            continue
    return records, len(records) == len(raws)


def whole(found: SnapshotRecord) -> Snapshot:
    """The snapshot, its pane and agent records joined."""
    agents, all_agents = each(found.agents, PaneRecord)
    panes, all_panes = each(found.panes, PaneRecord)
    workspaces, all_workspaces = each(found.workspaces, HostWorkspace)
    by_pane = {agent.pane_id: agent for agent in agents}
    return Snapshot(
        panes={PaneId(pane.pane_id): sighting(pane, by_pane.get(pane.pane_id)) for pane in panes},
        workspaces={workspace.workspace_id: workspace for workspace in workspaces},
        focused_pane=PaneId(found.focused_pane_id) if found.focused_pane_id else None,
        incomplete=not (all_agents and all_panes and all_workspaces),
    )


def sighting(record: PaneRecord, agent: PaneRecord | None = None) -> Sighting:
    """One pane, from its pane record and, where it has one, its agent record; or from either
    alone.
    """
    more = record if agent is None else agent
    return Sighting(
        pane=PaneId(record.pane_id),
        terminal_id=record.terminal_id,
        workspace_id=record.workspace_id,
        tab_id=record.tab_id,
        status=_STATUSES.get(more.agent_status, "unknown"),
        agent=more.agent,
        name=more.name,
        label=record.label,
        session=more.agent_session,
        cwd=more.cwd,
        foreground_cwd=more.foreground_cwd,
        focused=record.focused,
        live=has_process(record) or has_process(more),
        launch_pending=more.launch_pending,
        interactive_ready=more.interactive_ready,
        state_change_seq=more.state_change_seq,
        tokens=more.tokens,
    )


def has_process(record: PaneRecord) -> bool:
    """Does a process stand behind this record?

    A restored agent that waits for its resume says ``idle`` and ``interactive_ready`` and gives
    itself away only by having neither a scroll position nor a foreground directory (recordings 06
    and 07).
    """
    return record.scroll is not None or record.foreground_cwd is not None
