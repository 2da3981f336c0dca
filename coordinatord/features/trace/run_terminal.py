"""A terminal that tells a trace of what is asked of it, and does nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

from coordinatord.clock import Clock
from coordinatord.errors import HostRefused, WorldFailed
from coordinatord.features.trace.told import Called, Heard
from coordinatord.ids import PaneId
from coordinatord.terminals.port import (
    Foreground,
    PaneText,
    Sighting,
    Snapshot,
    Source,
    Terminal,
    TerminalEvent,
)
from coordinatord.tracing import Trace

T = TypeVar("T")


def told_of(terminal: Terminal, trace: Trace, clock: Clock) -> Terminal:
    """The same terminal, told of."""
    return cast(Terminal, ToldTerminal(terminal, trace, clock))


class ToldTerminal:
    """Everything that it does not name here it passes on untold."""

    def __init__(self, terminal: Terminal, trace: Trace, clock: Clock) -> None:
        self._terminal = terminal
        self._trace = trace
        self._clock = clock
        self._known: dict[PaneId, Sighting] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)

    async def run(self, deliver: Callable[[TerminalEvent], None], **how: Any) -> None:
        """As the port says."""

        def hear(event: TerminalEvent) -> None:
            self._trace.tell(Heard(event))
            deliver(event)

        await self._terminal.run(hear, **how)

    async def snapshot(self) -> Snapshot:
        """As the port says."""
        return await self._told("snapshot", None, self._terminal.snapshot())

    async def look(self, pane: PaneId) -> Sighting:
        """As the port says."""
        return await self._told("look", pane, self._terminal.look(pane))

    async def foreground(self, pane: PaneId) -> Foreground:
        """As the port says."""
        return await self._told("foreground", pane, self._terminal.foreground(pane))

    async def read(self, pane: PaneId, source: Source = "visible", **how: Any) -> PaneText:
        """As the port says."""
        return await self._told("read", pane, self._terminal.read(pane, source, **how))

    async def prompt(self, pane: PaneId, text: str) -> None:
        """As the port says."""
        await self._told("prompt", pane, self._terminal.prompt(pane, text), text)

    async def press(self, pane: PaneId, keys: Sequence[str], **how: Any) -> None:
        """As the port says."""
        await self._told("press", pane, self._terminal.press(pane, keys, **how))

    async def send(self, pane: PaneId, text: str, keys: Sequence[str] = ()) -> None:
        """As the port says."""
        await self._told("send", pane, self._terminal.send(pane, text, keys), text)

    async def _told(
        self, method: str, pane: PaneId | None, call: Awaitable[T], text: str | None = None
    ) -> T:
        if not self._trace.on:
            self._known.clear()
            return await call
        begun = self._clock.awake()
        failed: str | None = None
        panes: tuple[Sighting, ...] = ()
        try:
            answer = await call
            panes = self._changed(answer)
        except WorldFailed as error:
            failed = _word(error)
            raise
        finally:
            took = self._clock.awake() - begun
            told = Called(
                method=method, took_s=took, pane=pane, failed=failed, text=text, panes=panes
            )
            self._trace.tell(told)
        return answer

    def _changed(self, answer: object) -> tuple[Sighting, ...]:
        """What a trace was not told yet."""
        shown: tuple[Sighting, ...] = ()
        if isinstance(answer, Sighting):
            shown = (answer,)
        elif isinstance(answer, Snapshot):
            shown = tuple(answer.panes.values())
        news = tuple(each for each in shown if self._known.get(each.pane) != each)
        self._known.update({each.pane: each for each in news})
        return news


def _word(error: WorldFailed) -> str:
    kind = type(error).__name__
    return f"{kind} {error.code}" if isinstance(error, HostRefused) else kind
