"""The one subscription connection: it says where to look again, and nothing else.

Invariant: nothing is ever written on a standing subscription and its write side is never closed
(T-2). A changed watch set is a new connection that stands before the old one is let go, so no event
falls between them; what the host replays to the newcomer (T-7) costs looks and tells no lies, since
hints carry no facts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from typing import Final

import anyio
import msgspec
from anyio.abc import TaskGroup, TaskStatus

from coordinatord.clock import Clock
from coordinatord.errors import Unreachable, WorldFailed
from coordinatord.ids import PaneId, is_pane
from coordinatord.terminals.herdr.connection import Connection, Lost
from coordinatord.terminals.herdr.request import failure, line_of
from coordinatord.terminals.herdr.schema import Answer, Event
from coordinatord.terminals.port import LookAround, LookAt, StreamDown, StreamUp, TerminalEvent

LIFECYCLE: Final = (
    "pane.created", "pane.closed", "pane.exited", "pane.updated", "pane.moved",
    "pane.agent_detected", "tab.closed", "workspace.created", "workspace.closed",
)  # fmt: skip
"""Global kinds, each once: one listed twice comes twice (§4.3). Closing a tab announces no pane
(§4.4).
"""

STATUS: Final = "pane.agent_status_changed"

_ONE_PANE: Final = frozenset(
    {"pane_created", "pane_closed", "pane_exited", "pane_updated", "pane_agent_detected", STATUS}
)

DEBOUNCE: Final = 0.2
"""Seconds that a changed watch set waits for more changes."""

OVERLAP: Final = 0.3
"""Seconds that the old stream is still read after the new one stands: the host polls each entry
every 100 ms (§4.3), so what happened just before may be on its way on the old one only."""

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
STEADY: Final = 10.0
"""Seconds that a stream must have stood for the pauses to begin again at the shortest."""

_PROBE: Final = re.compile(r":sub:(\d+):probe$")

_event: Final = msgspec.json.Decoder(Event).decode
_answer: Final = msgspec.json.Decoder(Answer).decode


def entries(panes: Iterable[PaneId]) -> list[dict[str, str]]:
    """What is subscribed to: status first, since a refusal names its entry by index."""
    status = [{"type": STATUS, "pane_id": pane} for pane in panes]
    return status + [{"type": kind} for kind in LIFECYCLE]


def refused_pane(answer: Answer, panes: list[PaneId]) -> PaneId | None:
    """The watched pane for which the host refused the whole subscription, if it was one."""
    if answer.error is None or answer.error.code != "pane_not_found":
        return None
    if match := _PROBE.search(answer.id):
        index = int(match[1])
        return panes[index] if index < len(panes) else None
    named = [pane for pane in panes if pane in answer.error.message.split()]
    return named[0] if len(named) == 1 else None


def hint(line: bytes) -> LookAt | LookAround:
    """Where to look because of this line; its content is not believed (T-7)."""
    try:
        event = _event(line)
    except msgspec.MsgspecError:
        return LookAround()
    pane = event.data.pane.pane_id if event.data.pane is not None else event.data.pane_id
    return LookAt(PaneId(pane)) if event.event in _ONE_PANE and is_pane(pane) else LookAround()


def pause(failures: int, source: random.Random) -> float:
    """Seconds until the next try after that many failures: doubling, jittered, at most ten."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures, 16))
    return longest * source.uniform(0.5, 1.0)


class _Subscription:
    def __init__(self, connection: Connection, asked: frozenset[PaneId], got: list[PaneId]) -> None:
        self.connection = connection
        self.asked = asked
        self.got = frozenset(got)
        self.scope = anyio.CancelScope()


class EventStream:
    """Keeps the subscription standing and turns its lines into hints."""

    def __init__(self, path: str, *, deadline: float, source: random.Random, clock: Clock) -> None:
        self._path = path
        self._deadline = deadline
        self._source = source
        self._clock = clock
        self._told: frozenset[PaneId] = frozenset()
        self._wanted: frozenset[PaneId] = frozenset()
        self._changed = anyio.Event()
        self._current: _Subscription | None = None
        self._deliver: Callable[[TerminalEvent], None] = _ignore
        self._ups = 0
        self.connected = False
        self.events_seen = 0
        self.trouble: str | None = None

    @property
    def reconnects(self) -> int:
        """How often the stream stood up again."""
        return max(0, self._ups - 1)

    @property
    def watched(self) -> frozenset[PaneId]:
        """The panes whose status is asked for."""
        return self._wanted

    def watch(self, panes: frozenset[PaneId]) -> None:
        """Ask for status events of exactly these panes; the same set again changes nothing."""
        if panes == self._told:
            return
        self._told = panes
        self._want(panes)

    def drop(self, panes: Iterable[PaneId]) -> None:
        """These panes are gone: a subscription on a dead pane costs the host for ever (T-11)."""
        self._want(self._wanted - frozenset(panes))

    async def run(
        self, deliver: Callable[[TerminalEvent], None], *, task_status: TaskStatus[None]
    ) -> None:
        """See `Terminal.run`."""
        self._deliver = deliver
        failures = 0
        first = True
        while True:
            stream = await self._try_subscribe()
            if first:
                task_status.started()
                first = False
            if stream is not None and await self._stood(stream):
                failures = 0
            await self._clock.sleep(pause(failures, self._source))
            failures += 1

    async def _try_subscribe(self) -> _Subscription | None:
        try:
            return await self._subscribe()
        except WorldFailed as error:
            self._down(str(error), tell=self._ups == 0 and self.trouble is None)
            return None

    async def _stood(self, stream: _Subscription) -> bool:
        """Follow the stream to its end; did it stand long?"""
        began = self._clock.awake()
        self._current = stream
        self.connected = True
        self.trouble = None
        self._ups += 1
        try:
            # the reader is under way before the daemon hears of it: no event waits unread
            why = await self._follow(stream)
        finally:
            self._current = None
            self.connected = False
        self._down(why, tell=True)
        return self._clock.awake() - began >= STEADY

    async def _follow(self, stream: _Subscription) -> str:
        ends: list[str] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, stream, group, ends)
            group.start_soon(self._renew, group, ends)
            self._deliver(StreamUp())
        return ends[0]

    async def _read(self, stream: _Subscription, group: TaskGroup, ends: list[str]) -> None:
        with stream.scope:
            try:
                while True:
                    line = await stream.connection.read_line()
                    self.events_seen += 1
                    self._deliver(hint(line))
            except Lost as lost:
                if stream is self._current:
                    ends.append(str(lost))
                    group.cancel_scope.cancel()
            finally:
                stream.connection.close()

    async def _renew(self, group: TaskGroup, ends: list[str]) -> None:
        while True:
            await self._changed.wait()
            await self._clock.sleep(DEBOUNCE)
            self._changed = anyio.Event()
            if self._current is None or self._wanted == self._current.asked:
                continue
            try:
                fresh = await self._subscribe()
            except WorldFailed as error:
                ends.append(str(error))
                group.cancel_scope.cancel()
                return
            old, self._current = self._current, fresh
            group.start_soon(self._read, fresh, group, ends)
            for pane in sorted(fresh.got - old.got):
                # its state may have changed between the daemon's last look and now
                self._deliver(LookAt(pane))
            await self._clock.sleep(OVERLAP)
            old.scope.cancel()

    async def _subscribe(self) -> _Subscription:
        asked = self._wanted
        panes = sorted(asked)
        while True:
            connection, answer = await self._ask(panes)
            if answer.error is None:
                return _Subscription(connection, asked, panes)
            connection.close()
            gone = refused_pane(answer, panes)
            if gone is None:
                raise failure(answer.error, acts=False, pane="")
            panes.remove(gone)

    async def _ask(self, panes: list[PaneId]) -> tuple[Connection, Answer]:
        connection = Connection()
        stands = False
        try:
            with anyio.fail_after(self._deadline):
                line = line_of("events.subscribe", {"subscriptions": entries(panes)})
                await connection.open(self._path, line)
                answer = _answer(await connection.read_line())
            stands = True
        except (Lost, TimeoutError, msgspec.MsgspecError) as error:
            raise Unreachable(str(error) or "no answer to the subscription") from error
        finally:
            if not stands:
                connection.close()
        return connection, answer

    def _want(self, panes: frozenset[PaneId]) -> None:
        self._wanted = panes
        if self._current is not None and panes != self._current.asked:
            self._changed.set()

    def _down(self, why: str, *, tell: bool) -> None:
        self.trouble = why
        if tell:
            self._deliver(StreamDown(why))


def _ignore(event: TerminalEvent) -> None:
    pass
