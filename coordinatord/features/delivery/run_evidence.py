"""Looks into agents' own transcripts, off the event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from coordinatord.clock import Clock
from coordinatord.features.delivery import run_transcripts
from coordinatord.features.delivery.evidence import Testimony
from coordinatord.features.delivery.records import Mark
from coordinatord.kinds import AgentKind
from coordinatord.kinds.agent_kind import Transcript
from coordinatord.kinds.transcript import location
from coordinatord.terminals.port import Sighting

_T = TypeVar("_T")

_AT_ONCE: Final = 2
"""Threads that read transcripts together."""

Environment = Callable[[int | None], Mapping[str, str]]
"""The environment of the process with this pid; of the daemon itself for None."""


class Witness:
    """Notes where a transcript stands, and finds a text in it later."""

    def __init__(
        self, kinds: Mapping[str, AgentKind], clock: Clock, environment: Environment
    ) -> None:
        self._kinds = kinds
        self._clock = clock
        self._environment = environment
        self._limiter: anyio.CapacityLimiter | None = None

    async def mark(self, kind: AgentKind, seen: Sighting, pid: int | None) -> Mark | None:
        """Where the transcript of the agent in this pane stands now; None if its kind has none.

        ``pid`` is the agent's own process: its environment tells where it stores.
        """
        transcript = kind.transcript
        if transcript is None:
            return None
        return await self._in_thread(self._mark, kind.name, transcript, seen, pid)

    async def testify(self, mark: Mark, seen: Sighting | None) -> Testimony:
        """Does the transcript have the text that was marked? ``seen`` is the pane as it is now."""
        kind = self._kinds.get(mark.kind)
        if kind is None or kind.transcript is None:
            return "unknown"
        session = mark.session if seen is None else session_of(kind, seen)
        return await self._in_thread(run_transcripts.testify, kind.transcript, mark, session)

    def _mark(
        self, kind: str, transcript: Transcript, seen: Sighting, pid: int | None
    ) -> Mark | None:
        around = self._environment(pid)
        session = session_of(self._kinds[kind], seen)
        everywhere = location(transcript, None, around.get("HOME", ""), around)
        place = location(transcript, session, around.get("HOME", ""), around) or everywhere
        if place is None:
            return None
        return Mark(
            kind=kind,
            place=place,
            everywhere=everywhere or "",
            session=session,
            directories=tuple(dict.fromkeys(filter(None, (seen.foreground_cwd, seen.cwd)))),
            at=self._clock.wall(),
            positions=run_transcripts.positions(transcript, place, session),
        )

    async def _in_thread(self, fn: Callable[..., _T], *args: object) -> _T:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_AT_ONCE)
        return await anyio.to_thread.run_sync(fn, *args, limiter=self._limiter)


def session_of(kind: AgentKind, seen: Sighting) -> str | None:
    """The agent's session by its hook's report: a hint that must fit the kind.

    Where a session is known only with the first prompt, a shared server may report it for the wrong
    pane (agents.md §4.3): then the folder and our id tell, not the report.
    """
    known = seen.session
    if known is None or known.agent != kind.name or kind.session_when != "start":
        return None
    return known.value
