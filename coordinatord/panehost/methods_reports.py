"""What hooks and programs report about panes and workspaces. Reports that are ignored say ``ok``
too.
"""

from __future__ import annotations

from coordinatord.panehost import metadata, requests_agents, views
from coordinatord.panehost.agents import Change
from coordinatord.panehost.failures import Failed
from coordinatord.panehost.host import Host
from coordinatord.panehost.metadata import PresentationReport
from coordinatord.panehost.methods import Answer, Table, ok
from coordinatord.panehost.reports import Report, session_of


def report_agent(host: Host, params: requests_agents.PaneReportAgent) -> Answer:
    hosted = host.pane(params.pane_id)
    report = Report(params.source, params.agent, params.state)
    session = session_of(
        params.source, params.agent, params.agent_session_id, params.agent_session_path
    )

    def step(now: float, shows: bool) -> Change:
        change = hosted.agent.report(report, params.seq, now, shows=shows)
        if session is not None and hosted.agent.session is None:
            hosted.agent.converse(session, None, None)
        return change

    host.change(hosted, step)
    return ok()


def report_session(host: Host, params: requests_agents.PaneReportAgentSession) -> Answer:
    hosted = host.pane(params.pane_id)
    session = session_of(
        params.source, params.agent, params.agent_session_id, params.agent_session_path
    )
    if session is not None:
        host.change(
            hosted,
            lambda now, shows: hosted.agent.converse(
                session, params.session_start_source, params.seq
            ),
        )
        host.save_soon()
    return ok()


def clear_authority(host: Host, params: requests_agents.PaneClearAgentAuthority) -> Answer:
    hosted = host.pane(params.pane_id)

    def step(now: float, shows: bool) -> Change:
        hosted.agent.clear_session_of(params.source)
        return hosted.agent.release(params.source, params.seq, now, shows=shows)

    host.change(hosted, step, asked=True)
    return ok()


def release_agent(host: Host, params: requests_agents.PaneReleaseAgent) -> Answer:
    hosted = host.pane(params.pane_id)
    host.change(
        hosted,
        lambda now, shows: hosted.agent.release(params.source, params.seq, now, shows=shows),
        asked=True,
    )
    return ok()


def report_pane_metadata(host: Host, params: requests_agents.PaneReportMetadata) -> Answer:
    hosted = host.pane(params.pane_id)
    metadata.check_source(params.source)
    metadata.check_keys(params.tokens)
    metadata.check_ttl(params.ttl_ms)
    report = _presentation(params)
    if not params.tokens and not report.speaks():
        raise Failed("invalid_metadata_request", "missing metadata field to set or clear")
    if not hosted.sequences.admit(params.source, params.seq):
        return ok()
    now = host.clock()
    changed = bool(params.tokens) and hosted.tokens.report(params.tokens, params.ttl_ms, now)
    if report.speaks():
        hosted.presentation.report(params.source, report, params.ttl_ms, now)
    if changed:
        hosted.revision += 1
        host.updated(hosted)
    _sweep_later(host, params.ttl_ms)
    host.hub.touch(hosted.terminal_id)
    return ok()


def report_workspace_metadata(
    host: Host, params: requests_agents.WorkspaceReportMetadata
) -> Answer:
    workspace = host.workspace(params.workspace_id)
    metadata.check_source(params.source)
    metadata.check_keys(params.tokens)
    metadata.check_ttl(params.ttl_ms)
    if not params.tokens:
        raise Failed("invalid_metadata_token", "missing token to set or clear")
    tokens, sequences = host.workspace_tokens(workspace.workspace_id)
    if sequences.admit(params.source, params.seq) and tokens.report(
        params.tokens, params.ttl_ms, host.clock()
    ):
        _workspace_updated(host, workspace.workspace_id)
    _sweep_later(host, params.ttl_ms)
    return ok()


def sweep(host: Host) -> None:
    """Drop tokens and presentation that are past their time, and announce it."""
    now = host.clock()
    for hosted in list(host.panes()):
        shown = views.shown(hosted)
        hosted.presentation.expire(now)
        if hosted.tokens.expire(now):
            hosted.revision += 1
            host.updated(hosted)
        if views.shown(hosted) != shown:
            host.hub.touch(hosted.terminal_id)
    for workspace in host.layout.workspaces:
        if host.workspace_tokens(workspace.workspace_id)[0].expire(now):
            _workspace_updated(host, workspace.workspace_id)


TABLE: Table = {
    requests_agents.PaneReportAgent: report_agent,
    requests_agents.PaneReportAgentSession: report_session,
    requests_agents.PaneClearAgentAuthority: clear_authority,
    requests_agents.PaneReleaseAgent: release_agent,
    requests_agents.PaneReportMetadata: report_pane_metadata,
    requests_agents.WorkspaceReportMetadata: report_workspace_metadata,
}


def _presentation(params: requests_agents.PaneReportMetadata) -> PresentationReport:
    if (
        (params.title is not None and params.clear_title)
        or (params.display_agent is not None and params.clear_display_agent)
        or (params.state_labels and params.clear_state_labels)
    ):
        raise Failed("invalid_metadata_request", "cannot set and clear the same metadata field")
    for label in params.state_labels:
        if label not in metadata.LABELLED_STATES:
            raise Failed("invalid_state_label", f"unknown state label: {label}")
    labels = {state: metadata.clean(text) for state, text in params.state_labels.items()}
    return PresentationReport(
        agent=params.agent,
        title=metadata.clean(params.title),
        display_agent=metadata.clean(params.display_agent),
        state_labels={state: text for state, text in labels.items() if text is not None},
        clear_title=params.clear_title,
        clear_display_agent=params.clear_display_agent,
        clear_state_labels=params.clear_state_labels,
    )


def _sweep_later(host: Host, ttl_ms: int | None) -> None:
    if ttl_ms is not None:
        host.later(ttl_ms / 1000 + 0.005, lambda: sweep(host))


def _workspace_updated(host: Host, workspace_id: str) -> None:
    workspace = host.workspace(workspace_id)
    host.hub.publish("workspace.metadata_updated", workspace=views.workspace_info(host, workspace))
