"""Subscriptions and parked waits on a pane's status or output."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import anyio

from coordinatord.panehost import decoding, requests, requests_agents, views
from coordinatord.panehost.events import Entry, GlobalEntry, PaneEntry
from coordinatord.panehost.failures import Failed, pane_missing
from coordinatord.panehost.host import Host
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.metadata import LABELLED_STATES
from coordinatord.panehost.methods import Answer, Table
from coordinatord.panehost.methods_panes import read_info
from coordinatord.panehost.records import ReadInfo
from coordinatord.panehost.requests_agents import OutputMatched, ScrollChanged, StatusChanged

_LONGEST_PATTERN: Final = 4096
_RUNAWAY: Final = re.compile(r"\((?:[^()\\]|\\.)*[+*}|](?:[^()\\]|\\.)*\)[+*{]")
"""A repeated group that repeats or chooses inside: one line can hold up the host for ever."""


def entries(host: Host, request_id: str, asked: list[dict[str, Any]]) -> list[Entry]:
    """What a subscription asks for; one bad entry refuses all of it."""
    decoded = [decoding.subscription(entry) for entry in asked]
    made: list[Entry] = []
    for position, entry in enumerate(decoded):
        probe_id = f"{request_id}:sub:{position}:probe"
        match entry:
            case str():
                made.append(GlobalEntry(entry))
            case StatusChanged():
                hosted = _probed(host, entry.pane_id, probe_id)
                made.append(_status_entry(host, hosted, entry))
            case ScrollChanged():
                hosted = _probed(host, entry.pane_id, probe_id)
                made.append(_scroll_entry(hosted))
            case OutputMatched():
                matches = matcher(entry.match)
                try:
                    hosted, _ = host.terminal(entry.pane_id)
                except Failed:
                    # what Herdr answers for an unknown pane here (recording 02)
                    raise Failed(
                        "internal_error", "failed to decode pane read error", request_id=probe_id
                    ) from None
                made.append(_output_entry(host, hosted, entry, matches))
    return made


async def wait_event(host: Host, params: requests_agents.EventsWait, request_id: str) -> Answer:
    """`events.wait`: only the status of a pane can be waited for."""
    wanted = params.match_event
    if wanted.get("event") != "pane_agent_status_changed":
        raise Failed(
            "unsupported_event_wait_match",
            "events.wait currently supports pane agent status matches",
        )
    pane_id, status = wanted.get("pane_id"), wanted.get("agent_status")
    if not isinstance(pane_id, str) or status not in LABELLED_STATES:
        raise Failed("invalid_request", "invalid request: missing field `pane_id`", request_id="")
    probe_id = f"{request_id}:sub:0:probe"
    hosted = _probed(host, pane_id, probe_id)
    with _limit(params.timeout_ms) as scope:
        while hosted.agent.status != status:
            await host.hub.next_touch(hosted.terminal_id).wait()
            if hosted.gone:
                raise pane_missing(pane_id)
    if scope.cancelled_caught:
        raise Failed("timeout", "timed out waiting for event match")
    name = "pane_agent_status_changed"
    event = {"event": name, "data": {"type": name, **_status_payload(hosted)}}
    return {"type": "wait_matched", "event": event}


async def wait_output(host: Host, params: requests_agents.PaneWaitForOutput) -> Answer:
    """`pane.wait_for_output`: text that is there already counts."""
    matches = matcher(params.match)
    hosted, _ = host.terminal(params.pane_id)
    found: tuple[str, ReadInfo] | None = None
    with _limit(params.timeout_ms):
        while True:
            touched = host.hub.next_touch(hosted.terminal_id)
            found = _match(host, hosted, params.source, params.lines, matches)
            if found is not None:
                break
            await touched.wait()
            if hosted.gone:
                raise pane_missing(params.pane_id)
    if found is None:
        raise Failed("timeout", "timed out waiting for output match")
    line, shown = found
    return {
        "type": "output_matched",
        "pane_id": hosted.pane_id,
        "revision": 0,
        "matched_line": line,
        "read": shown,
    }


def matcher(match: requests.Match) -> Callable[[str], bool]:
    """A test for one line.

    Raises:
        Failed: ``invalid_regex``.
    """
    if isinstance(match, requests.Substring):
        return lambda line: match.value in line
    try:
        if len(match.value) > _LONGEST_PATTERN or _RUNAWAY.search(match.value):
            raise re.error("the pattern is too long, or repeats what repeats or chooses itself")
        pattern = re.compile(match.value)
    except (re.error, OverflowError, RecursionError) as error:
        raise Failed("invalid_regex", f"regex parse error: {error}") from None
    return lambda line: pattern.search(line) is not None


TABLE: Table = {requests_agents.PaneWaitForOutput: wait_output}


def _probed(host: Host, pane_id: str, probe_id: str) -> HostedPane:
    try:
        return host.pane(pane_id)
    except Failed as failed:
        raise Failed(failed.code, failed.message, request_id=probe_id) from None


def _status_payload(hosted: HostedPane) -> dict[str, object]:
    looks = views.shown(hosted)
    optional = {
        "agent": hosted.agent.kind,
        "title": looks.title,
        "display_agent": looks.display_agent,
        "state_labels": looks.state_labels or None,
    }
    return {
        "pane_id": hosted.pane_id,
        "workspace_id": hosted.pane_id.partition(":")[0],
        "agent_status": hosted.agent.status,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _status_entry(host: Host, hosted: HostedPane, asked: StatusChanged) -> PaneEntry:
    def telling() -> dict[str, object]:
        # a kind that comes or goes under an unchanged status is no news (recording 04)
        quiet = ("pane_id", "workspace_id", "agent")
        return {name: told for name, told in _status_payload(hosted).items() if name not in quiet}

    wanted = asked.agent_status
    # with a filter that already matches, one event is sent at once
    last = {} if wanted is not None and hosted.agent.status == wanted else telling()

    def probe() -> dict[str, object] | None:
        nonlocal last
        if hosted.gone or telling() == last:
            return None
        last = telling()
        if wanted is not None and hosted.agent.status != wanted:
            return None
        return _status_payload(hosted)

    return PaneEntry(hosted.terminal_id, "pane.agent_status_changed", probe)


def _scroll_entry(hosted: HostedPane) -> PaneEntry:
    def extent() -> int | None:
        return hosted.terminal.screen.max_offset if hosted.terminal else None

    last = extent()

    def probe() -> dict[str, object] | None:
        nonlocal last
        if hosted.gone or hosted.terminal is None or extent() == last:
            return None
        last = extent()
        return {
            "pane_id": hosted.pane_id,
            "workspace_id": hosted.pane_id.partition(":")[0],
            "scroll": {
                "offset_from_bottom": 0,
                "max_offset_from_bottom": last,
                "viewport_rows": hosted.terminal.screen.rows,
            },
        }

    return PaneEntry(hosted.terminal_id, "pane.scroll_changed", probe)


def _output_entry(
    host: Host, hosted: HostedPane, asked: OutputMatched, matches: Callable[[str], bool]
) -> PaneEntry:
    matched = False

    def probe() -> dict[str, object] | None:
        nonlocal matched
        if hosted.gone:
            return None
        found = _match(host, hosted, asked.source, asked.lines, matches)
        was, matched = matched, found is not None
        if found is None or was:
            return None
        return {"pane_id": hosted.pane_id, "matched_line": found[0], "read": found[1]}

    return PaneEntry(hosted.terminal_id, "pane.output_matched", probe)


def _match(
    host: Host,
    hosted: HostedPane,
    source: requests.Source,
    lines: int | None,
    matches: Callable[[str], bool],
) -> tuple[str, ReadInfo] | None:
    if hosted.terminal is None:
        return None
    # output waits look at whole lines: recent becomes recent_unwrapped (recording 03)
    looked: requests.Source = "recent_unwrapped" if source == "recent" else source
    shown = read_info(host, hosted, hosted.terminal, looked, lines, "text")
    line = next((line for line in shown.text.splitlines() if matches(line)), None)
    return None if line is None else (line, shown)


def _limit(timeout_ms: int | None) -> anyio.CancelScope:
    return anyio.move_on_after(None if timeout_ms is None else max(0, timeout_ms) / 1000)
