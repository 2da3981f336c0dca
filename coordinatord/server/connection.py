"""One client's connection: reads calls, runs them, sends answers, and ends in an orderly way.

Invariant: while the client reads, each of its requests is answered, also when the daemon stops.
What is in hand when the connection ends gets a bounded time, so that a client which sends and
leaves has its request carried out, and one that waits for something does not leave its wait behind
for long.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup

from coordinatord.server.dispatch import Dispatcher, Outcome
from coordinatord.sockets.hangup import gone
from coordinatord.sockets.output import DEFAULT_LIMIT, Output
from coordinatord.sockets.peer import Peer
from coordinatord.wire.jsonrpc import Call, Code, Error, error
from coordinatord.wire.server_side import Cancelled, Reply, ServerSide, encode_farewell

_PIECE: Final = 16 << 10
"""Bytes read at once: bounds how many plain calls run before other connections have their turn."""

_TOO_SLOW: Final = encode_farewell(
    "slow-watcher",
    "the connection was dropped: more was waiting to be read than is kept",
    "connect again and resume from the last seq that arrived",
)
_STOPPING: Final = "the daemon is stopping"


@dataclass(frozen=True)
class Limits:
    """What one connection may use."""

    in_flight: int = 64
    """Async calls at once; more are not read until one is answered."""
    output: int = DEFAULT_LIMIT
    """Bytes that wait to be sent."""
    grace: float = 2.0
    """Seconds for what is in hand at the end, and again for sending what is queued."""


class Ending(enum.Enum):
    """Why no more is read."""

    READ = "the client sends no more, and has its answers"
    LEFT = "the client is gone"
    TOO_LONG = "a line was over the limit"
    TOO_SLOW = "the client did not read"
    STOPPING = "the daemon stops"


class Connection:
    """A `Link` with the machinery behind it."""

    def __init__(
        self, stream: SocketStream, peer: Peer, dispatcher: Dispatcher, limits: Limits
    ) -> None:
        self.peer = peer
        self.greeting: object | None = None
        self.caller: object | None = None
        self.closed = anyio.Event()
        self._stream = stream
        self._dispatcher = dispatcher
        self._limits = limits
        self._side = ServerSide()
        self._output = Output(_TOO_SLOW, self._drop, limits.output)
        self._tasks: dict[Call, anyio.CancelScope] = {}
        self._answered = anyio.Event()
        self._reading = anyio.CancelScope()
        self._ending: Ending | None = None

    def notify(self, method: str, params: object) -> bool:
        """Queue a notification; False if the connection is closed or was dropped as too slow."""
        return self._output.offer(self._side.notify(method, params))

    async def drained(self) -> None:
        """See `Output.drained`."""
        await self._output.drained()

    def stop(self) -> None:
        """Read no more, finish what is in hand, say ``stopping``, close."""
        self._end(Ending.STOPPING)

    async def run(self) -> Ending:
        """Serve the client until one of the endings."""
        async with self._stream, anyio.create_task_group() as group:
            group.start_soon(self._send)
            ending = await self._converse()
            self._output.close(_farewell(ending))
            self.closed.set()
            group.cancel_scope.deadline = anyio.current_time() + self._limits.grace
        return ending

    async def _converse(self) -> Ending:
        async with anyio.create_task_group() as tasks:
            with self._reading:
                ending = await self._read(tasks)
                self._ending = self._ending or ending
                await self._unless_gone(self._all_answered)
            ending = self._ending or Ending.LEFT
            with anyio.move_on_after(self._limits.grace):
                await self._all_answered()
            tasks.cancel_scope.cancel()
        for call in self._side.open_calls:
            self._answer(call, error(Code.REFUSED, "stopping", _STOPPING))
        return ending

    async def _read(self, tasks: TaskGroup) -> Ending:
        while not self._side.closing:
            try:
                self._side.feed(await self._stream.receive(_PIECE))
            except anyio.EndOfStream:
                self._side.end()
                await self._take_events(tasks)
                return Ending.READ
            except anyio.BrokenResourceError:
                return Ending.LEFT
            await self._take_events(tasks)
        return Ending.TOO_LONG

    async def _take_events(self, tasks: TaskGroup) -> None:
        for event in self._side.events():
            match event:
                case Reply(line):
                    self._output.put(line)
                case Cancelled(call):
                    self._cancel(call)
                case Call():
                    self._begin(event, tasks)
            if self._output.full or len(self._tasks) >= self._limits.in_flight:
                await self._unless_gone(self._room)

    def _begin(self, call: Call, tasks: TaskGroup) -> None:
        outcome = self._dispatcher.begin(self, call)
        if isinstance(outcome, bytes | Error):
            self._answer(call, outcome)
        else:
            self._tasks[call] = anyio.CancelScope()
            tasks.start_soon(self._await, call, outcome, self._tasks[call])

    async def _await(
        self, call: Call, outcome: Awaitable[Outcome], scope: anyio.CancelScope
    ) -> None:
        answer: Outcome = error(Code.CANCELLED, "cancelled", "the caller took the request back")
        try:
            with scope:
                answer = await outcome
            self._answer(call, answer)
        finally:
            del self._tasks[call]
            self._answered.set()

    def _cancel(self, call: Call) -> None:
        """A call without a task is a plain one of a batch that has its turn yet: it runs."""
        if call in self._tasks:
            self._tasks[call].cancel()

    def _answer(self, call: Call, outcome: Outcome) -> None:
        self._output.put(self._side.answer(call, outcome))

    async def _all_answered(self) -> None:
        await self._fewer_tasks_than(1)

    async def _room(self) -> None:
        await self._output.room()
        await self._fewer_tasks_than(self._limits.in_flight)

    async def _fewer_tasks_than(self, count: int) -> None:
        while len(self._tasks) >= count:
            self._answered = anyio.Event()
            await self._answered.wait()

    async def _unless_gone(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Wait while nothing is read, which is when a hang-up would go unnoticed."""
        async with anyio.create_task_group() as race:
            race.start_soon(self._end_when_gone)
            await wait()
            race.cancel_scope.cancel()

    async def _end_when_gone(self) -> None:
        await gone(self._stream.extra(SocketAttribute.raw_socket))
        self._end(Ending.LEFT)

    def _drop(self) -> None:
        self._end(Ending.TOO_SLOW)

    def _end(self, ending: Ending) -> None:
        if not self._reading.cancel_called:
            self._ending = ending
            self._reading.cancel()

    async def _send(self) -> None:
        try:
            await self._output.send_all(self._stream)
            if self._ending is not Ending.READ:
                await self._linger()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            self._output.close()
            self._end(Ending.LEFT)

    async def _linger(self) -> None:
        """Read on and throw away: a client that is still sending would never read our last line."""
        await self._stream.send_eof()
        try:
            while True:
                await self._stream.receive(_PIECE)
        except anyio.EndOfStream:
            pass  # the client has closed too: nothing can be lost any more


def _farewell(ending: Ending) -> bytes:
    if ending is Ending.STOPPING:
        return encode_farewell("stopping", _STOPPING, "connect again in a moment")
    return b""
