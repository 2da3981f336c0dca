"""What may be asked about places and panes: one class per method.

Herdr's names and defaults (herdr-protocol.md §2). `requests_agents` has the other half, `decoding`
turns lines into these.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from coordinatord.panehost.tree import Direction

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""What is counted, or numbered, is never below nothing."""
Source = Literal["visible", "recent", "recent_unwrapped", "detection"]


Status = Literal["idle", "working", "blocked", "done", "unknown"]


class Params(msgspec.Struct, frozen=True, kw_only=True, tag_field="$method"):
    """Base of all parameters; a method's class carries the method's name as its tag."""


class Substring(msgspec.Struct, frozen=True, tag="substring"):
    """The line contains the value."""

    value: str


class Regex(msgspec.Struct, frozen=True, tag="regex"):
    """The pattern is found in the line."""

    value: str


Match: TypeAlias = Substring | Regex


class Ping(Params, frozen=True, tag="ping"):
    """Who are you?"""


class ServerStop(Params, frozen=True, tag="server.stop"):
    """Close everything and end."""


class NotificationShow(Params, frozen=True, kw_only=True, tag="notification.show"):
    """Show a toast; nobody looks here, so it is always disabled."""

    title: str
    body: str | None = None


class SessionSnapshot(Params, frozen=True, tag="session.snapshot"):
    """Everything at one moment."""


class WorkspaceCreate(Params, frozen=True, kw_only=True, tag="workspace.create"):
    """A workspace with one tab and one pane."""

    cwd: str | None = None
    focus: bool = False
    label: str | None = None
    env: dict[str, str] = {}


class WorkspaceList(Params, frozen=True, tag="workspace.list"):
    """All workspaces."""


class WorkspaceGet(Params, frozen=True, kw_only=True, tag="workspace.get"):
    """One workspace."""

    workspace_id: str


class WorkspaceFocus(Params, frozen=True, kw_only=True, tag="workspace.focus"):
    """Show a workspace."""

    workspace_id: str


class WorkspaceRename(Params, frozen=True, kw_only=True, tag="workspace.rename"):
    """Label a workspace."""

    workspace_id: str
    label: str


class WorkspaceClose(Params, frozen=True, kw_only=True, tag="workspace.close"):
    """End a workspace and all that runs in it."""

    workspace_id: str


class TabCreate(Params, frozen=True, kw_only=True, tag="tab.create"):
    """A tab with one pane."""

    workspace_id: str | None = None
    cwd: str | None = None
    focus: bool = False
    label: str | None = None
    env: dict[str, str] = {}


class TabList(Params, frozen=True, kw_only=True, tag="tab.list"):
    """All tabs, or those of a workspace."""

    workspace_id: str | None = None


class TabGet(Params, frozen=True, kw_only=True, tag="tab.get"):
    """One tab."""

    tab_id: str


class TabFocus(Params, frozen=True, kw_only=True, tag="tab.focus"):
    """Show a tab."""

    tab_id: str


class TabRename(Params, frozen=True, kw_only=True, tag="tab.rename"):
    """Label a tab."""

    tab_id: str
    label: str


class TabMove(Params, frozen=True, kw_only=True, tag="tab.move"):
    """Put a tab at another position of its workspace."""

    tab_id: str
    insert_index: Count


class TabClose(Params, frozen=True, kw_only=True, tag="tab.close"):
    """End a tab and all that runs in it."""

    tab_id: str


class PaneList(Params, frozen=True, kw_only=True, tag="pane.list"):
    """All panes, or those of a workspace."""

    workspace_id: str | None = None


class PaneGet(Params, frozen=True, kw_only=True, tag="pane.get"):
    """One pane; also by the id it had before a move."""

    pane_id: str


class PaneCurrent(Params, frozen=True, kw_only=True, tag="pane.current"):
    """The caller's pane if it says which, else the focused one."""

    caller_pane_id: str | None = None


class PaneFocus(Params, frozen=True, kw_only=True, tag="pane.focus"):
    """Show and focus a pane."""

    pane_id: str


class PaneSplit(Params, frozen=True, kw_only=True, tag="pane.split"):
    """A new pane beside another one."""

    direction: Direction
    target_pane_id: str | None = None
    workspace_id: str | None = None
    ratio: float | None = None
    cwd: str | None = None
    focus: bool = False
    env: dict[str, str] = {}


class PaneRename(Params, frozen=True, kw_only=True, tag="pane.rename"):
    """Label a pane; null or blank clears."""

    pane_id: str
    label: str | None = None


class ToTab(msgspec.Struct, frozen=True, kw_only=True, tag="tab"):
    """Beside a pane of an existing tab."""

    tab_id: str
    split: Direction
    target_pane_id: str | None = None
    ratio: float | None = None


class ToNewTab(msgspec.Struct, frozen=True, kw_only=True, tag="new_tab"):
    """To a new tab, in the same workspace if none is named."""

    workspace_id: str | None = None
    label: str | None = None


class ToNewWorkspace(msgspec.Struct, frozen=True, kw_only=True, tag="new_workspace"):
    """To a new workspace."""

    label: str | None = None
    tab_label: str | None = None


class PaneMove(Params, frozen=True, kw_only=True, tag="pane.move"):
    """Move a pane; across workspaces it gets a new id."""

    pane_id: str
    destination: ToTab | ToNewTab | ToNewWorkspace
    focus: bool = False


class PaneLayout(Params, frozen=True, kw_only=True, tag="pane.layout"):
    """The rectangles of the pane's tab."""

    pane_id: str | None = None


class LayoutExport(Params, frozen=True, kw_only=True, tag="layout.export"):
    """The split tree of a tab."""

    tab_id: str | None = None
    pane_id: str | None = None


class PaneProcessInfo(Params, frozen=True, kw_only=True, tag="pane.process_info"):
    """What really runs in a pane."""

    pane_id: str | None = None


class PaneClose(Params, frozen=True, kw_only=True, tag="pane.close"):
    """End a pane and all that runs in it."""

    pane_id: str


class PaneSendText(Params, frozen=True, kw_only=True, tag="pane.send_text"):
    """Type raw text."""

    pane_id: str
    text: str


class PaneSendKeys(Params, frozen=True, kw_only=True, tag="pane.send_keys"):
    """Press keys."""

    pane_id: str
    keys: list[str]


class PaneSendInput(Params, frozen=True, kw_only=True, tag="pane.send_input"):
    """Text, paste-wrapped if the program asked for that, then keys, in one write."""

    pane_id: str
    text: str = ""
    keys: list[str] = []


class PaneRead(Params, frozen=True, kw_only=True, tag="pane.read"):
    """Text of a pane."""

    pane_id: str
    source: Source
    lines: Count | None = None
    format: Literal["text", "ansi"] = "text"


class PaneAttach(Params, frozen=True, kw_only=True, tag="coordinatord.pane.attach"):
    """Our own method: the connection becomes the pane's terminal, see `attach.py`."""

    pane_id: str
    columns: Count | None = None
    rows: Count | None = None
