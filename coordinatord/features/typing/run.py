"""Types, and looks before and after. The only module that makes the host type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio

from coordinatord.clock import Clock
from coordinatord.errors import HostRefused, PaneMissing, Refused, Uncertain, Unreachable
from coordinatord.features.panes.run_look import Judged, Lookout
from coordinatord.features.typing import gate
from coordinatord.features.typing.records import (
    Clear,
    Held,
    Looked,
    MaybeTyped,
    NotTyped,
    Typed,
    TypingOutcome,
)
from coordinatord.ids import PaneId
from coordinatord.kinds import AgentKind, Reading, Unclear, read_screen
from coordinatord.terminals.port import Sighting, Terminal

PROMPT_GAP_S: Final = 0.4
"""Least time between two texts to one pane: Herdr's Enter comes 300 ms after the text (T-19)."""

_NOT_KNOWN: Final = frozenset({"agent_prompt_stalled", "timeout"})
"""Codes after which the text may have arrived all the same (agents.md §1, fact 6)."""


class Typist:
    """One writer per pane; every text passes the gate or is not typed.

    The caller's purpose chooses the method: `prompt` for an agent's composer (after `look`),
    `shell_line` for a shell, `press_enter` for the one key, `raw` for what an operator says. While
    ``paused`` is true none of them types.
    """

    def __init__(
        self,
        terminal: Terminal,
        lookout: Lookout,
        kinds: Mapping[str, AgentKind],
        clock: Clock,
        may_type: Callable[[], bool],
    ) -> None:
        """``may_type`` says whether the host's protocol is known: else it is only read."""
        self._may_type = may_type
        self._terminal = terminal
        self._lookout = lookout
        self._kinds = kinds
        self._clock = clock
        self._queues: defaultdict[PaneId, anyio.Lock] = defaultdict(anyio.Lock)
        self._last: dict[PaneId, float] = {}
        self.paused = False

    @asynccontextmanager
    async def turn(self, pane: PaneId) -> AsyncIterator[bool]:
        """Be the only one who types into this pane, not sooner than the gap after the last text.

        Gives True if that took waiting: then what was seen of the pane before is no ground to type on.
        """
        queued = self._queues[pane].locked()
        async with self._queues[pane]:
            wait = self._last.get(pane, -PROMPT_GAP_S) + PROMPT_GAP_S - self._clock.awake()
            if wait > 0:
                await self._clock.sleep(wait)
            yield queued or wait > 0

    async def look(self, judged: Judged) -> Held | Clear:
        """May text be given to the agent that was judged just now? At most two further host calls."""
        if self.paused:
            return Held("paused")
        if not self._may_type():
            return Held("host-protocol")
        seen, outcome, foreground = judged.seen, judged.outcome, judged.foreground
        reading: Reading | None = None
        screen: str | None = None
        if isinstance(seen, Sighting) and gate.occupant_stands(seen, outcome) is None:
            foreground = foreground or await self._lookout.foreground(seen)
            kind = self._kinds.get(seen.agent or "")
            if kind and gate.agent_in_front(seen, foreground, self._kinds) is None:
                reading, screen = await self.screen(seen.pane, kind)
        verdict = gate.verdict(seen, outcome, foreground, reading, self._kinds)
        self._lookout.trace.tell(Looked(seen, outcome, foreground, reading, screen, verdict))
        return verdict

    async def reading(self, pane: PaneId, kind: AgentKind) -> Reading:
        """What the pane's screen shows now; `Unclear` if it cannot be read."""
        return (await self.screen(pane, kind))[0]

    async def screen(self, pane: PaneId, kind: AgentKind) -> tuple[Reading, str]:
        """The same, and the screen's text itself."""
        try:
            shown = await self._terminal.read(pane, "visible", ansi=True)
        except (PaneMissing, Unreachable, HostRefused):
            return Unclear(), ""
        return read_screen(kind, shown.text), shown.text

    async def prompt(self, pane: PaneId, text: str) -> TypingOutcome:
        """Give text to the agent, once. Hold the pane's `turn` while calling."""
        if self.paused:
            return NotTyped("typing is paused")
        self._last[pane] = self._clock.awake()
        try:
            await self._terminal.prompt(pane, text)
        except Uncertain as error:
            return MaybeTyped(str(error))
        except HostRefused as error:
            return (MaybeTyped if error.code in _NOT_KNOWN else NotTyped)(str(error))
        except (PaneMissing, Unreachable) as error:
            return NotTyped(str(error))
        finally:
            self._last[pane] = self._clock.awake()
        return Typed()

    async def press_enter(self, pane: PaneId) -> TypingOutcome:
        """Press Enter once; only where the screen proved that exactly our text stands there.

        The host checks that the agent is still in front: in a shell, Enter would run what stands there.
        """
        if self.paused:
            return NotTyped("typing is paused")
        try:
            await self._terminal.press(pane, ("enter",), to_agent=True)
        except Uncertain as error:
            return MaybeTyped(str(error))
        except (PaneMissing, Unreachable, HostRefused) as error:
            return NotTyped(str(error))
        return Typed()

    async def shell_line(self, seen: Sighting, line: str, *, clear: bool = False) -> Held | None:
        """Give one line to the shell that is in front in this pane, with Enter; None: it was typed.

        Text and Enter are one write, so the next text need not keep its distance. ``clear``: what
        somebody left unfinished at the prompt is deleted first; it must not be run with the line.

        Raises:
            WorldFailed: as the terminal port says.
        """
        async with self.turn(seen.pane):
            obstacle = gate.shell_in_front(await self._lookout.foreground(seen))
            if self.paused:  # perhaps since the look began
                return Held("paused")
            if obstacle is None:
                if clear:
                    await self._terminal.press(seen.pane, ("ctrl+u",))
                await self._terminal.send(seen.pane, line, ("enter",))
        return obstacle

    async def raw(self, pane: PaneId, text: str, enter: bool) -> None:
        """Type as it is, unguarded: an operator's explicit wish.

        Raises:
            Refused: ``paused``, ``host-protocol``.
            WorldFailed: as the terminal port says.
        """
        async with self.turn(pane):
            self._refuse_if_silenced()
            await self._terminal.send(pane, text, ("enter",) if enter else ())
            self._last[pane] = self._clock.awake()

    def _refuse_if_silenced(self) -> None:
        """Asked in the pane's turn: a pause may be said while somebody waits for it."""
        if self.paused:
            raise Refused("paused", "Typing is paused.", "Allow it again: coordctl resume")
        if not self._may_type():
            raise Refused(
                "host-protocol",
                "The terminal host speaks a protocol that is not known: nothing is typed.",
                "A newer coordinatord may know it. Its number: coordctl status",
            )

    def forget(self, panes: frozenset[PaneId]) -> None:
        """Drop what is kept about panes other than these."""
        for pane in self._last.keys() - panes:
            del self._last[pane]
            if not self._queues[pane].locked():
                del self._queues[pane]
