"""What may be asked about agents, and what hooks report: one class per method, see `requests`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from coordinatord.panehost.requests import Count, Match, Params, Source, Status


class WorkspaceReportMetadata(Params, frozen=True, kw_only=True, tag="workspace.report_metadata"):
    """Set or clear tokens of a workspace."""

    workspace_id: str
    source: str
    tokens: dict[str, str | None]
    seq: Count | None = None
    ttl_ms: Count | None = None


class PaneWaitForOutput(Params, frozen=True, kw_only=True, tag="pane.wait_for_output"):
    """Answer when a line matches; text that is there already counts."""

    pane_id: str
    source: Source
    match: Match
    lines: Count | None = None
    timeout_ms: Count | None = None


class PaneReportAgent(Params, frozen=True, kw_only=True, tag="pane.report_agent"):
    """An agent's hook says what the agent does. ``ok`` even if ignored (trap 15)."""

    pane_id: str
    source: str
    agent: str
    state: Literal["idle", "working", "blocked", "unknown"]
    message: str | None = None
    seq: Count | None = None
    agent_session_id: str | None = None
    agent_session_path: str | None = None


class PaneReportAgentSession(Params, frozen=True, kw_only=True, tag="pane.report_agent_session"):
    """An agent's hook says which conversation it is in. ``ok`` even if ignored."""

    pane_id: str
    source: str
    agent: str
    seq: Count | None = None
    agent_session_id: str | None = None
    agent_session_path: str | None = None
    session_start_source: str | None = None


class PaneClearAgentAuthority(Params, frozen=True, kw_only=True, tag="pane.clear_agent_authority"):
    """Take back what a source reported; without a source, what all did."""

    pane_id: str
    source: str | None = None
    seq: Count | None = None


class PaneReleaseAgent(Params, frozen=True, kw_only=True, tag="pane.release_agent"):
    """The reported agent has gone."""

    pane_id: str
    source: str
    agent: str
    seq: Count | None = None


class PaneReportMetadata(Params, frozen=True, kw_only=True, tag="pane.report_metadata"):
    """Set or clear tokens and presentation of a pane."""

    pane_id: str
    source: str
    agent: str | None = None
    applies_to_source: str | None = None
    title: str | None = None
    display_agent: str | None = None
    state_labels: dict[str, str] = msgspec.field(default_factory=dict)
    tokens: dict[str, str | None] = msgspec.field(default_factory=dict)
    clear_title: bool = False
    clear_display_agent: bool = False
    clear_state_labels: bool = False
    seq: Count | None = None
    ttl_ms: Count | None = None


class AgentList(Params, frozen=True, tag="agent.list"):
    """All panes with an agent or an agent's name."""


class AgentGet(Params, frozen=True, kw_only=True, tag="agent.get"):
    """One agent, by name or current pane id; advances a pending start."""

    target: str


class AgentFocus(Params, frozen=True, kw_only=True, tag="agent.focus"):
    """Show and focus an agent's pane."""

    target: str


class AgentRename(Params, frozen=True, kw_only=True, tag="agent.rename"):
    """Name an agent; null clears."""

    target: str
    name: str | None = None


class AgentRead(Params, frozen=True, kw_only=True, tag="agent.read"):
    """Text of an agent's pane."""

    target: str
    source: Source
    lines: Count | None = None
    format: Literal["text", "ansi"] = "text"


class AgentExplain(Params, frozen=True, kw_only=True, tag="agent.explain"):
    """Why the agent has the state it has; a free form."""

    target: str


class AgentSendKeys(Params, frozen=True, kw_only=True, tag="agent.send_keys"):
    """Press keys in an agent's pane, if the agent is in front."""

    target: str
    keys: list[str]


class AgentStart(Params, frozen=True, kw_only=True, tag="agent.start"):
    """Type an agent's command at the prompt of a pane's shell."""

    name: str
    kind: str
    pane_id: str
    args: list[str] = msgspec.field(default_factory=list)
    timeout_ms: Count = 30_000


class PromptWait(msgspec.Struct, frozen=True, kw_only=True):
    """What to wait for after a prompt."""

    until: list[Status] = []
    timeout_ms: Count | None = None


class AgentPrompt(Params, frozen=True, kw_only=True, tag="agent.prompt"):
    """Text for an agent; Enter follows 300 ms after the answer."""

    target: str
    text: str
    wait: PromptWait | None = None


class AgentWait(Params, frozen=True, kw_only=True, tag="agent.wait"):
    """Answer when the agent has one of the states."""

    target: str
    until: list[Status] = msgspec.field(default_factory=list)
    timeout_ms: Count | None = None


class StatusChanged(msgspec.Struct, frozen=True, kw_only=True, tag="pane.agent_status_changed"):
    """Status and presentation of one pane."""

    pane_id: str
    agent_status: Status | None = None


class OutputMatched(msgspec.Struct, frozen=True, kw_only=True, tag="pane.output_matched"):
    """A line of one pane begins to match."""

    pane_id: str
    source: Source
    match: Match
    lines: Count | None = None


class ScrollChanged(msgspec.Struct, frozen=True, kw_only=True, tag="pane.scroll_changed"):
    """The scrollback of one pane changes."""

    pane_id: str


PaneSubscription: TypeAlias = StatusChanged | OutputMatched | ScrollChanged


class EventsSubscribe(Params, frozen=True, kw_only=True, tag="events.subscribe"):
    """Events from now on, one per line after the answer."""

    subscriptions: list[dict[str, Any]]


class EventsWait(Params, frozen=True, kw_only=True, tag="events.wait"):
    """Answer when a pane has a status."""

    match_event: dict[str, Any]
    timeout_ms: Count | None = None
