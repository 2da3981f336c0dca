"""Recordings of a real Herdr, played back over a Unix socket, with no waiting for the clock.

`Tape` is one recording. `Truth` is what the host knows at a place on the tape, folded from its
answers. `ReplayHost` is the server: the request that is due gets its recorded answer, looks get the
truth, and recorded events go to whoever subscribed to their kind. `View` is a daemon reduced to
what it does with hints: look again.
"""

from __future__ import annotations

import copy
import json
import os
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.abc
import anyio.lowlevel
from anyio.abc import TaskStatus

from coordinatord.errors import PaneMissing, Unreachable
from coordinatord.ids import PaneId
from coordinatord.terminals.herdr.backend import HerdrTerminal
from coordinatord.terminals.port import (
    HostWorkspace,
    LookAround,
    LookAt,
    Sighting,
    StreamDown,
    StreamUp,
    Terminal,
    TerminalEvent,
)

FOLDER: Final = Path(__file__).parent.parent / "recordings" / "herdr-0.8.2"
NAMES: Final = sorted(path.stem for path in FOLDER.glob("*.ndjson"))

Json = dict[str, Any]

_LET_GO: Final = (
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.BusyResourceError,
)
"""A stream that its client has just left: closed, or being tried for a half-close."""

_SHARED: Final = ("agent", "agent_status", "agent_session", "terminal_id", "tokens")
"""What a pane's two records both say."""


class Row:
    """One line of a recording."""

    def __init__(self, line: str) -> None:
        entry = json.loads(line)
        self.conn: int = entry["conn"]
        self.what: str = entry["dir"]
        self.line: Any = entry["line"]

    @property
    def method(self) -> str:
        return str(self.line.get("method", "")) if isinstance(self.line, dict) else ""


class Tape:
    """One recording, its rows in order and the answer of each request."""

    def __init__(self, name: str) -> None:
        self.name = name
        text = (FOLDER / f"{name}.ndjson").read_text(encoding="utf-8")
        self.rows = [Row(line) for line in text.splitlines()]
        self.names: dict[str, str] = {}
        """The pane in which an agent of this name was seen last; grows while the tape is played."""

    def answer(self, index: int) -> Json | None:
        """The answer to the request at this place; None if the connection just ended."""
        conn = self.rows[index].conn
        for row in self.rows[index + 1 :]:
            if row.conn == conn and row.what in ("response", "eof"):
                return row.line if row.what == "response" else None
        return None

    def request_of(self, index: int) -> Row | None:
        """The request that the response at this place answers, if it is on the tape."""
        conn = self.rows[index].conn
        for row in reversed(self.rows[:index]):
            if row.conn == conn and row.what == "request" and row.method:
                return row
        return None

    def replayed(self) -> set[int]:
        """Places of events that a later subscriber got although they were old."""
        seen: dict[str, int] = {}
        again = set()
        for index, row in enumerate(self.rows):
            if row.what != "event":
                continue
            key = json.dumps(row.line, sort_keys=True)
            first = seen.setdefault(key, row.conn)
            if first != row.conn:
                again.add(index)
        return again


class Truth:
    """What the recorded host knows, folded from what it answered."""

    def __init__(self) -> None:
        self.panes: dict[str, Json] = {}
        self.agents: dict[str, Json] = {}
        self.workspaces: dict[str, Json] = {}
        self.aliases: dict[str, str] = {}
        self.focused: str | None = None

    def fold(self, request: Json, answer: Json, names: dict[str, str]) -> None:
        """Take in one answered request."""
        params = request.get("params") or {}
        if "error" in answer:
            self._refused(request["method"], params, answer["error"]["code"])
            return
        result = answer["result"]
        if result["type"] == "session_snapshot":
            self._replace(result["snapshot"])
        self._label(result)
        for record in _records(result):
            self._take(record, names)
        if result["type"] == "pane_move":
            self._moved(result["move_result"])
        self._closed(request["method"], params)

    def hear(self, event: Json) -> None:
        """Take in a live event that says what no answer does."""
        data = event["data"]
        pane = data.get("pane_id", "")
        match event["event"]:
            case "pane.agent_status_changed":
                for records in (self.panes, self.agents):
                    if pane in records:
                        records[pane]["agent_status"] = data["agent_status"]
            case "pane_exited":
                self.drop(pane)
            case "pane_agent_detected" if pane in self.panes:
                self._detected(pane, None if data.get("released") else data.get("agent"))

    def address(self, pane: str) -> str:
        """Where the pane that had this address is now."""
        return self.aliases.get(pane, pane)

    def snapshot(self) -> Json:
        """As `session.snapshot` answers."""
        return {
            "type": "session_snapshot",
            "snapshot": {
                "version": "0.8.2",
                "protocol": 20,
                "focused_pane_id": self.focused,
                "workspaces": list(self.workspaces.values()),
                "tabs": [],
                "layouts": [],
                "panes": list(self.panes.values()),
                "agents": list(self.agents.values()),
            },
        }

    def _refused(self, method: str, params: Json, code: str) -> None:
        if method == "agent.get" and code == "agent_not_found":
            # a name that is not found may have been dropped while its agent lives (recording 04)
            if params["target"] in self.panes:
                self._detected(params["target"], None)
        elif method == "pane.get" and code == "pane_not_found":
            self.drop(params["pane_id"])

    def _replace(self, snapshot: Json) -> None:
        self.panes, self.agents, self.workspaces = {}, {}, {}
        self.focused = snapshot.get("focused_pane_id")
        self.workspaces = {each["workspace_id"]: each for each in snapshot["workspaces"]}

    def _label(self, result: Json) -> None:
        one = [result["workspace"]] if "workspace" in result else []
        for workspace in [*one, *result.get("workspaces", [])]:
            self.workspaces[workspace["workspace_id"]] = workspace

    def _take(self, record: Json, names: dict[str, str]) -> None:
        record = copy.deepcopy(record)
        pane = record["pane_id"]
        if record.get("focused"):
            self.focused = pane
        if "state_change_seq" not in record:
            self.panes[pane] = record
            agent = self.agents.get(pane, {})
            if "agent" not in record and not agent.get("launch_pending"):
                self.agents.pop(pane, None)
            elif agent:
                agent |= {key: record[key] for key in _SHARED if key in record}
            return
        self.agents[pane] = record
        if "name" in record:
            names[record["name"]] = pane
        if pane in self.panes:
            self.panes[pane] |= {key: record[key] for key in _SHARED if key in record}

    def _moved(self, move: Json) -> None:
        old, new = move["previous_pane_id"], move["pane"]["pane_id"]
        if old != new:
            self.aliases[old] = new
            self.panes.pop(old, None)
            if (agent := self.agents.pop(old, None)) is not None:
                where = {key: move["pane"][key] for key in ("pane_id", "workspace_id", "tab_id")}
                self.agents.setdefault(new, agent | where)
        self._forget_empty()

    def _closed(self, method: str, params: Json) -> None:
        match method:
            case "pane.close":
                self.drop(params["pane_id"])
            case "tab.close":
                self._drop(lambda record: record["tab_id"] == params["tab_id"])
            case "workspace.close":
                self._drop(lambda record: record["workspace_id"] == params["workspace_id"])

    def drop(self, pane: str) -> None:
        """The pane is gone."""
        self._drop(lambda record: record["pane_id"] == pane)

    def _drop(self, gone: Callable[[Json], bool]) -> None:
        for records in (self.panes, self.agents):
            for pane in [pane for pane, record in records.items() if gone(record)]:
                del records[pane]
        self._forget_empty()

    def _forget_empty(self) -> None:
        used = {record["workspace_id"] for record in self.panes.values()}
        self.workspaces = {key: each for key, each in self.workspaces.items() if key in used}

    def _detected(self, pane: str, kind: str | None) -> None:
        record = self.panes[pane]
        if kind is None:
            self.agents.pop(pane, None)
            for key in ("agent", "agent_session"):
                record.pop(key, None)
            record["agent_status"] = "unknown"
            return
        record["agent"] = kind
        agent = self.agents.setdefault(
            pane, {key: value for key, value in record.items() if key not in ("label", "scroll")}
        )
        agent["agent"] = kind
        agent.setdefault("state_change_seq", 0)


class ReplayHost:
    """A server that answers from the tape where a request is due, and else from the truth."""

    def __init__(self, path: str, truth: Truth, tape: Tape | None = None) -> None:
        self.path = path
        self.truth = truth
        self.names = tape.names if tape is not None else {}
        self.due: tuple[Json, Json | None] | None = None
        """The recorded request that comes next, and its answer; None: the connection just ends."""
        self.pool: list[tuple[Json, Json]] = []
        """Recorded requests and answers that may be asked for in any order, each once."""
        self.scripted: dict[str, list[bytes] | None] = {}
        """What a method gets instead of an answer: pieces, then the end; None: nothing, ever."""
        self.connections = 0
        self.requests: list[Json] = []
        self.strangers: list[Json] = []
        """Requests that neither the tape nor the truth could answer."""
        self.down = False
        self.protocol = 20
        self.streams: dict[anyio.abc.SocketStream, list[Json]] = {}
        self._standing: dict[anyio.abc.SocketStream, anyio.CancelScope] = {}
        self.noise: list[str] = []
        """What clients did on a standing subscription: anything at all is a fault (T-2)."""
        self._waiting: list[tuple[Callable[[], bool], anyio.Event]] = []

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; it is looked at whenever a client did something."""
        while not condition():
            happened = anyio.Event()
            self._waiting.append((condition, happened))
            await happened.wait()

    def stop(self) -> None:
        """The host is gone: streams end, requests get no answer."""
        self.down = True
        self.cut()

    def cut(self) -> None:
        """End every stream."""
        for scope in self._standing.values():
            scope.cancel()

    def watched(self) -> set[str]:
        """The panes whose status somebody subscribes to."""
        return {
            self.truth.address(entry["pane_id"])
            for entries in self.streams.values()
            for entry in entries
            if "pane_id" in entry
        }

    async def emit(self, event: Json, *, always: bool = False) -> int:
        """Send an event to those who subscribed to its kind; to how many."""
        sent = 0
        for stream, entries in list(self.streams.items()):
            if always or any(self._wants(entry, event) for entry in entries):
                try:
                    await stream.send(json.dumps(event).encode() + b"\n")
                except _LET_GO:
                    continue
                sent += 1
        return sent

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        """One connection: one line in, one line out, then the end; or a subscription."""
        self.connections += 1
        async with stream:
            try:
                line = await _line(stream)
                if self.down or not line:
                    return
                request = json.loads(line)
                self.requests.append(request)
                if request["method"] == "events.subscribe":
                    await self._subscribe(stream, request)
                    return
                if request["method"] in self.scripted:
                    await _play(stream, self.scripted[request["method"]])
                    return
                answer = self._answer(request)
                if answer is not None:
                    await stream.send(json.dumps(answer | {"id": request["id"]}).encode() + b"\n")
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                pass  # the client went away first
            finally:
                self.streams.pop(stream, None)
                self._standing.pop(stream, None)
                self.wake()

    def wake(self) -> None:
        """Let those who wait look again."""
        waiting, self._waiting = self._waiting, []
        for _, happened in waiting:
            happened.set()

    def _wants(self, entry: Json, event: Json) -> bool:
        if entry["type"] == event["event"]:
            pane = self.truth.address(entry["pane_id"])
            return bool(pane == event["data"].get("pane_id"))
        return "pane_id" not in entry and entry["type"].replace(".", "_") == event["event"]

    def _answer(self, request: Json) -> Json | None:
        if self.due is not None and self._same(request, self.due[0]):
            return self.due[1]
        for pooled in self.pool:
            if self._same(request, pooled[0]):
                self.pool.remove(pooled)
                self.truth.fold(pooled[0], pooled[1], self.names)
                return pooled[1]
        answer = self._read(request["method"], request["params"])
        return answer if answer is not None else self._act(request)

    def _read(self, method: str, params: Json) -> Json | None:
        truth = self.truth
        match method, params:
            case "ping", _:
                return {"result": {"type": "pong", "version": "0.8.2", "protocol": self.protocol}}
            case "session.snapshot", _:
                return {"result": truth.snapshot()}
            case "pane.get", {"pane_id": pane} if truth.address(pane) in truth.panes:
                found = truth.panes[truth.address(pane)]
                return {"result": {"type": "pane_info", "pane": found}}
            case "workspace.get", {"workspace_id": space} if space in truth.workspaces:
                found = truth.workspaces[space]
                return {"result": {"type": "workspace_info", "workspace": found}}
            case "agent.get", {"target": pane} if pane in truth.agents:
                return {"result": {"type": "agent_info", "agent": truth.agents[pane]}}
        return None

    def _act(self, request: Json) -> Json | None:
        match request["method"], request["params"]:
            case _, {"pane_id": pane} if pane not in self.truth.panes:
                return _refusal("pane_not_found")
            case _, {"target": pane} if pane not in self.truth.agents:
                return _refusal("agent_not_found")
            case "pane.close", {"pane_id": pane}:
                self.truth.drop(pane)
                return {"result": {"type": "ok"}}
            case "pane.report_metadata", {"pane_id": pane, "tokens": tokens}:
                return self._reported(self.truth.panes[pane], tokens)
            case "workspace.report_metadata", {"workspace_id": space, "tokens": tokens}:
                if space not in self.truth.workspaces:
                    return _refusal("workspace_not_found")
                return self._reported(self.truth.workspaces[space], tokens)
        self.strangers.append(request)
        return None

    def _reported(self, record: Json, tokens: Json) -> Json:
        held = {**record.get("tokens", {}), **{key: (tokens[key] or "").strip() for key in tokens}}
        record["tokens"] = {key: value for key, value in held.items() if value}
        return {"result": {"type": "ok"}}

    def _same(self, request: Json, recorded: Json) -> bool:
        return request["method"] == recorded["method"] and self._plain(
            request["params"]
        ) == self._plain(recorded["params"])

    def _plain(self, params: Json) -> Json:
        """Without what is the default anyway, and with the pane for the agent's name."""
        defaults = {"focus": False, "keys": [], "args": [], "format": "text"}
        kept = {key: value for key, value in params.items() if defaults.get(key, ...) != value}
        if "target" in kept:
            kept["target"] = self.names.get(kept["target"], kept["target"])
        return kept

    async def _subscribe(self, stream: anyio.abc.SocketStream, request: Json) -> None:
        entries = request["params"]["subscriptions"]
        for index, entry in enumerate(entries):
            pane = entry.get("pane_id")
            if pane is not None and self.truth.address(pane) not in self.truth.panes:
                refusal = _refusal("pane_not_found", f"pane {pane} not found")
                refusal["id"] = f"{request['id']}:sub:{index}:probe"
                await stream.send(json.dumps(refusal).encode() + b"\n")
                return
        started = {"id": request["id"], "result": {"type": "subscription_started"}}
        await stream.send(json.dumps(started).encode() + b"\n")
        self.streams[stream] = entries
        self.wake()
        with anyio.CancelScope() as self._standing[stream]:
            try:
                self.noise.append(f"written: {await stream.receive()!r}")
            except anyio.EndOfStream:
                # a peer that closed its write side only can still be written to
                try:
                    await stream.send(b"\n")
                except anyio.BusyResourceError:
                    return  # an event is just being sent, and tells the same
                self.noise.append("half-closed")


class View:
    """What a daemon knows by following hints: it looks again, and believes no event."""

    def __init__(self, terminal: Terminal, wake: Callable[[], None]) -> None:
        self._terminal = terminal
        self._wake = wake
        self._send, self._inbox = anyio.create_memory_object_stream[TerminalEvent](100_000)
        self.panes: dict[PaneId, Sighting] = {}
        self.workspaces: dict[str, HostWorkspace] = {}
        self.up = False
        self.handled: list[TerminalEvent] = []
        self._around = False

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Follow the terminal's stream until cancelled."""
        async with anyio.create_task_group() as group:
            await group.start(self._stream)
            task_status.started()
            with self._inbox:
                async for event in self._inbox:
                    await self._take_in(event)
                    self.handled.append(event)
                    self._wake()

    async def backstop(self) -> None:
        """Take a snapshot, whatever the events said."""
        snapshot = await self._terminal.snapshot()
        self.panes, self.workspaces = snapshot.panes, snapshot.workspaces
        self._terminal.watch(frozenset(self.panes))

    async def _stream(self, *, task_status: TaskStatus[None]) -> None:
        with self._send:
            await self._terminal.run(self._send.send_nowait, task_status=task_status)

    async def _take_in(self, event: TerminalEvent) -> None:
        """Several reasons in a row to look around are one."""
        if isinstance(event, LookAround):
            self._around = True
            if self._inbox.statistics().current_buffer_used:
                return
        if self._around:
            self._around = False
            await self._handle(LookAround())
        if not isinstance(event, LookAround):
            await self._handle(event)

    async def _handle(self, event: TerminalEvent) -> None:
        try:
            match event:
                case StreamUp():
                    await self.backstop()
                    self.up = True
                case StreamDown():
                    self.up = False
                case LookAround():
                    await self.backstop()
                case LookAt(pane):
                    await self._look(pane)
        except Unreachable:
            return  # the stream ends too, and its return brings a snapshot

    async def _look(self, pane: PaneId) -> None:
        self.panes.pop(pane, None)
        try:
            sighting = await self._terminal.look(pane)
        except PaneMissing:
            return
        self.panes[sighting.pane] = sighting
        self._terminal.watch(frozenset(self.panes))


class InstantClock:
    """A clock whose sleepers wake at once, the time having passed."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def wall(self) -> float:
        return self.time

    def awake(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await anyio.lowlevel.checkpoint()


def terminal_at(path: str, deadline: float = 5.0) -> HerdrTerminal:
    """The client under test, with time that does not make it wait."""
    return HerdrTerminal(path, deadline=deadline, source=random.Random(7), clock=InstantClock())


@asynccontextmanager
async def serving(truth: Truth, tape: Tape | None = None) -> AsyncIterator[ReplayHost]:
    """A replay host that listens while the block runs."""
    with tempfile.TemporaryDirectory(prefix="replay-", dir="/tmp") as folder:
        host = ReplayHost(os.path.join(folder, "s"), truth, tape)
        listener = await anyio.create_unix_listener(host.path, backlog=128)
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, host.serve)
            yield host
            group.cancel_scope.cancel()


async def _play(stream: anyio.abc.SocketStream, pieces: list[bytes] | None) -> None:
    if pieces is None:
        await anyio.sleep_forever()
    for piece in pieces or ():
        await stream.send(piece)
        await anyio.lowlevel.checkpoint()


async def _line(stream: anyio.abc.SocketStream) -> bytes:
    buffer = b""
    while b"\n" not in buffer:
        buffer += await stream.receive()
    return buffer


def _records(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        if "terminal_id" in value and "pane_id" in value:
            yield value
        for each in value.values():
            yield from _records(each)
    elif isinstance(value, list):
        for each in value:
            yield from _records(each)


def _refusal(code: str, message: str = "") -> Json:
    return {"error": {"code": code, "message": message or code}}
