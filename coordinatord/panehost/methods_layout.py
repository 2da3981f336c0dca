"""Workspaces, tabs, and where panes stand: create, list, get, focus, rename, close, export."""

from __future__ import annotations

import os
from typing import Final

import anyio
import anyio.to_thread

from coordinatord.panehost import environment, records, requests, tree, views
from coordinatord.panehost.failures import Failed
from coordinatord.panehost.host import Host
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.layout import Tab, Workspace
from coordinatord.panehost.methods import Answer, Table, ok

UNLABELLED: Final = "workspace"


async def create_workspace(host: Host, params: requests.WorkspaceCreate) -> Answer:
    environment.check(params.env)
    cwd = await _folder(host, params.cwd, _focused_folder(host))
    label = (params.label or "").strip() or os.path.basename(cwd) or UNLABELLED
    workspace, tab, pane_id = host.layout.open_workspace(label, focus=params.focus)
    hosted = _open(host, pane_id, cwd, params.env, "workspace_create_failed")
    host.hub.publish("workspace.created", workspace=views.workspace_info(host, workspace))
    _announce_tab(host, workspace, tab, hosted)
    return {
        "type": "workspace_created",
        "workspace": views.workspace_info(host, workspace),
        "tab": views.tab_info(host, workspace, tab),
        "root_pane": views.pane_info(host, hosted),
    }


def list_workspaces(host: Host, params: requests.WorkspaceList) -> Answer:
    listed = [views.workspace_info(host, workspace) for workspace in host.layout.workspaces]
    return {"type": "workspace_list", "workspaces": listed}


def get_workspace(host: Host, params: requests.WorkspaceGet) -> Answer:
    return _workspace_info(host, host.workspace(params.workspace_id))


def focus_workspace(host: Host, params: requests.WorkspaceFocus) -> Answer:
    workspace = host.workspace(params.workspace_id)
    _show(host, workspace, workspace.active_tab())
    return _workspace_info(host, workspace)


def rename_workspace(host: Host, params: requests.WorkspaceRename) -> Answer:
    workspace = host.workspace(params.workspace_id)
    workspace.label = params.label.strip() or workspace.label
    host.hub.publish(
        "workspace.renamed", workspace_id=workspace.workspace_id, label=workspace.label
    )
    host.save_soon()
    return _workspace_info(host, workspace)


async def close_workspace(host: Host, params: requests.WorkspaceClose) -> Answer:
    workspace = host.workspace(params.workspace_id)
    record = views.workspace_info(host, workspace)
    panes = [host.pane(pane_id) for pane_id in workspace.panes()]
    host.layout.drop_workspace(workspace)
    workspace_closed(host, workspace, record)
    await _end_all(host, panes)
    return ok()


async def create_tab(host: Host, params: requests.TabCreate) -> Answer:
    workspace = _asked_workspace(host, params.workspace_id)
    environment.check(params.env)
    otherwise = host.pane(workspace.active_tab().focused)
    cwd = await _folder(host, params.cwd, otherwise.foreground_cwd or otherwise.cwd)
    workspace = host.workspace(workspace.workspace_id)
    label = (params.label or "").strip() or None
    tab, pane_id = host.layout.open_tab(workspace, label, focus=params.focus)
    hosted = _open(host, pane_id, cwd, params.env, "tab_create_failed")
    _announce_tab(host, workspace, tab, hosted)
    return {
        "type": "tab_created",
        "tab": views.tab_info(host, workspace, tab),
        "root_pane": views.pane_info(host, hosted),
    }


def list_tabs(host: Host, params: requests.TabList) -> Answer:
    chosen = host.layout.workspaces
    if params.workspace_id is not None:
        chosen = [host.workspace(params.workspace_id)]
    listed = [
        views.tab_info(host, workspace, tab) for workspace in chosen for tab in workspace.tabs
    ]
    return {"type": "tab_list", "tabs": listed}


def get_tab(host: Host, params: requests.TabGet) -> Answer:
    return _tab_info(host, *host.tab(params.tab_id))


def focus_tab(host: Host, params: requests.TabFocus) -> Answer:
    workspace, tab = host.tab(params.tab_id)
    _show(host, workspace, tab)
    return _tab_info(host, workspace, tab)


def rename_tab(host: Host, params: requests.TabRename) -> Answer:
    workspace, tab = host.tab(params.tab_id)
    tab.label = params.label.strip() or None
    label = host.layout.tab_label(workspace, tab)
    host.hub.publish(
        "tab.renamed", tab_id=tab.tab_id, workspace_id=workspace.workspace_id, label=label
    )
    host.save_soon()
    return _tab_info(host, workspace, tab)


def move_tab(host: Host, params: requests.TabMove) -> Answer:
    workspace, tab = host.tab(params.tab_id)
    before = list(workspace.tabs)
    workspace.tabs.remove(tab)
    workspace.tabs.insert(max(0, min(params.insert_index, len(workspace.tabs))), tab)
    listed = [views.tab_info(host, workspace, one) for one in workspace.tabs]
    if workspace.tabs != before:
        host.hub.publish(
            "tab.moved", tab_id=tab.tab_id, workspace_id=workspace.workspace_id, tabs=listed
        )
        host.save_soon()
    return {"type": "tab_list", "tabs": listed}


async def close_tab(host: Host, params: requests.TabClose) -> Answer:
    workspace, tab = host.tab(params.tab_id)
    record = views.workspace_info(host, workspace)
    panes = [host.pane(pane_id) for pane_id in tree.leaves(tab.root)]
    left = host.layout.drop_tab(workspace, tab)
    host.hub.publish("tab.closed", tab_id=tab.tab_id, workspace_id=workspace.workspace_id)
    if left.workspace is not None:
        workspace_closed(host, workspace, record)
    await _end_all(host, panes)
    return ok()


async def split_pane(host: Host, params: requests.PaneSplit) -> Answer:
    target = _split_target(host, params)
    environment.check(params.env)
    cwd = await _folder(host, params.cwd, target.foreground_cwd or target.cwd)
    if target.gone:
        raise _no_target()
    pane_id = host.layout.split(target.pane_id, params.direction, params.ratio, focus=params.focus)
    hosted = _open(host, pane_id, cwd, params.env, "pane_split_failed")
    workspace, tab = host.layout.where(pane_id)
    host.hub.publish("pane.created", pane=views.pane_info(host, hosted))
    host.hub.publish("layout.updated", layout=views.layout_of(host, workspace, tab))
    return {"type": "pane_info", "pane": views.pane_info(host, hosted)}


def focus_pane(host: Host, params: requests.PaneFocus) -> Answer:
    hosted = host.pane(params.pane_id)
    show_pane(host, hosted)
    return {"type": "pane_info", "pane": views.pane_info(host, hosted)}


def show_pane(host: Host, hosted: HostedPane) -> None:
    """Focus a pane; its tab counts as seen from now on."""
    host.layout.focus(hosted.pane_id)
    host.mark_seen(host.layout.where(hosted.pane_id)[1])


async def close_pane(host: Host, params: requests.PaneClose) -> Answer:
    hosted = host.pane(params.pane_id)
    workspace, tab = host.layout.where(hosted.pane_id)
    record = views.workspace_info(host, workspace)
    left = host.layout.drop(hosted.pane_id)
    host.forget(hosted)
    host.hub.publish("pane.closed", pane_id=hosted.pane_id, workspace_id=workspace.workspace_id)
    if left.workspace is not None:
        workspace_closed(host, workspace, record)
    elif left.tab is None:
        host.hub.publish("layout.updated", layout=views.layout_of(host, workspace, tab))
    host.announce_focus()
    await host.end(hosted)
    return ok()


def layout_of_pane(host: Host, params: requests.PaneLayout) -> Answer:
    hosted = host.focused_pane() if params.pane_id is None else host.pane(params.pane_id)
    workspace, tab = host.layout.where(hosted.pane_id)
    return {"type": "pane_layout", "layout": views.layout_of(host, workspace, tab)}


def export_layout(host: Host, params: requests.LayoutExport) -> Answer:
    found = None if params.tab_id is None else host.layout.tab(params.tab_id)
    if params.tab_id is None:
        wanted = params.pane_id or (host.layout.focused() or (None, None, ""))[2]
        pane_id = host.layout.resolve(wanted)
        found = None if pane_id is None else host.layout.where(pane_id)
    if found is None:
        raise Failed("layout_not_found", "layout target not found")
    workspace, tab = found
    panes = [host.pane(pane_id) for pane_id in tree.leaves(tab.root)]
    root = records.exported(
        tab.root,
        {pane.pane_id: pane.label for pane in panes},
        {pane.pane_id: pane.cwd for pane in panes},
    )
    return {
        "type": "layout_export",
        "layout": {
            "workspace_id": workspace.workspace_id,
            "tab_id": tab.tab_id,
            "zoomed": False,
            "focused_pane_id": tab.focused,
            "root": root,
        },
    }


TABLE: Table = {
    requests.WorkspaceCreate: create_workspace,
    requests.WorkspaceList: list_workspaces,
    requests.WorkspaceGet: get_workspace,
    requests.WorkspaceFocus: focus_workspace,
    requests.WorkspaceRename: rename_workspace,
    requests.WorkspaceClose: close_workspace,
    requests.TabCreate: create_tab,
    requests.TabList: list_tabs,
    requests.TabGet: get_tab,
    requests.TabFocus: focus_tab,
    requests.TabRename: rename_tab,
    requests.TabMove: move_tab,
    requests.TabClose: close_tab,
    requests.PaneSplit: split_pane,
    requests.PaneFocus: focus_pane,
    requests.PaneClose: close_pane,
    requests.PaneLayout: layout_of_pane,
    requests.LayoutExport: export_layout,
}


def _open(host: Host, pane_id: str, cwd: str, env: dict[str, str], failure: str) -> HostedPane:
    """Start a shell where the layout has a place already; else take the place back."""
    hosted = host.add(pane_id, cwd)
    try:
        host.start(hosted, env)
    except OSError as error:
        host.layout.drop(pane_id)
        host.forget(hosted)
        raise Failed(failure, f"the shell could not be started: {error}") from None
    return hosted


def _focused_folder(host: Host) -> str | None:
    focused = host.layout.focused()
    if focused is None:
        return host.settings.cwd
    hosted = host.pane(focused[2])
    return hosted.foreground_cwd or hosted.cwd


def _asked_workspace(host: Host, workspace_id: str | None) -> Workspace:
    if workspace_id is not None:
        return host.workspace(workspace_id)
    focused = host.layout.focused()
    if focused is None:
        raise Failed("workspace_not_found", "no workspace is open")
    return focused[0]


def _split_target(host: Host, params: requests.PaneSplit) -> HostedPane:
    try:
        if params.target_pane_id is not None:
            return host.pane(params.target_pane_id)
        if params.workspace_id is not None:
            return host.pane(host.workspace(params.workspace_id).active_tab().focused)
        return host.focused_pane()
    except Failed as failed:
        if failed.code == "pane_not_found":
            raise _no_target() from None
        raise


def _no_target() -> Failed:
    return Failed("pane_not_found", "pane not found")


async def _folder(host: Host, wanted: str | None, otherwise: str | None) -> str:
    """Where to start; in a thread, for a folder may lie on a disk that does not answer."""
    return await anyio.to_thread.run_sync(environment.folder, wanted, otherwise, host.settings.base)


def _announce_tab(host: Host, workspace: Workspace, tab: Tab, hosted: HostedPane) -> None:
    host.hub.publish("tab.created", tab=views.tab_info(host, workspace, tab))
    host.hub.publish("pane.created", pane=views.pane_info(host, hosted))
    host.hub.publish("layout.updated", layout=views.layout_of(host, workspace, tab))


def _workspace_info(host: Host, workspace: Workspace) -> Answer:
    return {"type": "workspace_info", "workspace": views.workspace_info(host, workspace)}


def _tab_info(host: Host, workspace: Workspace, tab: Tab) -> Answer:
    return {"type": "tab_info", "tab": views.tab_info(host, workspace, tab)}


def _show(host: Host, workspace: Workspace, tab: Tab) -> None:
    workspace.active = tab.tab_id
    host.layout.active = workspace.workspace_id
    host.mark_seen(tab)


def workspace_closed(host: Host, workspace: Workspace, record: records.WorkspaceInfo) -> None:
    """Announce that a workspace closed; ``record`` is what it was."""
    host.hub.publish("workspace.closed", workspace_id=workspace.workspace_id, workspace=record)
    host.forget_workspace(workspace.workspace_id)


async def _end_all(host: Host, panes: list[HostedPane]) -> None:
    for hosted in panes:
        host.forget(hosted)
    host.announce_focus()
    async with anyio.create_task_group() as tasks:
        for hosted in panes:
            tasks.start_soon(host.end, hosted)
