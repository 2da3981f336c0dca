"""Agents: find, name, start, prompt, press keys, wait. Refusals in Herdr's order (herdr-protocol.md
§7.1).
"""

from __future__ import annotations

import functools
import logging
import shlex
import unicodedata
from collections.abc import Callable
from typing import Final

import anyio

from coordinatord.panehost import requests_agents, views
from coordinatord.panehost.agents import Agent, is_name
from coordinatord.panehost.failures import Failed, agent_missing, pane_missing
from coordinatord.panehost.host import Host
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.methods import Answer, Table, ok
from coordinatord.panehost.methods_layout import show_pane
from coordinatord.panehost.methods_panes import keys_for, read
from coordinatord.panehost.pane import Pane, PaneClosed, QueueFull
from coordinatord.panehost.requests import Status

_SHORTEST_TIMEOUT_MS: Final = 3_000
_LONGEST_TIMEOUT_MS: Final = 300_000
_SETTLED: Final[tuple[Status, ...]] = ("idle", "done", "blocked")
log = logging.getLogger("coordinatord.panehost")


def find(host: Host, target: str) -> HostedPane:
    """The agent with this name or this current pane id; nothing else is a target (trap 13)."""
    named = [pane for pane in host.panes() if pane.agent.name == target]
    if len(named) > 1:
        raise Failed("agent_target_ambiguous", f"agent target {target} is ambiguous")
    hosted = named[0] if named else host.here(target)
    if hosted is None or not hosted.agent.present:
        raise agent_missing(target)
    return hosted


def list_agents(host: Host, params: requests_agents.AgentList) -> Answer:
    listed = [views.agent_info(host, pane) for pane in host.panes() if pane.agent.present]
    return {"type": "agent_list", "agents": listed}


def get_agent(host: Host, params: requests_agents.AgentGet) -> Answer:
    return _agent_info(host, _advanced(host, params.target))


def focus_agent(host: Host, params: requests_agents.AgentFocus) -> Answer:
    hosted = find(host, params.target)
    show_pane(host, hosted)
    return _agent_info(host, hosted)


def rename_agent(host: Host, params: requests_agents.AgentRename) -> Answer:
    hosted = find(host, params.target)
    name = params.name
    if name is not None:
        _check_name(host, name, hosted)
    if hosted.agent.launch is not None:
        raise Failed("agent_launch_pending", f"agent {params.target} is still starting")
    host.change(hosted, lambda now, shows: hosted.agent.rename(name))
    return _agent_info(host, hosted)


def read_agent(host: Host, params: requests_agents.AgentRead) -> Answer:
    hosted = find(host, params.target)
    terminal = _terminal(hosted, pane_missing(hosted.pane_id))
    return read(host, hosted, terminal, params.source, params.lines, params.format)


def explain_agent(host: Host, params: requests_agents.AgentExplain) -> Answer:
    hosted = find(host, params.target)
    explained: dict[str, object] = {
        "agent": hosted.agent.kind,
        "state": hosted.agent.base,
        "matched_rule": None,
        "screen_detection_skipped": hosted.agent.screen_skipped,
        "evaluated_rules": [],
    }
    return {"type": "agent_explain", "explain": explained}


def send_keys(host: Host, params: requests_agents.AgentSendKeys) -> Answer:
    hosted = find(host, params.target)
    terminal = _in_front(host, hosted, params.target)
    keys = keys_for(terminal, params.keys)
    try:
        host.type_bytes(hosted, terminal, b"".join(keys))
    except (PaneClosed, QueueFull):
        raise Failed("agent_send_keys_failed", "the pane takes no input") from None
    return ok()


def start_agent(host: Host, params: requests_agents.AgentStart) -> Answer:
    if not host.kinds.startable(params.kind):
        raise Failed("unsupported_agent_kind", f"unsupported interactive agent kind {params.kind}")
    if not is_name(params.name):
        raise _bad_name()
    if not _SHORTEST_TIMEOUT_MS < params.timeout_ms <= _LONGEST_TIMEOUT_MS:
        raise Failed(
            "invalid_agent_timeout",
            "agent start timeout must be greater than 3000ms and at most 300000ms",
        )
    hosted = _launch_pane(host, params.pane_id)
    if any(map(_holds_control, params.args)):
        raise Failed(
            "invalid_agent_argument",
            "agent arguments cannot be encoded safely for the target shell",
        )
    _check_name(host, params.name, hosted)
    terminal = _shell_in_front(host, hosted)
    argv = host.kinds.command(params.kind, list(params.args))
    try:
        host.type_bytes(hosted, terminal, terminal.paste(shlex.join(argv)) + b"\r")
    except (PaneClosed, QueueFull):
        raise Failed("agent_start_input_failed", "the pane takes no input") from None
    hosted.agent.begin(
        params.name, params.kind, host.clock(), params.timeout_ms / 1000 * host.settings.pace
    )
    host.hub.touch(hosted.terminal_id)
    return {"type": "agent_started", "agent": views.agent_info(host, hosted), "argv": argv}


async def prompt_agent(host: Host, params: requests_agents.AgentPrompt) -> Answer:
    if not params.text:
        raise Failed("empty_agent_prompt", "agent prompt must not be empty")
    host_pane = find(host, params.target)
    if host_pane.terminal is None:
        raise agent_missing(params.target)
    agent = host_pane.agent
    if agent.base == "blocked":
        raise Failed(
            "agent_blocked", f"agent {params.target} is blocked and requires interactive input"
        )
    if agent.detected is None or agent.launch is not None:
        # a fresh look: the agent may have come or become ready without a word on its screen
        host.look(host_pane)
    if agent.launch is not None:
        raise _not_ready(params.target)
    terminal = _in_front(host, host_pane, params.target)
    before = agent.state_change_seq
    started_working = agent.base == "working"
    try:
        host.type_bytes(host_pane, terminal, terminal.paste(params.text))
    except (PaneClosed, QueueFull):
        raise Failed("agent_prompt_failed", "the pane takes no input") from None
    host.later(
        host.settings.enter_delay, functools.partial(_press_enter, host, host_pane, terminal)
    )
    if params.wait is not None:
        await _after_prompt(host, host_pane, params.wait, before, started_working)
    return {"type": "agent_prompted", "agent": views.agent_info(host, host_pane)}


async def wait_agent(host: Host, params: requests_agents.AgentWait) -> Answer:
    hosted = _advanced(host, params.target)
    pinned = _Pin(hosted)
    until = params.until or _SETTLED
    with _limit(params.timeout_ms) as scope:
        await _until(host, hosted, pinned, lambda agent: agent.status in until)
    if scope.cancelled_caught:
        raise Failed("timeout", "timed out waiting for agent status")
    return _agent_info(host, hosted)


TABLE: Table = {
    requests_agents.AgentList: list_agents,
    requests_agents.AgentGet: get_agent,
    requests_agents.AgentFocus: focus_agent,
    requests_agents.AgentRename: rename_agent,
    requests_agents.AgentRead: read_agent,
    requests_agents.AgentExplain: explain_agent,
    requests_agents.AgentSendKeys: send_keys,
    requests_agents.AgentStart: start_agent,
    requests_agents.AgentPrompt: prompt_agent,
    requests_agents.AgentWait: wait_agent,
}


class _Pin:
    """Which agent a wait is about: another kind or name, a move or an end is not it any more."""

    def __init__(self, hosted: HostedPane) -> None:
        self._seen = self._of(hosted)

    def holds(self, hosted: HostedPane) -> bool:
        return not hosted.gone and self._of(hosted) == self._seen

    @staticmethod
    def _of(hosted: HostedPane) -> tuple[object, ...]:
        return (hosted.agent.kind, hosted.agent.name, hosted.moves)


async def _until(
    host: Host, hosted: HostedPane, pinned: _Pin, met: Callable[[Agent], bool]
) -> None:
    while True:
        if not pinned.holds(hosted):
            raise Failed("agent_not_running", "agent is no longer running in the target pane")
        if met(hosted.agent):
            return
        await host.hub.next_touch(hosted.terminal_id).wait()


async def _after_prompt(
    host: Host,
    hosted: HostedPane,
    wait: requests_agents.PromptWait,
    before: int,
    started_working: bool,
) -> None:
    pinned = _Pin(hosted)
    until = wait.until or _SETTLED
    stall = host.settings.stall_after
    with _limit(wait.timeout_ms) as whole:
        if not started_working:
            with anyio.move_on_after(stall) as first:
                await _until(host, hosted, pinned, lambda agent: agent.state_change_seq != before)
            if first.cancelled_caught:
                raise Failed(
                    "agent_prompt_stalled",
                    f"agent prompt produced no observed state change within {stall * 1000:.0f} ms; "
                    f"status is {hosted.agent.status} and state_change_seq remained {before}",
                )
        await _until(host, hosted, pinned, lambda agent: agent.status in until)
    if whole.cancelled_caught:
        raise Failed("timeout", "timed out waiting for agent status")


def _limit(timeout_ms: int | None) -> anyio.CancelScope:
    return anyio.move_on_after(None if timeout_ms is None else max(0, timeout_ms) / 1000)


def _press_enter(host: Host, hosted: HostedPane, terminal: Pane) -> None:
    try:
        host.type_bytes(hosted, terminal, b"\r")
    except (PaneClosed, QueueFull):
        log.warning("the Enter of a prompt to pane %s could not be typed", hosted.pane_id)


def _advanced(host: Host, target: str) -> HostedPane:
    """Look afresh, advance a pending start, and find the target again: it may be gone by now."""
    hosted = find(host, target)
    host.look(hosted)
    host.change(hosted, lambda now, shows: hosted.agent.advance(now, shows=shows))
    return find(host, target)


def _in_front(host: Host, hosted: HostedPane, target: str) -> Pane:
    """The terminal, if a known agent really runs in its foreground now."""
    terminal = _terminal(hosted, agent_missing(target))
    kind = hosted.agent.kind
    if kind is None or host.kinds.kind_of(terminal.foreground()) != kind:
        raise _not_ready(target)
    return terminal


def _launch_pane(host: Host, pane_id: str) -> HostedPane:
    try:
        hosted = host.pane(pane_id)
    except Failed:
        raise Failed("agent_pane_not_found", f"agent target pane {pane_id} not found") from None
    if hosted.agent.launch is not None or hosted.agent.kind is not None:
        host.look(hosted)
    return hosted


def _shell_in_front(host: Host, hosted: HostedPane) -> Pane:
    busy = Failed(
        "agent_pane_busy", f"agent target pane {hosted.pane_id} is not an available shell"
    )
    terminal = _terminal(hosted, busy)
    facts = terminal.foreground()
    only_shell = [program.pid for program in facts.programs] == [terminal.shell_pid]
    if hosted.agent.launch is not None or not only_shell or facts.group != terminal.shell_pid:
        raise busy
    return terminal


def _terminal(hosted: HostedPane, otherwise: Failed) -> Pane:
    if hosted.terminal is None:
        raise otherwise
    return hosted.terminal


def _check_name(host: Host, name: str, own: HostedPane) -> None:
    if not is_name(name):
        raise _bad_name()
    for other in host.panes():
        if other.agent.name == name and other is not own:
            info = views.agent_info(host, other)
            raise Failed(
                "agent_name_taken",
                f"agent name {name} is already used; candidates: terminal_id={info.terminal_id} "
                f"pane_id={info.pane_id} workspace_id={info.workspace_id} tab_id={info.tab_id}",
            )


def _bad_name() -> Failed:
    return Failed(
        "invalid_agent_name",
        "agent name must start with a lowercase letter and contain only lowercase letters, "
        "digits, '-' or '_' (1-32 characters)",
    )


def _not_ready(target: str) -> Failed:
    return Failed("agent_not_ready", f"agent {target} is not an active named agent")


def _agent_info(host: Host, hosted: HostedPane) -> Answer:
    return {"type": "agent_info", "agent": views.agent_info(host, hosted)}


def _holds_control(argument: str) -> bool:
    return any(unicodedata.category(each) in ("Cc", "Cs") for each in argument)
