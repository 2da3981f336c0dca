"""Moving panes: beside another pane, to a new tab, to a new workspace."""

from __future__ import annotations

import os

from coordinatord.panehost import records, requests, tree, views
from coordinatord.panehost.failures import Failed
from coordinatord.panehost.host import Host
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.layout import Left, Moved, Tab, Workspace
from coordinatord.panehost.methods import Answer, Table
from coordinatord.panehost.methods_layout import UNLABELLED, show_pane, workspace_closed


def move_pane(host: Host, params: requests.PaneMove) -> Answer:
    pane_id = host.layout.resolve(params.pane_id)
    if pane_id is None:
        raise Failed("pane_not_found", "source pane not found")
    hosted = host.pane(pane_id)
    source = host.layout.where(pane_id)
    record = views.workspace_info(host, source[0])
    if isinstance(params.destination, requests.ToTab):
        workspace, tab = host.tab(params.destination.tab_id)
        if tab is source[1]:
            return _not_moved(host, hosted, workspace, tab)
    moved = _move(host, pane_id, params.destination)
    host.readdress(hosted, moved.pane_id)
    if params.focus:
        show_pane(host, hosted)
    return _tell_move(host, hosted, pane_id, source, moved, record)


TABLE: Table = {requests.PaneMove: move_pane}


def _move(
    host: Host,
    pane_id: str,
    destination: requests.ToTab | requests.ToNewTab | requests.ToNewWorkspace,
) -> Moved:
    match destination:
        case requests.ToTab():
            workspace, tab = host.tab(destination.tab_id)
            target = tab.focused
            if destination.target_pane_id is not None:
                target = host.layout.resolve(destination.target_pane_id) or ""
            if target not in tree.leaves(tab.root):
                raise Failed("target_pane_not_found", "target pane not found")
            return host.layout.move_beside(pane_id, target, destination.split, destination.ratio)
        case requests.ToNewTab():
            home = host.layout.where(pane_id)[0]
            asked = destination.workspace_id
            workspace = home if asked is None else host.workspace(asked)
            return host.layout.move_to_new_tab(pane_id, workspace, destination.label)
        case requests.ToNewWorkspace():
            label = destination.label or os.path.basename(host.pane(pane_id).cwd) or UNLABELLED
            return host.layout.move_to_new_workspace(pane_id, label, destination.tab_label)


def _not_moved(host: Host, hosted: HostedPane, workspace: Workspace, tab: Tab) -> Answer:
    layout = views.layout_of(host, workspace, tab)
    return {
        "type": "pane_move",
        "move_result": {
            "changed": False,
            "reason": "same_tab",
            **_came_from(hosted.pane_id, workspace, tab),
            "pane": views.pane_info(host, hosted),
            "source_layout": layout,
            "target_layout": layout,
            "focused_pane_id": tab.focused,
        },
    }


def _came_from(pane_id: str, workspace: Workspace, tab: Tab) -> dict[str, object]:
    return {
        "previous_pane_id": pane_id,
        "previous_workspace_id": workspace.workspace_id,
        "previous_tab_id": tab.tab_id,
    }


def _tell_move(
    host: Host,
    hosted: HostedPane,
    old_id: str,
    source: tuple[Workspace, Tab],
    moved: Moved,
    record: records.WorkspaceInfo,
) -> Answer:
    workspace, _ = host.layout.where(moved.pane_id)
    pane = views.pane_info(host, hosted)
    target_layout = views.layout_of(host, workspace, moved.tab)
    created: dict[str, object] = {}
    if moved.created_workspace is not None:
        created["created_workspace"] = views.workspace_info(host, moved.created_workspace)
        host.hub.publish("workspace.created", workspace=created["created_workspace"])
    if moved.created_tab is not None:
        created["created_tab"] = views.tab_info(host, workspace, moved.created_tab)
        host.hub.publish("tab.created", tab=created["created_tab"])
    closed = _closed(moved.left)
    came_from = _came_from(old_id, *source)
    host.hub.publish("pane.moved", **came_from, pane=pane, **created, **closed)
    left_layout: dict[str, object] = {}
    if moved.left.tab is not None:
        host.hub.publish("tab.closed", tab_id=source[1].tab_id, workspace_id=source[0].workspace_id)
    else:
        left_layout["source_layout"] = views.layout_of(host, *source)
        host.hub.publish("layout.updated", layout=left_layout["source_layout"])
    if moved.left.workspace is not None:
        workspace_closed(host, source[0], record)
    host.hub.publish("layout.updated", layout=target_layout)
    return {
        "type": "pane_move",
        "move_result": {
            "changed": True,
            **came_from,
            "pane": pane,
            **left_layout,
            "target_layout": target_layout,
            **created,
            **closed,
            "focused_pane_id": moved.tab.focused,
        },
    }


def _closed(left: Left) -> dict[str, object]:
    closed: dict[str, object] = {}
    if left.tab is not None:
        closed["closed_tab_id"] = left.tab.tab_id
    if left.workspace is not None:
        closed["closed_workspace_id"] = left.workspace.workspace_id
    return closed
