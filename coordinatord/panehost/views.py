"""The records of the host's panes, agents, tabs and workspaces as they are now. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinatord import __version__
from coordinatord.panehost import records, tree
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.layout import Tab, Workspace
from coordinatord.panehost.metadata import Shown
from coordinatord.panehost.records import (
    AgentInfo,
    LayoutInfo,
    PaneInfo,
    Scroll,
    TabInfo,
    WorkspaceInfo,
)

if TYPE_CHECKING:
    from coordinatord.panehost.host import Host


def shown(hosted: HostedPane) -> Shown:
    """The presentation that counts now."""
    return hosted.presentation.shown(hosted.agent.kind)


def pane_info(host: Host, hosted: HostedPane) -> PaneInfo:
    """A pane's record."""
    workspace, tab = host.layout.where(hosted.pane_id)
    looks, terminal = shown(hosted), hosted.terminal
    return PaneInfo(
        pane_id=hosted.pane_id,
        terminal_id=hosted.terminal_id,
        workspace_id=workspace.workspace_id,
        tab_id=tab.tab_id,
        focused=host.layout.is_focused(hosted.pane_id),
        agent_status=hosted.agent.status,
        revision=hosted.revision,
        cwd=hosted.cwd,
        foreground_cwd=hosted.foreground_cwd,
        label=hosted.label,
        agent=hosted.agent.kind,
        title=looks.title,
        display_agent=looks.display_agent,
        state_labels=looks.state_labels,
        terminal_title=terminal.screen.title or None if terminal else None,
        terminal_title_stripped=hosted.title,
        tokens=hosted.tokens.values(),
        agent_session=hosted.agent.session,
        scroll=Scroll(
            max_offset_from_bottom=terminal.screen.max_offset, viewport_rows=terminal.screen.rows
        )
        if terminal
        else None,
    )


def agent_info(host: Host, hosted: HostedPane) -> AgentInfo:
    """A pane's record as an agent."""
    pane, agent = pane_info(host, hosted), hosted.agent
    return AgentInfo(
        pane_id=pane.pane_id,
        terminal_id=pane.terminal_id,
        workspace_id=pane.workspace_id,
        tab_id=pane.tab_id,
        focused=pane.focused,
        agent_status=pane.agent_status,
        revision=pane.revision,
        state_change_seq=agent.state_change_seq,
        name=agent.name,
        agent=pane.agent,
        cwd=pane.cwd,
        foreground_cwd=pane.foreground_cwd,
        title=pane.title,
        display_agent=pane.display_agent,
        state_labels=pane.state_labels,
        terminal_title=pane.terminal_title,
        terminal_title_stripped=pane.terminal_title_stripped,
        tokens=pane.tokens,
        agent_session=pane.agent_session,
        screen_detection_skipped=agent.screen_skipped,
        launch_pending=agent.launch is not None,
        interactive_ready=agent.ready,
    )


def tab_info(host: Host, workspace: Workspace, tab: Tab) -> TabInfo:
    """A tab's record."""
    panes = _in_tab(host, tab)
    focused = host.layout.focused()
    return TabInfo(
        tab_id=tab.tab_id,
        workspace_id=workspace.workspace_id,
        number=tab.number,
        label=host.layout.tab_label(workspace, tab),
        focused=focused is not None and focused[1] is tab,
        pane_count=len(panes),
        agent_status=records.rolled_up([pane.agent.status for pane in panes]),
    )


def workspace_info(host: Host, workspace: Workspace) -> WorkspaceInfo:
    """A workspace's record."""
    panes = [pane for tab in workspace.tabs for pane in _in_tab(host, tab)]
    return WorkspaceInfo(
        workspace_id=workspace.workspace_id,
        number=host.layout.workspaces.index(workspace) + 1,
        label=workspace.label,
        focused=host.layout.active == workspace.workspace_id,
        pane_count=len(panes),
        tab_count=len(workspace.tabs),
        active_tab_id=workspace.active,
        agent_status=records.rolled_up([pane.agent.status for pane in panes]),
        tokens=host.workspace_tokens(workspace.workspace_id)[0].values(),
    )


def layout_of(host: Host, workspace: Workspace, tab: Tab) -> LayoutInfo:
    """A tab's rectangles."""
    return records.layout_info(workspace, tab, host.area)


def snapshot(host: Host) -> dict[str, object]:
    """Everything at this moment."""
    focused = host.layout.focused()
    panes = list(host.panes())
    tabs = [(workspace, tab) for workspace in host.layout.workspaces for tab in workspace.tabs]
    focus = (
        {}
        if focused is None
        else {
            "focused_workspace_id": focused[0].workspace_id,
            "focused_tab_id": focused[1].tab_id,
            "focused_pane_id": focused[2],
        }
    )
    return {
        "version": __version__,
        "protocol": records.PROTOCOL,
        **focus,
        "workspaces": [workspace_info(host, workspace) for workspace in host.layout.workspaces],
        "tabs": [tab_info(host, workspace, tab) for workspace, tab in tabs],
        "panes": [pane_info(host, pane) for pane in panes],
        "layouts": [layout_of(host, workspace, tab) for workspace, tab in tabs],
        "agents": [agent_info(host, pane) for pane in panes if pane.agent.present],
    }


def _in_tab(host: Host, tab: Tab) -> list[HostedPane]:
    found = (host.here(pane_id) for pane_id in tree.leaves(tab.root))
    return [pane for pane in found if pane is not None]
