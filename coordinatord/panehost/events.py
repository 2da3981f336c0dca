"""What happened, for those who subscribed: one ring, and streams that push or tick.

Without quirks a stream starts at the next event and gets each one at once, in order. With quirks it
is Herdr 0.8.x (herdr-protocol.md §4.3): every entry starts at the oldest of 512 kept events, gets
at most one event per 100 ms, and what the ring forgot is lost without a sign.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import anyio
import msgspec

from coordinatord.sockets.output import Output

RING: Final = 512
TICK: Final = 0.1
"""Seconds between two polls of a subscription in Herdr."""
MOST_WAITING: Final = 8 << 20
"""Bytes that may wait for one subscriber; over it the connection ends."""

Probe = Callable[[], "dict[str, object] | None"]
"""Looks at one pane; the payload to send if there is news since the last call."""


class PaneEntry:
    """An entry of a subscription that is about one pane's terminal."""

    def __init__(self, terminal_id: str, event: str, probe: Probe) -> None:
        self.terminal_id = terminal_id
        self._event = event
        self._probe = probe

    def poll(self) -> bytes | None:
        """The line to send, if there is news."""
        data = self._probe()
        return None if data is None else _line({"event": self._event, "data": data})


class GlobalEntry:
    """An entry for all events of one kind; ``cursor`` is used with quirks only."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.cursor = 0


Entry = PaneEntry | GlobalEntry


class _Kept(msgspec.Struct, frozen=True):
    number: int
    kind: str
    line: bytes


class Stream:
    """One subscriber: its entries and what waits to be sent to it."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = list(entries)
        self.dropped = anyio.Event()
        """Set when the subscriber read too slowly and was given up."""
        self.output = Output(b"", self.dropped.set, MOST_WAITING)


class Hub:
    """The ring, its subscribers, and who waits for a pane to change."""

    def __init__(self, *, quirks: bool = False, tick: float = TICK) -> None:
        self.quirks = quirks
        self._tick_time = tick
        self._ring: deque[_Kept] = deque(maxlen=RING)
        self._number = 0
        self._streams: list[Stream] = []
        self._touched: dict[str, anyio.Event] = {}

    def publish(self, kind: str, **data: object) -> None:
        """Something happened; ``kind`` is the dotted name, on the wire it is snake_case."""
        name = kind.replace(".", "_")
        self._number += 1
        kept = _Kept(self._number, kind, _line({"event": name, "data": {"type": name, **data}}))
        self._ring.append(kept)
        if self.quirks:
            return
        for stream in list(self._streams):
            for entry in stream.entries:
                if isinstance(entry, GlobalEntry) and entry.kind == kind:
                    stream.output.offer(kept.line)

    def touch(self, terminal_id: str) -> None:
        """Something about this pane may have changed: wake who waits for it, and look for news."""
        waiting = self._touched.pop(terminal_id, None)
        if waiting is not None:
            waiting.set()
        if self.quirks:
            return
        for stream in list(self._streams):
            self._poll_pane(stream, terminal_id)

    def next_touch(self, terminal_id: str) -> anyio.Event:
        """Set when the pane is touched next."""
        return self._touched.setdefault(terminal_id, anyio.Event())

    async def run(self, stream: Stream) -> None:
        """Keep the stream supplied until cancelled, or until it was dropped for being slow."""
        self._streams.append(stream)
        try:
            if self.quirks:
                await self._tick(stream)
            else:
                await stream.dropped.wait()
        finally:
            self._streams.remove(stream)

    async def _tick(self, stream: Stream) -> None:
        while not stream.output.closed:
            for entry in stream.entries:
                line = entry.poll() if isinstance(entry, PaneEntry) else self._next(entry)
                if line is not None:
                    stream.output.offer(line)
            await anyio.sleep(self._tick_time)

    def _next(self, entry: GlobalEntry) -> bytes | None:
        for kept in self._ring:
            if kept.number > entry.cursor and kept.kind == entry.kind:
                entry.cursor = kept.number
                return kept.line
        entry.cursor = self._number
        return None

    def _poll_pane(self, stream: Stream, terminal_id: str) -> None:
        for entry in stream.entries:
            if isinstance(entry, PaneEntry) and entry.terminal_id == terminal_id:
                line = entry.poll()
                if line is not None:
                    stream.output.offer(line)


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
