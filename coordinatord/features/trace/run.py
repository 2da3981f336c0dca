"""Records: gives each listener the lines of a trace from the moment in which it asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol

import anyio
import anyio.abc
import msgspec

from coordinatord import __version__
from coordinatord.clock import Clock
from coordinatord.errors import Refused
from coordinatord.features.delivery.pacing import Decided
from coordinatord.features.delivery.table import ATTEMPTS
from coordinatord.features.trace.concealing import Concealer
from coordinatord.features.trace.digests import digests
from coordinatord.features.trace.lines import GapLine, Header, Line
from coordinatord.features.trace.records import Recording
from coordinatord.features.trace.told import Changed
from coordinatord.ids import kind_of
from coordinatord.kinds import AgentKind
from coordinatord.store import journal
from coordinatord.store.database import PASSING, Database, View
from coordinatord.terminals.port import HostFacts
from coordinatord.tracing import Trace

LINES_AT_ONCE: Final = 200
STORE_PAUSE_S: Final = 1.0
NOTE: Final = "trace.line"


class Listener(Protocol):
    """The connection of somebody who records, as far as it is needed here."""

    closed: anyio.Event

    def notify(self, method: str, params: object) -> bool:
        """Queue a notification; False once the other side is gone or was dropped."""
        ...


class Recorder:
    """Owns the recordings' tasks. Run it in a task group before the first one."""

    def __init__(
        self,
        database: Database,
        kinds: Mapping[str, AgentKind],
        clock: Clock,
        source: random.Random,
        trace: Trace,
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._source = source
        self._trace = trace
        self._group: anyio.abc.TaskGroup | None = None

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep the recordings until cancelled."""
        async with anyio.create_task_group() as group:
            self._group = group
            task_status.started()
            await anyio.sleep_forever()

    async def record(self, listener: Listener, host: HostFacts | None) -> Recording:
        """Answer `trace.record`: the first line at once, the others as they come."""
        since = await self._database.read(journal.last_seq)
        header = Header(
            at=self._clock.wall(),
            version=__version__,
            host=host.kind if host else None,
            protocol=host.protocol if host else None,
            kinds=digests(self._kinds),
        )
        if self._group is not None:
            concealer = Concealer(self._kinds, self._source.randbytes(16))
            following = Following(concealer, partial(listener.notify, NOTE))
            self._group.start_soon(self._follow, following, listener.closed, since)
        return Recording(begin=msgspec.Raw(msgspec.json.encode(header)))

    async def _follow(self, following: Following, closed: anyio.Event, since: int) -> None:
        lost = self._trace.lost

        def tell(fact: object) -> None:
            nonlocal lost
            following.take(fact, self._clock.wall())
            if lost != self._trace.lost:
                lost = self._trace.lost
                following.skip(self._clock.wall(), "a line could not be made")

        self._trace.listen(tell)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._follow_records, following, since)
                await closed.wait()
                group.cancel_scope.cancel()
        finally:
            self._trace.leave(tell)

    async def _follow_records(self, following: Following, since: int) -> None:
        while True:
            count = self._database.changes.count
            try:
                facts = await self._database.read(news, since)
            except Refused as error:
                if error.reason not in PASSING:
                    raise
                await self._clock.sleep(STORE_PAUSE_S)
                continue
            for seq, fact in facts:
                following.take(fact, self._clock.wall())
                since = max(since, seq)
            if len(facts) < LINES_AT_ONCE:
                await self._database.changes.wait_past(count)


class Following:
    """One recording: masks, leaves out what is said already, passes on."""

    def __init__(self, concealer: Concealer, write: Callable[[Line], object]) -> None:
        self._concealer = concealer
        self._write = write
        self._decided: dict[str, tuple[object, ...]] = {}

    def take(self, fact: object, at: float) -> None:
        """Pass it on, masked, if it is news."""
        if isinstance(fact, Decided) and not self._is_news(fact):
            return
        line: Line | None = self._concealer.line(fact, at)
        if line is not None:
            self._write(line)

    def skip(self, at: float, why: str) -> None:
        """Say that something is missing here."""
        self._write(GapLine(at=at, why=why))

    def _is_news(self, fact: Decided) -> bool:
        now = (fact.recipient, fact.decision)
        if self._decided.get(fact.recipient.seat) == now:
            return False
        self._decided[fact.recipient.seat] = now
        return True


def news(view: View, since: int) -> list[tuple[int, object]]:
    """Lines of the journal, and behind a line about an attempt how that one stands."""
    found: list[tuple[int, object]] = []
    for line in journal.since(view, since, LINES_AT_ONCE):
        found.append((line.seq, Changed(**msgspec.structs.asdict(line))))
        attempt = ATTEMPTS.get(view, line.id) if kind_of(line.id) == "attempt" else None
        if attempt is not None:
            found.append((line.seq, attempt))
    return found
