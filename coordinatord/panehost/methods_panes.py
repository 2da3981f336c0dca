"""Panes as they are: list, get, label, type into, read, processes. And the host's own small
answers.
"""

from __future__ import annotations

from coordinatord.panehost import records, requests, views
from coordinatord.panehost.failures import Failed
from coordinatord.panehost.host import Host
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.keys import InvalidKey, encode_keys
from coordinatord.panehost.methods import Answer, Table, ok
from coordinatord.panehost.pane import Pane, PaneClosed, QueueFull
from coordinatord.panehost.records import ProcessInfo, ProcessRecord, ReadInfo


def ping(host: Host, params: requests.Ping) -> Answer:
    return records.pong()


def stop(host: Host, params: requests.ServerStop) -> Answer:
    """The server sends this answer first and stops then."""
    return ok()


def notify(host: Host, params: requests.NotificationShow) -> Answer:
    if not params.title.strip():
        raise Failed("invalid_params", "notification title is empty")
    return {"type": "notification_show", "shown": False, "reason": "disabled"}


def snapshot(host: Host, params: requests.SessionSnapshot) -> Answer:
    return {"type": "session_snapshot", "snapshot": views.snapshot(host)}


def list_panes(host: Host, params: requests.PaneList) -> Answer:
    chosen = host.panes()
    if params.workspace_id is not None:
        chosen = map(host.pane, host.workspace(params.workspace_id).panes())
    return {"type": "pane_list", "panes": [views.pane_info(host, pane) for pane in chosen]}


def get_pane(host: Host, params: requests.PaneGet) -> Answer:
    return _pane_info(host, host.pane(params.pane_id))


def current_pane(host: Host, params: requests.PaneCurrent) -> Answer:
    try:
        caller = params.caller_pane_id
        hosted = host.focused_pane() if caller is None else host.pane(caller)
    except Failed:
        raise Failed("pane_not_found", "pane not found") from None
    return {"type": "pane_current", "pane": views.pane_info(host, hosted)}


def rename_pane(host: Host, params: requests.PaneRename) -> Answer:
    hosted = host.pane(params.pane_id)
    hosted.label = (params.label or "").strip() or None
    host.save_soon()
    return _pane_info(host, hosted)


def process_info(host: Host, params: requests.PaneProcessInfo) -> Answer:
    try:
        if params.pane_id is None:
            params = requests.PaneProcessInfo(pane_id=host.focused_pane().pane_id)
        hosted, terminal = host.terminal(params.pane_id or "")
    except Failed:
        raise Failed("pane_not_found", "pane not found") from None
    facts = terminal.foreground()
    programs = [
        ProcessRecord(
            pid=program.pid,
            name=program.name,
            argv=list(program.argv) or None,
            cmdline=program.cmdline,
            cwd=program.cwd,
        )
        for program in facts.programs
    ]
    shown = ProcessInfo(
        pane_id=hosted.pane_id,
        foreground_processes=programs,
        shell_pid=facts.shell_pid,
        foreground_process_group_id=facts.group,
    )
    return {"type": "pane_process_info", "process_info": shown}


def send_text(host: Host, params: requests.PaneSendText) -> Answer:
    hosted, terminal = host.terminal(params.pane_id)
    _type(host, hosted, terminal, [params.text.encode()])
    return ok()


def send_keys(host: Host, params: requests.PaneSendKeys) -> Answer:
    hosted, terminal = host.terminal(params.pane_id)
    _type(host, hosted, terminal, keys_for(terminal, params.keys))
    return ok()


def send_input(host: Host, params: requests.PaneSendInput) -> Answer:
    hosted, terminal = host.terminal(params.pane_id)
    keys = keys_for(terminal, params.keys)
    text = terminal.paste(params.text) if params.text else b""
    _type(host, hosted, terminal, [text + b"".join(keys)])
    return ok()


def read_pane(host: Host, params: requests.PaneRead) -> Answer:
    hosted, terminal = host.terminal(params.pane_id)
    return read(host, hosted, terminal, params.source, params.lines, params.format)


def read(
    host: Host,
    hosted: HostedPane,
    terminal: Pane,
    source: requests.Source,
    lines: int | None,
    form: str,
) -> Answer:
    """The answer of both reading methods."""
    shown = read_info(host, hosted, terminal, source, lines, form)
    return {"type": "pane_read", "read": shown}


def read_info(
    host: Host,
    hosted: HostedPane,
    terminal: Pane,
    source: requests.Source,
    lines: int | None,
    form: str,
) -> ReadInfo:
    """Text of a pane with where it stands."""
    workspace, tab = host.layout.where(hosted.pane_id)
    text, truncated = terminal.screen.text(source, lines, form == "ansi")
    return ReadInfo(
        pane_id=hosted.pane_id,
        workspace_id=workspace.workspace_id,
        tab_id=tab.tab_id,
        source=source,
        format=form,
        text=text,
        truncated=truncated,
    )


def keys_for(terminal: Pane, keys: list[str]) -> list[bytes]:
    """The bytes of all keys; one unknown key refuses all."""
    try:
        return encode_keys(keys, application_cursor=terminal.screen.application_cursor)
    except InvalidKey as invalid:
        raise Failed("invalid_key", f"unsupported key {invalid.key}") from None


def _type(host: Host, hosted: HostedPane, terminal: Pane, pieces: list[bytes]) -> None:
    try:
        for piece in pieces:
            host.type_bytes(hosted, terminal, piece)
    except (PaneClosed, QueueFull):
        raise Failed("pane_send_failed", f"pane {hosted.pane_id} takes no input") from None


def _pane_info(host: Host, hosted: HostedPane) -> Answer:
    return {"type": "pane_info", "pane": views.pane_info(host, hosted)}


TABLE: Table = {
    requests.Ping: ping,
    requests.ServerStop: stop,
    requests.NotificationShow: notify,
    requests.SessionSnapshot: snapshot,
    requests.PaneList: list_panes,
    requests.PaneGet: get_pane,
    requests.PaneCurrent: current_pane,
    requests.PaneRename: rename_pane,
    requests.PaneProcessInfo: process_info,
    requests.PaneSendText: send_text,
    requests.PaneSendKeys: send_keys,
    requests.PaneSendInput: send_input,
    requests.PaneRead: read_pane,
}
