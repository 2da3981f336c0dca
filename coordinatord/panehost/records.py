"""The shapes of answers and events, as the recordings show them: what is empty is left out."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from coordinatord import __version__
from coordinatord.panehost import tree
from coordinatord.panehost.layout import Tab, Workspace
from coordinatord.panehost.requests import Status
from coordinatord.panehost.tree import Leaf, Node, Rect

PROTOCOL: Final = 20
"""The version of Herdr's protocol that this host speaks."""
CAPABILITIES: Final = {
    "live_handoff": False,
    "detached_server_daemon": True,
    "coordinatord_panehost": True,
}


class AgentSession(msgspec.Struct, frozen=True):
    """The conversation that an agent's hook reported."""

    source: str
    agent: str
    kind: Literal["id", "path"]
    value: str


class Scroll(msgspec.Struct, frozen=True, kw_only=True):
    """Where the view stands; this host has no scrolled view, so the offset is always 0."""

    offset_from_bottom: int = 0
    max_offset_from_bottom: int
    viewport_rows: int


class PaneInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pane (herdr-protocol.md §3.1)."""

    pane_id: str
    terminal_id: str
    workspace_id: str
    tab_id: str
    focused: bool
    agent_status: Status
    revision: int
    cwd: str | None = None
    foreground_cwd: str | None = None
    label: str | None = None
    agent: str | None = None
    title: str | None = None
    display_agent: str | None = None
    state_labels: dict[str, str] = {}
    terminal_title: str | None = None
    terminal_title_stripped: str | None = None
    tokens: dict[str, str] = {}
    agent_session: AgentSession | None = None
    scroll: Scroll | None = None


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pane seen as an agent."""

    pane_id: str
    terminal_id: str
    workspace_id: str
    tab_id: str
    focused: bool
    agent_status: Status
    revision: int
    state_change_seq: int
    name: str | None = None
    agent: str | None = None
    cwd: str | None = None
    foreground_cwd: str | None = None
    title: str | None = None
    display_agent: str | None = None
    state_labels: dict[str, str] = {}
    terminal_title: str | None = None
    terminal_title_stripped: str | None = None
    tokens: dict[str, str] = {}
    agent_session: AgentSession | None = None
    screen_detection_skipped: bool = False
    launch_pending: bool = False
    interactive_ready: bool = False


class WorkspaceInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A host workspace; ``number`` is its position."""

    workspace_id: str
    number: int
    label: str
    focused: bool
    pane_count: int
    tab_count: int
    active_tab_id: str
    agent_status: Status
    tokens: dict[str, str] = {}


class TabInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A tab; ``number`` never changes."""

    tab_id: str
    workspace_id: str
    number: int
    label: str
    focused: bool
    pane_count: int
    agent_status: Status


class PlacedPane(msgspec.Struct, frozen=True):
    """A pane with its rectangle."""

    pane_id: str
    focused: bool
    rect: Rect


class PlacedSplit(msgspec.Struct, frozen=True):
    """A split with its rectangle."""

    id: str
    direction: tree.Direction
    ratio: float
    rect: Rect


class LayoutInfo(msgspec.Struct, frozen=True, kw_only=True):
    """How a tab is divided."""

    workspace_id: str
    tab_id: str
    zoomed: bool = False
    area: Rect
    focused_pane_id: str
    panes: list[PlacedPane]
    splits: list[PlacedSplit]


class ReadInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Text of a pane; ``revision`` is always 0, as in Herdr."""

    pane_id: str
    workspace_id: str
    tab_id: str
    source: str
    format: str
    text: str
    revision: int = 0
    truncated: bool


class ProcessRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One process of the foreground group."""

    pid: int
    name: str
    argv: list[str] | None = None
    cmdline: str | None = None
    cwd: str | None = None


class ProcessInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What really runs in a pane."""

    pane_id: str
    foreground_processes: list[ProcessRecord]
    shell_pid: int | None = None
    foreground_process_group_id: int | None = None


_ROLL_UP: Final[tuple[Status, ...]] = ("blocked", "done", "working", "idle", "unknown")


def rolled_up(statuses: list[Status]) -> Status:
    """One status for several panes: the one that wants attention most."""
    return next((status for status in _ROLL_UP if status in statuses), "unknown")


def layout_info(workspace: Workspace, tab: Tab, area: Rect) -> LayoutInfo:
    """A tab's rectangles."""
    return LayoutInfo(
        workspace_id=workspace.workspace_id,
        tab_id=tab.tab_id,
        area=area,
        focused_pane_id=tab.focused,
        panes=[
            PlacedPane(pane_id, pane_id == tab.focused, rect)
            for pane_id, rect in tree.place(tab.root, area)
        ],
        splits=[
            PlacedSplit(f"split_{index}_{path or 'root'}", split.direction, split.ratio, rect)
            for index, (path, split, rect) in enumerate(tree.splits(tab.root, area))
        ],
    )


def exported(node: Node, labels: dict[str, str | None], folders: dict[str, str | None]) -> object:
    """A split tree as `layout.export` shows it; environments are never exported."""
    if isinstance(node, Leaf):
        facts = {
            "pane_id": node.pane,
            "label": labels.get(node.pane),
            "cwd": folders.get(node.pane),
        }
        return {"type": "pane"} | {key: value for key, value in facts.items() if value is not None}
    return {
        "type": "split",
        "direction": node.direction,
        "ratio": node.ratio,
        "first": exported(node.first, labels, folders),
        "second": exported(node.second, labels, folders),
    }


def pong() -> dict[str, object]:
    """The answer to `ping`."""
    return {
        "type": "pong",
        "version": __version__,
        "protocol": PROTOCOL,
        "capabilities": CAPABILITIES,
    }
