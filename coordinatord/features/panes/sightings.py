"""The last sighting of every pane, in memory.

Intake writes it; pump, proof, views and waits read it. It is a cache of observations: nothing is typed on
its word alone, and losing it loses nothing.
"""

from __future__ import annotations

import msgspec

from coordinatord.clock import Clock
from coordinatord.features.panes.judgement import Gone, Unseen, judge
from coordinatord.ids import PaneId, ProcessId
from coordinatord.store.changes import Changes
from coordinatord.terminals.port import SETTLED, HostWorkspace, Occupant, Sighting, Snapshot


class Sightings:
    """What the terminal host showed last. ``changes`` wakes whoever waits for something new."""

    def __init__(self, clock: Clock) -> None:
        self.changes = Changes()
        self.connected = False
        self.trouble: str | None = "the terminal host was not asked yet"
        self.last_snapshot: float | None = None
        self.panes: dict[PaneId, Sighting] = {}
        self.workspaces: dict[str, HostWorkspace] = {}
        self._clock = clock
        self._shells: dict[str, ProcessId] = {}
        self._settled: dict[PaneId, float] = {}

    def replace(self, snapshot: Snapshot) -> bool:
        """Take a whole snapshot; True if it differs from what was known."""
        if snapshot.incomplete:
            # what could not be read is not gone: it stays as it was seen last
            kept = self.panes | snapshot.panes
            snapshot = msgspec.structs.replace(snapshot, panes=kept)
        changed = snapshot.panes != self.panes or not self.connected
        for seen in snapshot.panes.values():
            self._settle(seen)
        self.panes = dict(snapshot.panes)
        self.workspaces = dict(snapshot.workspaces)
        living = {seen.terminal_id for seen in self.panes.values()}
        self._shells = {key: shell for key, shell in self._shells.items() if key in living}
        self._settled = {key: at for key, at in self._settled.items() if key in self.panes}
        self.connected, self.trouble = True, None
        self.last_snapshot = self._clock.wall()
        if changed:
            self.changes.wake()
        return changed

    def note(self, seen: Sighting) -> bool:
        """Take a fresh look at one pane; True if it differs from what was known."""
        if self.panes.get(seen.pane) == seen:
            return False
        self._settle(seen)
        self.panes[seen.pane] = seen
        self.changes.wake()
        return True

    def forget(self, pane: PaneId) -> None:
        """The host said that it has no such pane."""
        if self.panes.pop(pane, None) is not None:
            self._settled.pop(pane, None)
            self.changes.wake()

    def lose(self, why: str) -> None:
        """The host cannot be asked: what is cached is history from now on."""
        if self.connected or self.trouble != why:
            self.connected, self.trouble = False, why
            self._settled.clear()
            self.changes.wake()

    def learn_shell(self, terminal_id: str, shell: ProcessId) -> None:
        """Which process is the shell of this terminal. A new one unsettles whoever was proven by the old."""
        before = self._shells.get(terminal_id)
        self._shells[terminal_id] = shell
        if before not in (None, shell):
            self.changes.wake()

    def shell(self, terminal_id: str) -> ProcessId | None:
        """The terminal's shell, if it was probed."""
        return self._shells.get(terminal_id)

    def replaced(self, recorded: Occupant | None, seen: Sighting | Gone | Unseen) -> bool:
        """Is somebody else in the pane, as far as it is known without asking the host?"""
        shell = self._shells.get(seen.terminal_id) if isinstance(seen, Sighting) else None
        return judge(recorded, seen, shell) == "replaced"

    def shells(self) -> dict[ProcessId, PaneId]:
        """Every known shell and the pane it is in."""
        by_terminal = {seen.terminal_id: pane for pane, seen in self.panes.items()}
        return {
            shell: by_terminal[key] for key, shell in self._shells.items() if key in by_terminal
        }

    def unprobed(self) -> list[Sighting]:
        """Live panes whose shell is not known yet."""
        return [
            seen
            for seen in self.panes.values()
            if seen.live and seen.terminal_id not in self._shells
        ]

    def cached(self, pane: PaneId | None) -> Sighting | Gone | Unseen:
        """What is known about a pane without asking."""
        if not self.connected:
            return Unseen()
        return self.panes.get(pane, Gone()) if pane is not None else Gone()

    def settled_since(self, pane: PaneId) -> float | None:
        """Wall time at which the pane was first seen settled in its present spell; None if it is not."""
        return self._settled.get(pane)

    def _settle(self, seen: Sighting) -> None:
        before = self.panes.get(seen.pane)
        moved_on = before is not None and (
            before.terminal_id != seen.terminal_id
            or before.state_change_seq != seen.state_change_seq
        )
        if seen.status not in SETTLED:
            self._settled.pop(seen.pane, None)
        elif moved_on or seen.pane not in self._settled:
            self._settled[seen.pane] = self._clock.wall()
