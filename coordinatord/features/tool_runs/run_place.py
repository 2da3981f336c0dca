"""Finds or opens the pane of a run, and types the one line there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import anyio
import anyio.to_thread
import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import PaneMissing, Refused, Uncertain, Unreachable
from coordinatord.features.launches.requests import OpenPane
from coordinatord.features.launches.run import Launcher
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.panes.records import Caller
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tool_runs import files, placement, table
from coordinatord.features.tool_runs.files import Place
from coordinatord.features.tool_runs.placement import Candidate, Condition, Decision
from coordinatord.features.tool_runs.records import ToolRun, title
from coordinatord.features.tool_runs.run_lane import Live
from coordinatord.features.typing.run import Typist
from coordinatord.ids import PaneId
from coordinatord.store.database import Database
from coordinatord.terminals.port import Foreground, Sighting

PROMPT_WITHIN_S: Final = 15.0
"""How long a new shell may take to its prompt; rc files run programs in front (H#3208)."""
FREED_WITHIN_S: Final = 1.0
"""How long the shell of a pane whose run has just ended may take to be in front again."""
LOOK_EVERY_S: Final = 0.03
_AT_ONCE: Final = 4
"""Panes that are opened at the same time."""


class Spot(msgspec.Struct, frozen=True):
    """The pane that a run gets."""

    pane: PaneId
    terminal: str
    reused: bool


class Placer:
    """Knows panes; knows nothing of how runs go on."""

    def __init__(
        self,
        database: Database,
        lookout: Lookout,
        typist: Typist,
        launcher: Launcher,
        clock: Clock,
        place: Place,
    ) -> None:
        self.place = place
        self._database = database
        self._lookout = lookout
        self._typist = typist
        self._launcher = launcher
        self._clock = clock
        self._freed: dict[str, float] = {}
        self._opening = anyio.Semaphore(_AT_ONCE)

    def freed(self, terminal: str) -> None:
        """A run has just ended there: its shell needs a moment."""
        self._freed[terminal] = self._clock.awake()

    async def decide(self, live: Live, busy: Mapping[str, Live], *, new: bool) -> Decision:
        """Where the run goes, from a fresh look at every pane of ours that has its label.

        Raises:
            Unreachable: the host does not answer.
        """
        run, caller = live.record, self._with_terminal(live.record.terminal)
        # of a caller's pane that is gone an idle pane still serves, though none is opened beside it
        space = caller.workspace_id if caller else live.space
        if new:
            return placement.decide([], new=True)
        candidates: list[Candidate] = []
        for known in await self._database.read(table.panes_of, run.label):
            seen = self._with_terminal(known.id)
            fresh = await self._lookout.look(seen.pane) if seen else Gone()
            if not isinstance(fresh, Sighting) or fresh.terminal_id != known.id:
                continue
            if not placement.is_candidate(fresh, title(run.label), space):
                continue
            there = busy.get(known.id)
            candidates.append(
                Candidate(
                    pane=fresh.pane,
                    terminal=known.id,
                    seq=known.seq,
                    condition=await self._condition(fresh, there),
                    run=there.record.id if there else None,
                )
            )
            if candidates[-1].condition in ("idle", "in-time"):
                break  # the newest that can serve decides
        return placement.decide(candidates, new=False)

    async def open(self, caller: Caller, run: ToolRun, attempt: int) -> Spot:
        """A new pane beside the caller's, at its prompt.

        Raises:
            WorldFailed: it could not be opened, or its shell came to no prompt.
        """
        beside = await self._standing(run.pane, run.terminal)
        wanted = OpenPane(
            key=f"{run.id} {attempt}",
            label=title(run.label),
            cwd=run.cwd if run.cwd.isprintable() else None,
            split=beside.pane,
            direction=run.direction,
        )
        async with self._opening:
            opened = await self._launcher.open(caller, wanted)
        await self._database.write(table.opened, opened.terminal_id, run.label)
        seen = await self._standing(opened.pane_id, opened.terminal_id)
        if not await self._prompt_stands(seen):
            raise Uncertain(f"the shell in {seen.pane} came to no prompt")
        return Spot(seen.pane, seen.terminal_id, reused=False)

    async def focus(self, pane: PaneId) -> None:
        """Move the focus there: only for who asked for it."""
        await self._lookout.terminal.focus(pane)

    async def line(self, run: str) -> str:
        """What is typed for a run; the launcher stands when this returns.

        Raises:
            Refused: it cannot be typed, or the folder is unsafe.
        """
        text = placement.line(self.place.launcher, run)
        await anyio.to_thread.run_sync(files.prepare, self.place)
        return text

    async def type(self, spot: Spot, text: str) -> bool:
        """Type a line and Enter; False if the shell is not in front any more.

        Raises:
            Refused: ``paused``.
            WorldFailed: see `Terminal.send`.
        """
        seen = await self._standing(spot.pane, spot.terminal)
        try:
            held = await self._typist.shell_line(seen, text, clear=spot.reused)
        except Uncertain:
            return True  # it may stand there: the claim will tell
        if held is not None and held.reason == "paused":
            raise Refused("paused", "Typing is paused.", "Allow it again: coordctl resume")
        return held is None

    async def starting(self, spot: Spot, run: str) -> bool:
        """Is our launcher in front in the pane, only slow?"""
        return placement.runner_in_front(await self.foreground(spot.pane), run)

    async def dialect(self, pane: PaneId) -> str:
        """The name of the shell in front."""
        found = await self.foreground(pane)
        names = [program.name for program in found.programs] if found else []
        return os.path.basename(names[0]).lstrip("-") if names else ""

    async def is_gone(self, pane: PaneId, terminal: str) -> bool:
        """Is the pane of this terminal known to be no more?"""
        match await self._lookout.look(pane):
            case Gone():
                return True
            case Unseen():
                return False
            case Sighting() as seen:
                return seen.terminal_id != terminal and self._with_terminal(terminal) is None

    async def _standing(self, pane: PaneId, terminal: str) -> Sighting:
        """A pane as it is now, wherever it moved."""
        moved = self._with_terminal(terminal)
        seen = await self._lookout.look(moved.pane if moved else pane)
        if isinstance(seen, Unseen):
            raise Unreachable(self._lookout.sightings.trouble or "it was asked about a pane")
        if isinstance(seen, Gone) or seen.terminal_id != terminal:
            raise PaneMissing(pane)
        return seen

    def _with_terminal(self, terminal: str) -> Sighting | None:
        panes = self._lookout.sightings.panes.values()
        return next((seen for seen in panes if seen.terminal_id == terminal), None)

    async def _condition(self, seen: Sighting, there: Live | None) -> Condition:
        if there is not None:
            return "late" if there.record.late else "in-time"
        until = self._freed.get(seen.terminal_id, -FREED_WITHIN_S) + FREED_WITHIN_S
        while not placement.only_shell(await self._lookout.foreground(seen)):
            if self._clock.awake() >= until:
                return "other"
            await self._clock.sleep(LOOK_EVERY_S)
        return "idle"

    async def foreground(self, pane: PaneId) -> Foreground | None:
        """What runs in the pane."""
        seen = await self._lookout.look(pane)
        return await self._lookout.foreground(seen) if isinstance(seen, Sighting) else None

    async def _prompt_stands(self, seen: Sighting) -> bool:
        """Only the shell is in front, and what it has drawn stands still; bounded.

        Some shells throw away what is typed before their prompt (§4.2).
        """
        until, before = self._clock.awake() + PROMPT_WITHIN_S, ""
        while self._clock.awake() < until:
            if placement.only_shell(await self._lookout.foreground(seen)):
                shown = (await self._lookout.terminal.read(seen.pane)).text.strip()
                if shown and shown == before:
                    return True
                before = shown
            await self._clock.sleep(2 * LOOK_EVERY_S)
        return False
