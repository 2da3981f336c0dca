"""Looks at the terminal host and keeps `Sightings` true."""

from __future__ import annotations

import anyio
import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import HostRefused, PaneMissing, Unreachable
from coordinatord.features.panes.judgement import Gone, Judgement, Unseen, judge, needs_shell
from coordinatord.features.panes.proof import find_pane
from coordinatord.features.panes.records import Outcome, Seat
from coordinatord.features.panes.sightings import Sightings
from coordinatord.ids import PaneId, ProcessId
from coordinatord.terminals.port import Foreground, Sighting, Terminal
from coordinatord.tracing import Trace

_PROBES_AT_ONCE = 4
"""Shell probes under way together: the host answers them on one loop (herdr-protocol.md §8)."""


HEARD_S = 1.0
"""A host that answered a look so short a time ago is asked by everybody at once."""


class Judged(msgspec.Struct, frozen=True):
    """A seat's occupant as seen just now. ``foreground`` is there if it had to be probed."""

    outcome: Outcome
    seen: Sighting | Gone | Unseen
    shell: ProcessId | None = None
    foreground: Foreground | None = None


class Lookout:
    """The one that asks the host about panes. Every answer goes into ``sightings`` too."""

    def __init__(
        self, terminal: Terminal, sightings: Sightings, clock: Clock, trace: Trace | None = None
    ) -> None:
        self.trace = trace or Trace()
        self.terminal = terminal
        self.sightings = sightings
        self._clock = clock
        self._around = anyio.Lock()
        self._snapshot_failed = -HEARD_S
        self._begun: dict[PaneId, float] = {}
        self._answered = -HEARD_S
        self._first: anyio.Event | None = None
        self._mute: set[PaneId] = set()
        self._silent: anyio.Event | None = None

    async def look_around(self) -> bool:
        """Take a snapshot and probe the shells of new terminals; False if the host does not answer. Those who
        waited for one that failed do not ask again, one after the other."""
        asked = self._clock.awake()
        async with self._around:
            if self._snapshot_failed > asked or not await self._take_snapshot():
                return False
            await self._probe_new_shells()
            return self.sightings.connected

    async def _take_snapshot(self) -> bool:
        try:
            snapshot = await self.terminal.snapshot()
        except (Unreachable, HostRefused) as error:
            self._snapshot_failed = self._clock.awake()
            self.sightings.lose(str(error))
            return False
        self.sightings.replace(snapshot)
        self._begun = {pane: at for pane, at in self._begun.items() if pane in snapshot.panes}
        self._mute &= snapshot.panes.keys()
        return True

    async def look(self, pane: PaneId) -> Sighting | Gone | Unseen:
        """One pane, freshly. Of a host that was not heard of lately one asks first, and the others wait: one
        that hangs costs one bounded call, however many want to look (coordination.md §3.3, 13). Nobody waits
        for a pane that alone gave no answer before."""
        if self._mute == {pane}:
            return await self._ask(pane)
        while (first := self._first) is not None:
            await first.wait()
            if self._first is None and self._silent is first:
                return Unseen()
        if self._heard_lately():
            return await self._ask(pane)
        self._first = mine = anyio.Event()
        try:
            seen = await self._ask(pane)
            self._silent = None if self._heard_lately() else mine
            return seen
        finally:
            self._first = None
            mine.set()

    def _heard_lately(self) -> bool:
        return self._clock.awake() - self._answered <= HEARD_S

    async def _ask(self, pane: PaneId) -> Sighting | Gone | Unseen:
        begun = self._clock.awake()
        seen: Sighting | Gone | Unseen = Unseen()
        try:
            seen = await self.terminal.look(pane)
        except PaneMissing:
            seen = Gone()
        except Unreachable:
            self._mute.add(pane)
            return seen
        except HostRefused:
            pass  # it answered, though nothing that can be read
        self._mute.discard(pane)
        self._answered = self._clock.awake()
        self._take_in(pane, seen, begun)
        return seen

    def _take_in(self, pane: PaneId, seen: Sighting | Gone | Unseen, begun: float) -> None:
        if isinstance(seen, Gone):
            self.sightings.forget(pane)
        if isinstance(seen, Sighting):
            self.sightings.note(seen)
            self._begun[pane] = begun

    def _looked(self, known: Sighting | Gone, within_s: float) -> Sighting | None:
        """What a look at this pane showed that began so short a time ago, and still holds."""
        if not isinstance(known, Sighting) or not self.sightings.connected:
            return None
        begun = self._begun.get(known.pane)
        return known if begun is not None and self._clock.awake() - begun <= within_s else None

    async def foreground(self, seen: Sighting) -> Foreground | None:
        """What runs in front in this pane; None if it cannot be told, or if its address is another
        terminal's by now, whose shell must not be taken for that of the one that was seen."""
        found = await self._probe(seen)
        if found is None or found.shell in (None, self.sightings.shell(seen.terminal_id)):
            return found
        again = await self.look(seen.pane)
        if not isinstance(again, Sighting) or again.terminal_id != seen.terminal_id:
            return None
        self.sightings.learn_shell(seen.terminal_id, found.shell)
        return found

    async def _probe(self, seen: Sighting) -> Foreground | None:
        try:
            return await self.terminal.foreground(seen.pane)
        except (PaneMissing, Unreachable, HostRefused):
            return None

    async def judge(self, seat: Seat, recent_s: float = 0.0) -> Judged:
        """Is the seat's occupant still the recorded one? One look, and one probe only if it is needed.

        ``recent_s``: a look that began at most so long ago counts as this one.
        """
        known = find_pane(seat, self.sightings.panes)
        pane = known.pane if isinstance(known, Sighting) else seat.pane
        if pane is None:
            return self._judged(seat, Gone(), None)
        seen = (self._looked(known, recent_s) if recent_s else None) or await self.look(pane)
        foreground: Foreground | None = None
        shell: ProcessId | None = None
        if isinstance(seen, Sighting):
            shell = self.sightings.shell(seen.terminal_id)
            if shell is None and needs_shell(seat.occupant, seen):
                foreground = await self.foreground(seen)
                shell = foreground.shell if foreground else None
        return self._judged(seat, seen, shell, foreground)

    def _judged(
        self,
        seat: Seat,
        seen: Sighting | Gone | Unseen,
        shell: ProcessId | None,
        foreground: Foreground | None = None,
    ) -> Judged:
        outcome = judge(seat.occupant, seen, shell)
        self.trace.tell(
            Judgement(seat=seat.id, recorded=seat.occupant, seen=seen, shell=shell, outcome=outcome)
        )
        return Judged(outcome, seen, shell, foreground)

    async def _probe_new_shells(self) -> None:
        """Learn the shells of new terminals, all of which are still there after they were asked for."""
        limiter, found = anyio.Semaphore(_PROBES_AT_ONCE), dict[PaneId, tuple[str, ProcessId]]()

        async def probe(seen: Sighting) -> None:
            async with limiter:
                front = await self._probe(seen)
            if front is not None and front.shell is not None:
                found[seen.pane] = seen.terminal_id, front.shell

        async with anyio.create_task_group() as group:
            for seen in self.sightings.unprobed():
                group.start_soon(probe, seen)
        if found and await self._take_snapshot():
            for pane, (terminal, shell) in found.items():
                if (now := self.sightings.panes.get(pane)) and now.terminal_id == terminal:
                    self.sightings.learn_shell(terminal, shell)
