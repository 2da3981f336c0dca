"""A whole daemon behind a real socket, with callers whose seats are proven by launch tokens."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from anyio.abc import SocketListener, UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from coordinatord import catalogue
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.launches.table import digest
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.tool_runs.records import Ended, ToolRun
from coordinatord.features.tool_runs.table import RUNS
from coordinatord.ids import COORDINATOR, PaneId
from coordinatord.server.listener import serve
from coordinatord.sockets.bind import BoundSocket
from coordinatord.store.database import Transaction, View
from coordinatord.wire.requests import method_of
from tests.features.staff import ask
from tests.house import House, living

Who = Literal["person", "boss", "worker"]

METHODS: Final = tuple(method_of(request) for request in catalogue.REQUESTS)

UNPLAYED: Final = {
    "attention.seen",
    "brief.adopt",
    "brief.request",
    "question.close",
    "tool.close",
    "tool.run",
    "tool.runner-claim",
    "tool.runner-done",
    "wake.consume",
    "wake.show",
}
"""None of these is accepted here: they need a longer story (an alert, a run, a wake)."""


class Log:
    """Bugs that a route had, whole."""

    def __init__(self) -> None:
        self.bugs: list[BaseException] = []

    def warning(self, event: str, **facts: Any) -> None:
        """Nothing that a test wants to know."""

    def error(self, event: str, **facts: Any) -> None:
        """Keep the exception."""
        self.bugs.append(facts["exc_info"])


class Client:
    """One connection; every wait is bounded."""

    def __init__(self, stream: UNIXSocketStream) -> None:
        self._stream = stream
        self._lines = BufferedByteReceiveStream(stream)
        self._ids = itertools.count(1)

    async def call(self, method: str, params: Any) -> dict[str, Any]:
        """The whole response. Lone surrogates in ``params`` go out as JSON escapes."""
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        with anyio.fail_after(10):
            await self._stream.send(json.dumps(message).encode() + b"\n")
            answer: dict[str, Any] = json.loads(await self._lines.receive_until(b"\n", 1 << 24))
        return answer


class Scene:
    """Somebody in every role, something in every state, and a good request of every method."""

    def __init__(self, house: House, clients: dict[Who, Client], log: Log, facts: Any) -> None:
        self.house = house
        self.clients = clients
        self.log = log
        self.names: dict[str, str] = facts
        self.good: dict[str, tuple[Who, dict[str, Any]]] = good_requests(self.names)

    async def call(self, method: str, params: Any, who: Who | None = None) -> dict[str, Any]:
        """Call as the one who may, or as ``who``."""
        return await self.clients[who or self.good[method][0]].call(method, params)

    async def stored(self) -> dict[str, list[tuple[Any, ...]]]:
        """All that the database holds."""
        return await self.house.database.read(_dump)

    def typed(self) -> tuple[object, ...]:
        """All that was done to the host."""
        return (*self.house.host.typed, *self.house.host.panes)


def _dump(view: View) -> dict[str, list[tuple[Any, ...]]]:
    names = view.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return {name: view.rows(f"SELECT * FROM {name}") for (name,) in names}


def good_requests(names: dict[str, str]) -> dict[str, tuple[Who, dict[str, Any]]]:
    text = "some words"
    return {
        "hello": ("person", {"client": "test", "version": "1"}),
        "seat.init": ("boss", {"role": "coordinator"}),
        "seat.whoami": ("person", {}),
        "seat.bind": ("boss", {"task": names["task"], "worker_pane": names["worker"]}),
        "task.new": ("boss", {"title": "two", "brief": text, "worker_pane": names["free"]}),
        "task.list": ("person", {"archived": True}),
        "question.ask": ("worker", {"task": names["task"], "text": text}),
        "question.answer": ("boss", {"question": names["open"], "text": text}),
        "question.resolve": ("worker", {"question": names["answered"]}),
        "report.file": (
            "worker",
            {"task": names["task"], "outcome": "completed", "text": text},
        ),
        "verification.record": (
            "boss",
            {"task": names["task"], "candidate": "v1", "result": "pass"},
        ),
        "message.send": (
            "boss",
            {"to": f"worker:{names['task']}", "text": text, "expires_s": 60.0},
        ),
        "message.ack": ("worker", {"message": names["message"]}),
        "inbox.read": ("person", {"seat": f"worker:{names['task']}"}),
        "record.show": ("person", {"id": names["open"]}),
        "record.why": ("person", {"id": names["open"]}),
        "watch.subscribe": ("person", {"since": 0}),
        "trace.record": ("person", {}),
        "daemon.status": ("person", {}),
        "delivery.notice": ("boss", {"seat": "coordinator"}),
        "delivery.pump": ("boss", {}),
        "pane.open": (
            "boss",
            {"label": "tests", "cwd": "/", "split": names["free"], "command": ["true"]},
        ),
        "pane.list": ("person", {}),
        "pane.read": ("person", {"pane": names["free"], "lines": 5}),
        "pane.send": ("person", {"pane": names["free"], "text": text}),
        "pane.close": ("boss", {"pane": names["spare"]}),
        "daemon.stop": ("boss", {}),
        "tool.run": ("boss", {"label": "tests", "command": ["true"], "wait": False}),
        "tool.list": ("person", {"limit": 5}),
        "tool.result": ("boss", {"run": names["run"]}),
        "tool.tail": ("person", {"run": names["run"]}),
        "tool.cancel": ("boss", {"run": names["run"]}),
        "tool.close": ("boss", {"label": "tests"}),
        "tool.runner-claim": ("worker", {"run": names["run"]}),
        "tool.runner-done": ("worker", {"run": names["run"], "detail": text}),
        "question.close": ("boss", {"question": names["answered"], "reason": text}),
        "handoff.file": (
            "worker",
            {
                "task": names["task"],
                "outcome": "partial",
                "candidate": "v1",
                "next_action": text,
            },
        ),
        "review.file": (
            "boss",
            {"task": names["task"], "candidate": "v1", "verdict": "comment", "text": text},
        ),
        "publication.observe": (
            "boss",
            {
                "task": names["task"],
                "number": 7,
                "state": "open",
                "url": "https://example.org/7",
                "head_sha": "a" * 40,
            },
        ),
        "note.add": ("worker", {"task": names["task"], "text": text}),
        "note.list": ("person", {"task": names["task"]}),
        "decision.record": ("boss", {"task": names["task"], "text": text}),
        "brief.list": ("person", {"task": names["task"]}),
        "brief.read": ("person", {"brief": names["task"]}),
        "brief.regenerate": ("boss", {"task": names["task"], "policy": text}),
        "brief.request": ("boss", {"brief": names["task"]}),
        "brief.adopt": ("worker", {"brief": f"{names['task']}.r1"}),
        "message.withdraw": ("boss", {"message": names["message"]}),
        "seat.wait": ("person", {"target": "coordinator", "until": "gone", "limit_s": 0.01}),
        "wake.show": ("person", {}),
        "wake.consume": ("boss", {"boundary": "e-00000000"}),
        "delivery.enable": ("boss", {}),
        "delivery.disable": ("boss", {}),
        "delivery.status": ("person", {}),
        "delivery.shadow-on": ("boss", {}),
        "delivery.shadow-off": ("boss", {}),
        "delivery.shadow-report": ("person", {"limit": 5}),
        "attention.list": ("person", {}),
        "attention.seen": ("boss", {"alert": "a-00000000"}),
        "config.read": ("person", {}),
        "rundown.read": ("person", {"limit": 5}),
        "context.read": ("person", {"task": names["task"], "max_chars": 2000}),
        "log.read": ("person", {"task": names["task"], "after": 0, "limit": 5}),
        "task.archive": ("boss", {"task": names["task"], "acknowledge": True}),
        "upkeep.backup": ("boss", {}),
        "upkeep.doctor": ("person", {"fix": True}),
        "upkeep.export": ("person", {"limit": 5}),
        "upkeep.prune": ("boss", {"older_than_s": 3600.0, "dry_run": True}),
        "typing.pause": ("person", {}),
        "typing.resume": ("person", {}),
        "rpc.discover": ("person", {}),
    }


@asynccontextmanager
async def scene(folder: Path, bound: BoundSocket) -> AsyncIterator[Scene]:
    """A daemon without its background work: nothing changes but by requests."""
    async with living(folder, run=False) as house:
        log = Log()
        facts, tokens = await _staff(house)
        async with anyio.create_task_group() as group, AsyncExitStack() as stack:
            listener = await SocketListener.from_socket(bound.sock)
            await group.start(_serve, listener, house, log)
            clients: dict[Who, Client] = {}
            for who in ("person", "boss", "worker"):
                stream = await stack.enter_async_context(await anyio.connect_unix(bound.path))
                clients[who] = Client(stream)
                await _greet(clients[who], tokens.get(who))
            yield Scene(house, clients, log, facts)
            group.cancel_scope.cancel()


async def _greet(client: Client, token: str | None) -> None:
    hello = {"client": "test", "version": "1", "token": token}
    answer = await client.call("hello", hello)
    assert answer["result"]["proof"] == ("token" if token else "operator"), answer


async def _serve(
    listener: SocketListener, house: House, log: Log, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    await serve(
        listener,
        house.parts.routes(),
        allowed_uid=os.getuid(),
        log=log,
        new_log_id=lambda: "log-1",
        task_status=task_status,
    )


async def _staff(house: House) -> tuple[dict[str, str], dict[Who, str]]:
    host, parts = house.host, house.parts
    boss, worker, free, spare = (host.add_agent(status="working") for _ in range(4))
    await parts.lookout.look_around()
    await house.call(InitSeat(), boss)
    task = (await house.call(NewTask(title="one", brief="the work", worker_pane=worker), boss)).id
    asked = [await ask(house, task, worker, f"{n}?") for n in range(2)]
    await house.call(AnswerQuestion(question=asked[1], text="80"), boss)
    sent = await house.call(SendMessage(to=f"worker:{task}", text="hello"), boss)
    tokens: dict[Who, str] = {"boss": "token of the boss", "worker": "token of the worker"}
    for who, pane in (("boss", boss), ("worker", worker)):
        await house.database.write(_give_token, tokens[who], pane, host.panes[pane].terminal_id)  # type: ignore[index]
    names = {"boss": boss, "worker": worker, "free": free, "spare": spare, "task": task}
    names["run"] = await house.database.write(_end_run, boss, host.panes[boss].terminal_id)
    names |= {"open": asked[0], "answered": asked[1], "message": sent.id}
    return names, tokens


def _end_run(tx: Transaction, pane: PaneId, terminal: str) -> str:
    run = ToolRun(
        id=tx.mint("tool-run"),
        seq=tx.journal("tool-run", "x"),
        at=tx.now,
        by=COORDINATOR,
        owed_to=COORDINATOR,
        pane=pane,
        terminal=terminal,
        label="tests",
        command=("true",),
        cwd="/work",
        state=Ended(at=tx.now, exit_code=0),
    )
    RUNS.put(tx, run)
    return run.id


def _give_token(tx: Transaction, token: str, pane: PaneId, terminal: str) -> None:
    tx.run(
        "INSERT INTO launches (token, key, at, pane, terminal) VALUES (?, '', 0, ?, ?)",
        digest(token),
        pane,
        terminal,
    )
