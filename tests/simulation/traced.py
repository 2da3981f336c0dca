"""Writes a simulated course of events as `coordctl trace record` does, without changing it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from coordinatord import __version__
from coordinatord.daemon.parts import Parts
from coordinatord.features.trace.concealing import Concealer
from coordinatord.features.trace.digests import digests
from coordinatord.features.trace.lines import GapLine, Header, Line
from coordinatord.features.trace.run import Following, news
from coordinatord.kinds import AgentKind


class TraceFile:
    """The trace of all lives of one daemon. No task of its own: the course must be the same without it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._lives = 0

    def begin(self, parts: Parts, kinds: Mapping[str, AgentKind]) -> None:
        """A life begins."""
        ground = parts.ground
        now = ground.clock.wall()
        if self._lives:
            self._write(GapLine(at=now, why="the daemon died"))
        self._lives += 1
        self._write(Header(at=now, version=__version__, kinds=digests(kinds)))
        following = Following(Concealer(kinds, b"simulation"), self._write)
        parts.trace.listen(lambda fact: following.take(fact, ground.clock.wall()))
        database: Any = ground.database
        seen = database.last_seq()

        def committed(view: Any) -> None:
            nonlocal seen
            for seq, fact in news(view, seen):
                following.take(fact, ground.clock.wall())
                seen = max(seen, seq)

        database.committed = committed

    def _write(self, line: Line) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        """Everything is on disk."""
        self._file.close()
