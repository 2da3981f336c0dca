"""The client against every recording of a real Herdr: each answer it got, and the view it ends
with.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from coordinatord.errors import HostRefused, PaneMissing, Uncertain, Unreachable, WorldFailed
from coordinatord.ids import PaneId, is_pane
from coordinatord.terminals.herdr.backend import HerdrTerminal
from coordinatord.terminals.port import LookAt, Sighting, StreamDown
from tests.terminals.replay import (
    NAMES,
    Json,
    ReplayHost,
    Row,
    Tape,
    Truth,
    View,
    serving,
    terminal_at,
)

FIELDS = ("pane_id", "terminal_id", "workspace_id", "tab_id", "agent", "name", "agent_session")

FIFTEEN = 15

ENDED = {"06-restart": 19, "07-kill": 18, "08-handoff": 18}
"""The subscription that each restart ended."""

TOLD = {"04-agent-lifecycle", "09-events", "11-move-tab"}
"""Recordings whose subscriptions announced every change of panes and occupants."""

READS = ("pane.get", "agent.get", "session.snapshot")


def test_all_recordings_are_here() -> None:
    assert len(NAMES) == FIFTEEN


# every request of every recording that the client can make is made, and its answer compared


@pytest.mark.parametrize("name", NAMES)
async def test_each_recorded_answer_is_understood(name: str) -> None:
    tape, truth = Tape(name), Truth()
    made = 0
    with anyio.fail_after(8):
        async with serving(truth, tape) as host:
            terminal = terminal_at(host.path)
            for index, row in enumerate(tape.rows):
                if row.what == "response" and (request := tape.request_of(index)):
                    truth.fold(request.line, row.line, tape.names)
                call = _call(terminal, row, tape) if row.what == "request" else None
                if call is None:
                    continue
                answer = tape.answer(index)
                if row.method in READS and answer is not None:
                    truth.fold(row.line, answer, tape.names)  # so all of a look agrees
                host.due = (row.line, answer)
                await _compare(call, row, answer)
                host.due = None
                made += 1
            assert host.strangers == []
            assert host.noise == []
    assert made > 0


def _call(terminal: HerdrTerminal, row: Row, tape: Tape) -> Callable[[], Awaitable[Any]] | None:
    """The client's call that sends this request, if it has one."""
    params = row.line.get("params") if isinstance(row.line, dict) else None
    if not isinstance(params, dict) or params.get("focus") or not _expressible(row, params):
        return None
    pane: Any = params.get("pane_id") or tape.names.get(
        params.get("target", ""), params.get("target")
    )
    place = {"cwd": params.get("cwd"), "env": params.get("env", {})}
    if row.method.startswith("agent.") and not is_pane(pane or ""):
        return None  # a name that no agent had: the client knows panes only
    calls: dict[str, Callable[[], Awaitable[Any]]] = {
        "ping": terminal.greet,
        "session.snapshot": terminal.snapshot,
        "pane.get": lambda: terminal.look(pane),
        "agent.get": lambda: terminal.look(pane),
        "pane.process_info": lambda: terminal.foreground(pane),
        "pane.read": lambda: terminal.read(
            pane,
            params["source"],
            lines=params.get("lines"),
            ansi=params.get("format") == "ansi",
        ),
        "agent.prompt": lambda: terminal.prompt(pane, params["text"]),
        "agent.send_keys": lambda: terminal.press(pane, params["keys"], to_agent=True),
        "pane.send_keys": lambda: terminal.press(pane, params["keys"]),
        "pane.send_input": lambda: terminal.send(pane, params["text"], params.get("keys", ())),
        "pane.split": lambda: terminal.split(
            params["target_pane_id"], params["direction"], **place
        ),
        "tab.create": lambda: terminal.new_tab(
            params["workspace_id"], label=params.get("label"), **place
        ),
        "workspace.create": lambda: terminal.new_workspace(label=params.get("label"), **place),
        "pane.rename": lambda: terminal.rename(pane, params.get("label")),
        "pane.close": lambda: terminal.close(pane),
        "agent.start": lambda: terminal.start_agent(
            pane, params["kind"], params["name"], params.get("args", ())
        ),
    }
    return calls.get(row.method)


def _expressible(row: Row, params: Json) -> bool:
    """Has the port a way to say these parameters? It never leaves a target out, for example."""
    known = {
        "ping": set(), "session.snapshot": set(),
        "pane.get": {"pane_id"}, "agent.get": {"target"}, "pane.process_info": {"pane_id"},
        "pane.read": {"pane_id", "source", "lines", "format"},
        "agent.prompt": {"target", "text"}, "agent.send_keys": {"target", "keys"},
        "pane.send_keys": {"pane_id", "keys"}, "pane.send_input": {"pane_id", "text", "keys"},
        "pane.split": {"target_pane_id", "direction", "focus", "cwd", "env"},
        "tab.create": {"workspace_id", "label", "focus", "cwd", "env"},
        "workspace.create": {"label", "focus", "cwd", "env"},
        "pane.rename": {"pane_id", "label"}, "pane.close": {"pane_id"},
        "agent.start": {"pane_id", "kind", "name", "args"},
    }  # fmt: skip
    wanted = {"pane_id", "target", "source", "keys", "target_pane_id", "workspace_id", "direction"}
    allowed: set[str] = known.get(row.method, set())
    if row.method == "pane.read" and params.get("strip_ansi") is not None:
        return False
    needed = allowed & wanted - ({"keys"} if row.method == "pane.send_input" else set())
    if not set(params) <= allowed or not needed <= set(params):
        return False
    return all(isinstance(params[key], str) for key in needed - {"keys"})


async def _compare(call: Callable[[], Awaitable[Any]], row: Row, answer: Json | None) -> None:
    __tracebackhide__ = True
    try:
        got = await call()
    except WorldFailed as error:
        _compare_failure(error, row, answer)
        return
    assert answer is not None
    if "error" in answer:
        # a pane without an agent: the client goes on and asks for the pane
        assert row.method in ("agent.get", "pane.get")
        assert answer["error"]["code"] == "agent_not_found", (got, row.line)
        named = not is_pane(row.line["params"].get("target", "w1:p1"))
        moved = got.pane != row.line["params"].get("target")
        assert named or moved or got.agent is None, (got, row.line)
        return
    result = answer["result"]
    match row.method:
        case "session.snapshot":
            assert _plain(got.panes.values()) == _expected(result["snapshot"])
        case "pane.read":
            assert (got.text, got.truncated) == (
                result["read"]["text"],
                result["read"]["truncated"],
            )
        case "pane.process_info":
            assert [each.pid for each in got.programs] == [
                each["pid"] for each in result["process_info"]["foreground_processes"]
            ]
        case "ping":
            assert (got.kind, got.protocol, got.may_type) == ("herdr", 20, True)
        case _ if isinstance(got, Sighting):
            record = next(result[key] for key in ("pane", "agent", "root_pane") if key in result)
            assert got.terminal_id == record["terminal_id"]
            assert got.status == record["agent_status"], (got, row.line)
            assert got.cwd == record["cwd"]
            assert got.live == ("foreground_cwd" in record)
            assert got.agent == record.get("agent"), (got, row.line)


def _compare_failure(error: WorldFailed, row: Row, answer: Json | None) -> None:
    if answer is None:
        assert isinstance(error, Unreachable | Uncertain), row.line
        return
    if not is_pane(row.line["params"].get("pane_id", "w1:p1")):
        assert isinstance(error, PaneMissing)  # T-21: such spellings resolve by position
        return
    code = answer["error"]["code"]
    missing = {"pane_not_found", "agent_pane_not_found", "target_pane_not_found"}
    if code in missing:
        assert isinstance(error, PaneMissing)
    elif row.method in ("agent.get", "pane.get"):
        assert isinstance(error, PaneMissing)  # neither agent nor pane
    else:
        assert isinstance(error, HostRefused), (error, row.line, answer)
        assert error.code == code


def _expected(snapshot: Json) -> dict[str, Json]:
    agents = {agent["pane_id"]: agent for agent in snapshot["agents"]}
    return {
        pane["pane_id"]: {
            "terminal_id": pane["terminal_id"],
            "workspace_id": pane["workspace_id"],
            "tab_id": pane["tab_id"],
            "status": pane["agent_status"],
            "agent": pane.get("agent"),
            "name": agents.get(pane["pane_id"], {}).get("name"),
            "label": pane.get("label"),
            "session": pane.get("agent_session", {}).get("value"),
            "focused": pane["focused"],
            "cwd": pane["cwd"],
            "live": "scroll" in pane,
            "tokens": pane.get("tokens", {}),
            "launch_pending": agents.get(pane["pane_id"], {}).get("launch_pending", False),
        }
        for pane in snapshot["panes"]
    }


def _occupants(panes: dict[str, Json]) -> dict[str, Json]:
    """Where somebody is, and who: what hints alone must keep right."""
    kept = ("terminal_id", "tab_id", "agent")
    return {pane: {key: each[key] for key in kept} for pane, each in panes.items()}


def _plain(sightings: Any) -> dict[str, Json]:
    return {
        each.pane: {
            "terminal_id": each.terminal_id,
            "workspace_id": each.workspace_id,
            "tab_id": each.tab_id,
            "status": each.status,
            "agent": each.agent,
            "name": each.name,
            "label": each.label,
            "session": each.session and each.session.value,
            "focused": each.focused,
            "cwd": each.cwd,
            "live": each.live,
            "tokens": each.tokens,
            "launch_pending": each.launch_pending,
        }
        for each in sightings
    }


# a daemon follows each recording by hints


class Player:
    """Plays a tape to a daemon's view."""

    def __init__(self, tape: Tape, host: ReplayHost, view: View) -> None:
        self.tape = tape
        self.host = host
        self.view = view
        self.old = tape.replayed()
        self.marks = 0
        self.snapshots: list[dict[str, Json]] = []

    async def play(self) -> None:
        for index, row in enumerate(self.tape.rows):
            match row.what:
                case "response" if request := self.tape.request_of(index):
                    await self._answered(request, row.line)
                case "event":
                    await self.event(row.line, old=index in self.old)
                case "eof" if row.conn == ENDED.get(self.tape.name):
                    self.host.stop()
                    await self.host.until(lambda: not self.view.up)

    async def event(self, event: Json, *, old: bool = False, always: bool = False) -> None:
        """Let the host say it, and wait until the daemon has done all that follows from it."""
        if not old:
            self.host.truth.hear(event)
        while True:
            await self.host.until(self._steady)
            streams = set(self.host.streams)
            await self.host.emit(event, always=always)
            self.marks += 1
            mark = PaneId(f"w9999:p{self.marks}")
            note = {"event": "pane_updated", "data": {"pane": {"pane_id": mark}}}
            await self.host.emit(note, always=True)
            if await self._handled(LookAt(mark), streams):
                return
            # the client was changing streams: a host says it on both

    async def _handled(self, last: LookAt, streams: set[Any]) -> bool:
        await self.host.until(
            lambda: last in self.view.handled or streams != set(self.host.streams)
        )
        return last in self.view.handled

    def _steady(self) -> bool:
        """Has the client one stream, with the panes that it knows?"""
        truth = self.host.truth
        known = {truth.aliases.get(pane, pane) for pane in self.view.panes}
        there = truth.panes.keys()
        return len(self.host.streams) == 1 and self.host.watched() & there == known & there

    async def _answered(self, request: Row, answer: Json) -> None:
        self.host.truth.fold(request.line, answer, self.tape.names)
        if request.method != "session.snapshot":
            return
        if self.host.down:
            self.host.down = False
            await self.host.until(lambda: self.view.up)
        wanted = _expected(answer["result"]["snapshot"])
        if self.tape.name in TOLD:
            assert _occupants(_plain(self.view.panes.values())) == _occupants(wanted)
        await self.view.backstop()
        assert _plain(self.view.panes.values()) == wanted
        self.snapshots.append(wanted)


@asynccontextmanager
async def following(name: str) -> AsyncIterator[Player]:
    tape, truth = Tape(name), Truth()
    with anyio.fail_after(8):
        async with serving(truth, tape) as host, anyio.create_task_group() as group:
            view = View(terminal_at(host.path), host.wake)
            await group.start(view.run)
            await host.until(lambda: view.up)
            yield Player(tape, host, view)
            assert host.noise == []
            group.cancel_scope.cancel()


@pytest.mark.parametrize("name", NAMES)
async def test_view_ends_with_the_recordings_truth(name: str) -> None:
    """T-7, T-9, T-10: hints plus a backstop snapshot end at the truth, whatever the events lack."""
    async with following(name) as player:
        await player.play()
        wanted = _expected(player.host.truth.snapshot()["snapshot"])
        if name in TOLD:
            assert _occupants(_plain(player.view.panes.values())) == _occupants(wanted)
        await player.view.backstop()
        assert _plain(player.view.panes.values()) == wanted


async def test_replayed_events_of_things_long_gone_change_nothing() -> None:
    """T-7: recording 09's second subscriber was told seventy old stories; none is believed."""
    async with following("09-events") as player:
        await player.play()
        before = _plain(player.view.panes.values())
        for index in sorted(player.old):
            await player.event(player.tape.rows[index].line, old=True, always=True)
        assert len(player.old) > 50
        assert _plain(player.view.panes.values()) == before


async def test_a_burst_with_holes_ends_at_the_truth() -> None:
    """T-7: of 600 renames in recording 09b 73 are lost without a sign."""
    async with following("09b-burst") as player:
        rows = player.tape.rows
        renames = [
            row.line
            for row in rows
            if row.what == "event" and row.line["event"] == "workspace_renamed"
        ]
        await player.play()
        for event in renames[:527]:
            await player.host.emit(event, always=True)
        await player.event(renames[0], old=True, always=True)
        labels = [row.line["params"]["label"] for row in rows if row.method == "workspace.rename"]
        assert player.view.workspaces["w1"].label == labels[-1]
        assert player.view.workspaces["w1"].label != renames[0]["data"]["label"]


@pytest.mark.parametrize("name", ["06-restart", "07-kill", "08-handoff"])
async def test_after_a_restart_the_same_panes_have_new_terminals(name: str) -> None:
    """T-12, T-17: pane ids and labels stay, terminal ids never do, tokens are lost."""
    async with following(name) as player:
        await player.play()
        before, after = player.snapshots[0], player.snapshots[1]
        both = before.keys() & after.keys()
        assert "w1:p2" in both
        assert all(before[pane]["terminal_id"] != after[pane]["terminal_id"] for pane in both)
        assert player.view._terminal.health().reconnects == 1
        assert [type(event) for event in player.view.handled if isinstance(event, StreamDown)]


def test_every_surprise_is_proven_somewhere() -> None:
    """The table of surprises names tests that are there."""
    tests = Path(__file__).parent.parent
    named = set(re.findall(r"`(test_\w+)`", (tests / "recordings" / "README.md").read_text()))
    text = "".join(path.read_text() for path in sorted(tests.rglob("test_*.py")))
    assert len(named) > 20
    assert named <= set(re.findall(r"def (test_\w+)\(", text))
