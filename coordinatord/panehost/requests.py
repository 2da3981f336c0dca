"""What may be asked of the host: one class per method, the envelope, and decoding.

Herdr's names and defaults (herdr-protocol.md §2). Unknown fields are ignored, ``params`` must be
there, ids are strings. Whatever cannot be decoded is ``invalid_request`` with the empty id (trap
4).
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from coordinatord.panehost.failures import Failed
from coordinatord.panehost.tree import Direction

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


class WorkspaceReportMetadata(Params, frozen=True, kw_only=True, tag="workspace.report_metadata"):
    """Set or clear tokens of a workspace."""

    workspace_id: str
    source: str
    tokens: dict[str, str | None]
    seq: int | None = None
    ttl_ms: int | None = None


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
    insert_index: int


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
    lines: int | None = None
    format: Literal["text", "ansi"] = "text"


class PaneWaitForOutput(Params, frozen=True, kw_only=True, tag="pane.wait_for_output"):
    """Answer when a line matches; text that is there already counts."""

    pane_id: str
    source: Source
    match: Match
    lines: int | None = None
    timeout_ms: int | None = None


class PaneReportAgent(Params, frozen=True, kw_only=True, tag="pane.report_agent"):
    """An agent's hook says what the agent does. ``ok`` even if ignored (trap 15)."""

    pane_id: str
    source: str
    agent: str
    state: Literal["idle", "working", "blocked", "unknown"]
    message: str | None = None
    seq: int | None = None
    agent_session_id: str | None = None
    agent_session_path: str | None = None


class PaneReportAgentSession(Params, frozen=True, kw_only=True, tag="pane.report_agent_session"):
    """An agent's hook says which conversation it is in. ``ok`` even if ignored."""

    pane_id: str
    source: str
    agent: str
    seq: int | None = None
    agent_session_id: str | None = None
    agent_session_path: str | None = None
    session_start_source: str | None = None


class PaneClearAgentAuthority(Params, frozen=True, kw_only=True, tag="pane.clear_agent_authority"):
    """Take back what a source reported; without a source, what all did."""

    pane_id: str
    source: str | None = None
    seq: int | None = None


class PaneReleaseAgent(Params, frozen=True, kw_only=True, tag="pane.release_agent"):
    """The reported agent has gone."""

    pane_id: str
    source: str
    agent: str
    seq: int | None = None


class PaneReportMetadata(Params, frozen=True, kw_only=True, tag="pane.report_metadata"):
    """Set or clear tokens and presentation of a pane."""

    pane_id: str
    source: str
    agent: str | None = None
    applies_to_source: str | None = None
    title: str | None = None
    display_agent: str | None = None
    state_labels: dict[str, str] = {}
    tokens: dict[str, str | None] = {}
    clear_title: bool = False
    clear_display_agent: bool = False
    clear_state_labels: bool = False
    seq: int | None = None
    ttl_ms: int | None = None


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
    lines: int | None = None
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
    args: list[str] = []
    timeout_ms: int = 30_000


class PromptWait(msgspec.Struct, frozen=True, kw_only=True):
    """What to wait for after a prompt."""

    until: list[Status] = []
    timeout_ms: int | None = None


class AgentPrompt(Params, frozen=True, kw_only=True, tag="agent.prompt"):
    """Text for an agent; Enter follows 300 ms after the answer."""

    target: str
    text: str
    wait: PromptWait | None = None


class AgentWait(Params, frozen=True, kw_only=True, tag="agent.wait"):
    """Answer when the agent has one of the states."""

    target: str
    until: list[Status] = []
    timeout_ms: int | None = None


class StatusChanged(msgspec.Struct, frozen=True, kw_only=True, tag="pane.agent_status_changed"):
    """Status and presentation of one pane."""

    pane_id: str
    agent_status: Status | None = None


class OutputMatched(msgspec.Struct, frozen=True, kw_only=True, tag="pane.output_matched"):
    """A line of one pane begins to match."""

    pane_id: str
    source: Source
    match: Match
    lines: int | None = None


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
    timeout_ms: int | None = None


class PaneAttach(Params, frozen=True, kw_only=True, tag="coordinatord.pane.attach"):
    """Our own method: the connection becomes the pane's terminal, see `attach.py`."""

    pane_id: str
    columns: int | None = None
    rows: int | None = None


METHODS: Final[dict[str, type[Params]]] = {
    str(params.__struct_config__.tag): params for params in Params.__subclasses__()
}

GLOBAL_KINDS: Final = (
    "workspace.created", "workspace.updated", "workspace.metadata_updated", "workspace.renamed",
    "workspace.moved", "workspace.reordered", "workspace.closed", "workspace.focused",
    "worktree.created", "worktree.opened", "worktree.removed", "tab.created", "tab.closed",
    "tab.focused", "tab.renamed", "tab.moved", "pane.created", "pane.closed", "pane.updated",
    "pane.focused", "pane.moved", "pane.exited", "pane.agent_detected", "layout.updated",
)  # fmt: skip
_PANE_KINDS: Final = ("pane.agent_status_changed", "pane.output_matched", "pane.scroll_changed")


class _Envelope(msgspec.Struct, frozen=True):
    id: str
    method: str
    params: msgspec.Raw


_envelopes: Final = msgspec.json.Decoder(_Envelope)
_subscriptions: Final[dict[str, type[PaneSubscription]]] = dict(
    zip(_PANE_KINDS, (StatusChanged, OutputMatched, ScrollChanged), strict=True)
)


def decode(line: bytes) -> tuple[str, Params]:
    """A request line as id and parameters.

    Raises:
        Failed: ``invalid_request`` with the empty id.
    """
    try:
        envelope = _envelopes.decode(line)
        params = METHODS.get(envelope.method)
        if params is None:
            raise _invalid(_unknown_variant(envelope.method, METHODS))
        # Rust's decoder takes an empty list for a struct without needed fields (recording 02)
        raw = b"{}" if bytes(envelope.params).strip() == b"[]" else envelope.params
        return envelope.id, msgspec.json.decode(raw, type=params)
    except msgspec.MsgspecError as error:
        raise _invalid(str(error)) from None


def subscription(entry: dict[str, Any]) -> str | PaneSubscription:
    """One entry of a subscription: the name of a global kind, or a pane's entry."""
    kind = entry.get("type")
    if not isinstance(kind, str):
        raise _invalid("missing field `type`")
    if kind in GLOBAL_KINDS:
        return kind
    if kind not in _subscriptions:
        raise _invalid(_unknown_variant(kind, (*GLOBAL_KINDS, *_PANE_KINDS)))
    try:
        return msgspec.convert(entry, type=_subscriptions[kind])
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from None


def _unknown_variant(name: str, known: Any) -> str:
    listed = ", ".join(f"`{one}`" for one in known)
    return f"unknown variant `{name}`, expected one of {listed}"


def _invalid(message: str) -> Failed:
    return Failed("invalid_request", f"invalid request: {message}", request_id="")
