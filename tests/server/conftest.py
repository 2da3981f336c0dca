"""A server with small routes on a private socket, and a client that speaks raw JSON lines."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
import pytest
from anyio.abc import SocketListener, TaskGroup, UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from coordinatord import errors
from coordinatord.server.connection import Limits
from coordinatord.server.dispatch import Link, Route
from coordinatord.server.listener import serve
from coordinatord.sockets import bind, lock
from coordinatord.wire.requests import Request


class Echo(Request[str], frozen=True, kw_only=True, tag="test.echo"):
    text: Annotated[str, msgspec.Meta(max_length=100)]
    times: int = 1


class Later(Request[str], frozen=True, kw_only=True, tag="test.later"):
    """Answered when `Bench.gates` says so."""

    gate: str


class Break(Request[str], frozen=True, kw_only=True, tag="test.break"):
    how: str
    later: bool = False


class Hello(Request[str], frozen=True, kw_only=True, tag="hello"):
    client: str


class WhoAmI(Request[str], frozen=True, kw_only=True, tag="test.whoami"):
    pass


class Follow(Request[str], frozen=True, kw_only=True, tag="test.follow"):
    pass


class Nonblank(Request[str], frozen=True, kw_only=True, tag="test.nonblank"):
    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise errors.Refused("empty", "the text is empty", "say something")


FAILURES: dict[str, BaseException] = {
    "refused": errors.Refused("seat-taken", "somebody holds it", "ask them"),
    "unreachable": errors.Unreachable("no answer"),
    "pane": errors.PaneMissing("w1:p2"),
    "host": errors.HostRefused("agent_busy", "it works"),
    "uncertain": errors.Uncertain("cut off"),
    "grouped": ExceptionGroup("one", [errors.Refused("paused", "typing is paused")]),
    "bug": ZeroDivisionError("the secret of the caller"),
}


@dataclass
class LogLines:
    """What was logged."""

    lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    written: anyio.Event = field(default_factory=anyio.Event)

    def warning(self, event: str, **facts: Any) -> None:
        self.lines.append((event, facts))
        self.written.set()

    error = warning


@dataclass
class Bench:
    """The routes, and what tests hold of them."""

    gates: dict[str, anyio.Event] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)
    links: list[Link] = field(default_factory=list)

    def open(self, gate: str) -> None:
        self._gate(gate).set()

    def _gate(self, gate: str) -> anyio.Event:
        return self.gates.setdefault(gate, anyio.Event())

    def tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    async def until_begun(self, count: int) -> None:
        while len(self.begun) < count:
            await self.changed.wait()

    async def until_ended(self, count: int) -> None:
        while len(self.ended) < count:
            await self.changed.wait()

    def routes(self) -> tuple[Route, ...]:
        return (
            Route(Echo, lambda _, request: request.text * request.times),
            Route(Later, self._later),
            Route(Break, self._break),
            Route(Hello, self._hello),
            Route(WhoAmI, self._whoami),
            Route(Follow, self._follow),
            Route(Nonblank, lambda _, request: request.text),
        )

    async def _later(self, _: Link, request: Later) -> str:
        self.begun.append(request.gate)
        self.tell()
        try:
            await self._gate(request.gate).wait()
        finally:
            self.ended.append(request.gate)
            self.tell()
        return request.gate

    def _break(self, _: Link, request: Break) -> Any:
        async def fail() -> None:
            await anyio.lowlevel.checkpoint()
            raise FAILURES[request.how]

        if request.later:
            return fail()
        if request.how == "unencodable":
            return "\ud800"
        raise FAILURES[request.how]

    def _hello(self, link: Link, request: Hello) -> str:
        link.greeting = request
        return "welcome"

    def _whoami(self, link: Link, _: WhoAmI) -> str | None:
        return link.greeting.client if isinstance(link.greeting, Hello) else None

    def _follow(self, link: Link, _: Follow) -> str:
        self.links.append(link)
        self.tell()
        return "following"


class Client:
    """Speaks lines; every wait is bounded."""

    def __init__(self, stream: UNIXSocketStream) -> None:
        self.stream = stream
        self._lines = BufferedByteReceiveStream(stream)
        self._ids = itertools.count(1)

    async def send(self, *messages: Any) -> None:
        """All in one piece."""
        lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        with anyio.fail_after(5):
            await self.stream.send(lines)

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    async def read(self) -> Any:
        with anyio.fail_after(5):
            return json.loads(await self._lines.receive_until(b"\n", 1 << 24))

    async def call(self, method: str, **params: Any) -> Any:
        await self.send(self.request(method, **params))
        return await self.read()

    async def read_to_end(self) -> list[Any]:
        """What still comes until the server closes."""
        lines = []
        with (
            contextlib.suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError),
        ):
            while True:
                lines.append(await self.read())
        return lines


@dataclass
class Running:
    """A server under test."""

    path: Path
    bench: Bench
    log: LogLines
    stop: anyio.Event
    group: TaskGroup
    listener: SocketListener
    ended: anyio.Event

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with await anyio.connect_unix(self.path) as stream:
            yield Client(stream)


@pytest.fixture
def bound(runtime_base: Path) -> Iterator[bind.BoundSocket]:
    held = lock.acquire(runtime_base / "lock")
    socket = bind.bind(runtime_base / "a.sock", held)
    yield socket
    socket.remove()
    socket.sock.close()
    held.release()


@pytest.fixture
def limits() -> Limits:
    return Limits(in_flight=4, output=64 << 10, grace=0.2)


@pytest.fixture
def allowed_uid() -> int:
    return os.getuid()


@pytest.fixture
async def server(
    bound: bind.BoundSocket, limits: Limits, allowed_uid: int
) -> AsyncIterator[Running]:
    bench, log, stop, ended = Bench(), LogLines(), anyio.Event(), anyio.Event()
    numbers = itertools.count(1)
    listener = await SocketListener.from_socket(bound.sock)

    async with anyio.create_task_group() as group:

        async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            await serve(
                listener,
                bench.routes(),
                allowed_uid=allowed_uid,
                log=log,
                new_log_id=lambda: f"log-{next(numbers)}",
                stop=stop,
                limits=limits,
                task_status=task_status,
            )
            ended.set()

        await group.start(run)
        yield Running(bound.path, bench, log, stop, group, listener, ended)
        group.cancel_scope.cancel()
