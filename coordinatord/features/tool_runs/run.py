"""The life of tool runs, from the saved intent to the result.

One task per run. It waits for its turn in its label's line, gets a pane, writes `Typing`, types once,
and waits for the runner's claim; the end comes from the runner, from its absence, or from a limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import anyio
import anyio.abc
import anyio.to_thread

from coordinatord.clock import Clock
from coordinatord.errors import PaneMissing, Refused, WorldFailed
from coordinatord.features.panes.records import Caller
from coordinatord.features.tool_runs import files, marker, table
from coordinatord.features.tool_runs.placement import Queue, Reuse
from coordinatord.features.tool_runs.records import Ended, Flaw, Running, ToolRun, Typing, begun
from coordinatord.features.tool_runs.run_lane import Lane, Link, Live, first_of, within
from coordinatord.features.tool_runs.run_place import Placer, Spot
from coordinatord.features.tool_runs.run_shell import StoppedOf, stopped_jobs, until_over
from coordinatord.ids import ProcessId
from coordinatord.store.changes import Changes
from coordinatord.store.database import Database
from coordinatord.terminals.port import Terminal

CLAIM_WITHIN_S: Final = 5.0
"""How long a line that was typed may take until our runner reports (§4.4)."""
SLOW_START_S: Final = 25.0
"""How much longer where our launcher is seen in front: a loaded machine."""
LOOK_AGAIN_S: Final = 1.0
PRUNE_AFTER_S: Final = 10.0


class ToolRuns:
    """Every run that has not ended. Run it in a task group before the first request."""

    def __init__(
        self,
        database: Database,
        terminal: Terminal,
        placer: Placer,
        clock: Clock,
        lives: Callable[[ProcessId], bool],
        stopped_of: StoppedOf,
    ) -> None:
        """``lives`` says whether a process is still there."""
        self.live: dict[str, Live] = {}
        self.placer = placer
        self.stopping = anyio.Event()
        self._database = database
        self._terminal = terminal
        self._clock = clock
        self._lives = lives
        self._stopped_of = stopped_of
        self._at: dict[str, Live] = {}
        self._lanes: defaultdict[tuple[str, str], Lane] = defaultdict(Lane)
        self._group: anyio.abc.TaskGroup | None = None
        self._finished = Changes()

    async def run(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Find the runs of an earlier daemon again, and keep all of them until cancelled."""
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._mind_logs)
            for record in (await self._database.read(table.unfinished)).items:
                await self._recover(record)
            task_status.started()
            await anyio.sleep_forever()

    async def _mind_logs(self) -> None:
        """Bound the folder of logs, now and after runs have ended."""
        while True:
            seen = self._finished.count
            with suppress(Refused):  # a busy store: the next time
                needed = await self._database.read(table.needed)
                await anyio.to_thread.run_sync(files.prune, self.placer.place, needed)
            await self._finished.wait_past(seen)
            await self._clock.sleep(PRUNE_AFTER_S)

    def stop(self) -> None:
        """Let everybody go who waits; the runs go on."""
        self.stopping.set()

    def begin(self, record: ToolRun, caller: Caller, environment: bytes | None, space: str) -> Live:
        """Start what was accepted; ``space`` is the caller's host workspace."""
        live = self._keep(record, caller, environment, space)
        assert self._group is not None
        if record.new:
            self._group.start_soon(self._conduct, live)
        else:
            lane = self._lanes[space, record.label]
            lane.waiting.append(record.seq)
            self._group.start_soon(self._in_turn, live, lane, (space, record.label))
        return live

    async def end(
        self,
        live: Live,
        *,
        exit_code: int | None = None,
        flaw: Flaw | None = None,
        detail: str | None = None,
        alternate_screen: bool = False,
        written: int = 0,
        cut: bool = False,
    ) -> None:
        """It is over: save that, free the pane, wake everybody."""
        state = live.record.state
        pane, reused = (
            (state.pane, state.reused) if isinstance(state, Typing | Running) else (None, False)
        )
        ended = Ended(
            at=self._clock.wall(),
            exit_code=exit_code,
            flaw="cancelled" if live.record.cancelled else flaw,
            detail=detail,
            pane=pane,
            reused=reused,
            started_at=begun(state),
            alternate_screen=alternate_screen,
            written=written,
            cut=cut,
        )
        terminal, awaited = live.terminal, any(map(self._listens, live.waiters))
        record = await self._surely(table.finish, live.record.id, ended, awaited)
        if terminal is not None:
            self.placer.freed(terminal)
            self._at.pop(terminal, None)
        self.settle(live, record)

    def settle(self, live: Live, record: ToolRun) -> None:
        """Take over a record that is over: ended, or past its limit."""
        live.record = record
        live.over.set()
        if isinstance(record.state, Ended):
            live.ended.set()
            self.live.pop(record.id, None)
            self._finished.wake()

    async def cancel(self, live: Live, record: ToolRun) -> None:
        """Somebody asked for its end: pass that on to where it is."""
        live.record = record
        match record.state:
            case Ended():
                self.settle(live, record)
            case Running() if record.in_shell:
                await self._terminal.press(record.state.pane, ("ctrl+c",))
                await self.end(live, flaw="cancelled")
            case Running() if live.runner is not None:
                live.runner.notify("tool.cancel", {"run_id": record.id})
            case _:
                pass  # the runner is told when it claims, or claims again

    def mind(self, live: Live) -> None:
        """The runner has it: from now on notice if the runner goes away."""
        assert self._group is not None
        self._group.start_soon(self._mind_runner, live)

    def _keep(
        self, record: ToolRun, caller: Caller | None, environment: bytes | None, space: str
    ) -> Live:
        live = self.live[record.id] = Live(record, caller, environment, space)
        if record.late:
            live.over.set()
        elif record.limit_ms is not None and self._group is not None:
            self._group.start_soon(self._mind_limit, live, record.limit_ms / 1000)
        return live

    async def _recover(self, record: ToolRun) -> None:
        """What an earlier daemon left open: its memory is gone, its runners may live."""
        live = self._keep(record, None, None, "")
        match record.state:
            case Running() as state:
                self._at[state.terminal] = live
                live.claimed.set()
                assert self._group is not None
                if record.in_shell:
                    self._group.start_soon(self._watch_shell, live, state)
                else:
                    self._group.start_soon(self._mind_runner, live)
            case _ if record.in_shell and isinstance(record.state, Typing):
                await self.end(live, flaw="orphaned", detail="It may have been typed.")
            case _:
                await self.end(live, flaw="not-started", detail="The daemon was restarted first.")

    async def _in_turn(self, live: Live, lane: Lane, name: tuple[str, str]) -> None:
        async with lane.turn(live.record.seq):
            await self._conduct(live)
        if not lane.waiting and self._lanes.get(name) is lane and not lane.busy:
            del self._lanes[name]

    async def _conduct(self, live: Live) -> None:
        """From acceptance to the end of its turn."""
        try:
            for attempt in (1, 2):
                spot = await self._spot(live, attempt)
                if spot is None or await self._start(live, spot):
                    return
                self._at.pop(spot.terminal, None)
            detail = f"The shell in the pane did not start it within {CLAIM_WITHIN_S:.0f} s."
            await self.end(live, flaw="not-started", detail=detail)
        except (Refused, WorldFailed) as error:
            if not live.ended.is_set():
                await self.end(live, flaw="not-started", detail=str(error))

    async def _spot(self, live: Live, attempt: int) -> Spot | None:
        """The run's pane; None if it was over before it had one."""
        run = live.record
        while not live.over.is_set():
            found = await self.placer.decide(live, self._at, new=run.new or attempt > 1)
            if isinstance(found, Queue):
                ahead = self.live.get(found.run)
                if ahead is not None:  # else it has ended while we looked
                    await first_of(ahead.over.wait, live.over.wait)
            elif isinstance(found, Reuse):
                return Spot(found.pane, found.terminal, reused=True)
            else:
                assert live.caller is not None
                return await self.placer.open(live.caller, run, attempt)
        return None

    async def _start(self, live: Live, spot: Spot) -> bool:
        """Type the line, once; False if nothing took it there."""
        run = live.record
        if run.in_shell:
            text = marker.typed(run.command, run.id, await self.placer.dialect(spot.pane))
            live.stopped = await stopped_jobs(
                self._stopped_of, await self.placer.foreground(spot.pane)
            )
        else:
            text = await self.placer.line(run.id)
        saved = await self._database.write(
            table.typing, run.id, spot.pane, spot.terminal, spot.reused
        )
        if saved is None:
            if live.claimed.is_set():  # a pane that was given up took it after all
                await live.over.wait()
            return True
        live.record, self._at[spot.terminal] = saved, live
        if not await self.placer.type(spot, text):
            return False
        if run.focus:
            await self.placer.focus(spot.pane)
        if run.in_shell:
            live.record = await self._database.write(table.begin, run.id, spot.terminal, None)
            assert isinstance(live.record.state, Running)
            assert self._group is not None
            self._group.start_soon(self._watch_shell, live, live.record.state)
        elif not await self._is_claimed(live, spot):
            await self._database.write(table.spoil, spot.terminal)
            return False
        await live.over.wait()
        return True

    async def _is_claimed(self, live: Live, spot: Spot) -> bool:
        if await within(self._clock, CLAIM_WITHIN_S, live.claimed):
            return True
        slow = await self.placer.starting(spot, live.record.id)
        return slow and await within(self._clock, SLOW_START_S, live.claimed)

    async def _watch_shell(self, live: Live, state: Running) -> None:
        run = live.record.id
        try:
            found = await until_over(
                self._terminal, self._clock, self.placer, self._stopped_of, live, state.pane
            )
        except PaneMissing:
            await self.end(live, flaw="pane-closed")
            return
        if found is None:
            return
        await anyio.to_thread.run_sync(files.keep_text, self.placer.place, run, found.text)
        await self.end(
            live,
            exit_code=found.exit_code,
            flaw="cancelled" if found.exit_code is None else None,
            detail=found.detail,
            written=len(found.text.encode()),
            cut=not found.whole,
        )

    async def _mind_limit(self, live: Live, limit_s: float) -> None:
        passed = self._clock.wall() - live.record.at
        if await within(self._clock, max(0.0, limit_s - passed), live.ended):
            return
        awaited = any(map(self._listens, live.waiters))
        self.settle(live, await self._surely(table.pass_limit, live.record.id, awaited))

    async def _mind_runner(self, live: Live) -> None:
        """Until it ends: a runner whose connection ended and whose process is gone has lost it."""
        while not live.ended.is_set():
            link = live.runner
            if link is not None:
                await first_of(link.closed.wait, live.ended.wait)
                if live.runner is link:
                    live.runner = None
            elif not self._runner_lives(live):
                await self._end_without_runner(live)
            else:
                await within(self._clock, LOOK_AGAIN_S, live.ended)

    def _runner_lives(self, live: Live) -> bool:
        state = live.record.state
        return isinstance(state, Running) and state.runner is not None and self._lives(state.runner)

    async def _end_without_runner(self, live: Live) -> None:
        place, run = self.placer.place, live.record.id
        left = await anyio.to_thread.run_sync(files.status_of, place, run)
        if left is not None:
            await self.take_status(live, left)
            await anyio.to_thread.run_sync(files.forget_status, place, run)
            return
        state = live.record.state
        assert isinstance(state, Running)
        gone = await self.placer.is_gone(state.pane, state.terminal)
        if not live.ended.is_set():
            await self.end(live, flaw="pane-closed" if gone else "orphaned")

    async def take_status(self, live: Live, status: files.Status) -> None:
        """The end as the runner saw it."""
        flaw: Flaw | None = None
        if status.hung_up:
            flaw = "pane-closed"
        elif status.exit_code is None:
            flaw = "not-started"
        await self.end(
            live,
            exit_code=None if status.hung_up else status.exit_code,
            flaw=flaw,
            detail=status.detail,
            alternate_screen=status.alternate_screen,
            written=status.written,
        )

    async def _surely(self, change: Callable[..., ToolRun], run: str, *rest: object) -> ToolRun:
        """Save what has happened already, however long the store is held by others."""
        while True:
            try:
                return await self._database.write(change, run, *rest)
            except Refused as refusal:
                if refusal.reason not in ("store-busy", "store-full", "store-failed"):
                    raise
                await self._clock.sleep(LOOK_AGAIN_S)

    def _listens(self, link: Link) -> bool:
        """Is somebody still there to be given the answer? A dead client's connection lingers."""
        ancestry = link.peer.ancestry
        return not link.closed.is_set() and (not ancestry or self._lives(ancestry[0]))
