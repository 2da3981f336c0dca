"""Answers `tool.…`."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread

from coordinatord.clock import Clock
from coordinatord.errors import PaneMissing, Refused, Unreachable
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.records import Caller
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tool_runs import files, marker, placement, table, tail
from coordinatord.features.tool_runs.records import (
    Ended,
    Output,
    RunListed,
    Running,
    State,
    ToolResult,
    ToolRun,
    begun,
    signal_of,
    title,
    where,
)
from coordinatord.features.tool_runs.requests import (
    CancelRun,
    CloseTool,
    ListRuns,
    ReadOutput,
    RunTool,
    TakeResult,
)
from coordinatord.features.tool_runs.run import ToolRuns
from coordinatord.features.tool_runs.run_lane import Link, Live, first_of, within
from coordinatord.store.database import Database, Transaction, View
from coordinatord.terminals.port import Occupant, Sighting
from coordinatord.wire.requests import Done, Listing

PROGRESS_EVERY_S: Final = 1.0
FOLLOW_EVERY_S: Final = 0.2
CANCEL_WITHIN_S: Final = 7.0
"""How long `tool cancel` waits for the end: a little more than the runner waits before it kills."""
_WINDOW: Final = 4 * tail.LIMIT
"""Bytes of the log that a tail is made from: escapes take their share."""


class ToolMethods:
    """Routes of this feature; the runner's own are in `run_runner.py`."""

    def __init__(self, database: Database, lookout: Lookout, runs: ToolRuns, clock: Clock) -> None:
        self._database = database
        self._lookout = lookout
        self._runs = runs
        self._clock = clock

    async def run(self, link: Link, caller: Caller, request: RunTool) -> ToolResult:
        """Start a run, or find the one that the same key began; wait for it."""
        placement.check_label(request.label)
        placement.check_command(request.command)
        if request.in_shell:
            marker.text_of(request.command)
        seen = self._caller_pane(caller)
        wanted = _wanted(caller, seen, request)
        occupant = await self._occupant(caller, seen)
        record, fresh = await self._database.write(table.accept, caller, wanted, occupant)
        live = self._runs.live.get(record.id)
        if fresh:
            live = self._runs.begin(record, caller, request.environment, seen.workspace_id)
        if live is not None and request.wait:
            record = await self._awaited(live, live.over, link)
        return await self._result(live.record if live else record, request.tail_lines)

    def list(self, view: View, caller: Caller, request: ListRuns) -> Listing[RunListed]:
        """The latest runs."""
        found = table.newest(view, request.limit)
        return Listing(items=list(map(_listed, found.items)), incomplete=found.incomplete)

    async def result(self, link: Link, caller: Caller, request: TakeResult) -> ToolResult:
        """What a run came to; asked for by the seat that owes it, it is taken."""
        live = self._runs.live.get(request.run)
        if live is not None and request.wait:
            await self._awaited(live, live.ended, link)
        record = await self._database.read(table.run_named, request.run)
        if isinstance(record.state, Ended) and not record.taken:
            record = await self._database.write(table.take, caller, request.run)
        return await self._result(record, request.tail_lines)

    async def tail(self, link: Link, caller: Caller, request: ReadOutput) -> Output:
        """The last output; followed, it comes as notifications and the answer is the end."""
        record = await self._database.read(table.run_named, request.run)
        if not request.follow:
            text, truncated, _ = await self._tail(record, request.tail_lines)
            return _output(record, text, truncated)
        live = self._runs.live.get(request.run)
        if live is None:
            text, truncated, _ = await self._tail(record, request.tail_lines)
            link.notify("tool.output", _output(record, text, truncated))
        else:
            await self._follow(link, live, request)
            record = live.record
        return _output(record, "", False)

    async def cancel(self, caller: Caller, request: CancelRun) -> ToolResult:
        """Ask for the end of a run, and wait a little for it."""
        live = self._runs.live.get(request.run)
        awaited = live is not None and bool(live.waiters)
        record = await self._database.write(table.cancel, caller, request.run, awaited)
        if live is not None:
            await self._runs.cancel(live, record)
            await within(self._clock, CANCEL_WITHIN_S, live.ended)
            record = live.record
        return await self._result(record, None)

    async def close(self, caller: Caller, request: CloseTool) -> Done:
        """Close the panes of a label; journalled before it is done."""
        placement.check_label(request.label)
        space = None if caller.pane is None else self._caller_pane(caller).workspace_id
        if not await self._lookout.look_around():
            raise Unreachable(self._lookout.sightings.trouble or "it was asked for its panes")
        ours = await self._database.read(table.terminals_of, request.label)
        panes = [
            seen
            for seen in self._lookout.sightings.panes.values()
            if seen.terminal_id in ours
            and seen.label == title(request.label)
            and space in (None, seen.workspace_id)
        ]
        if not panes:
            raise Refused(
                "pane-missing",
                f"No pane of ours is called {title(request.label)} here.",
                "See what ran where: coordctl tool list",
            )
        for seen in panes:
            await self._database.write(_journal_close, caller, seen)
            with suppress(PaneMissing):  # somebody was faster
                await self._lookout.terminal.close(seen.pane)
            self._lookout.sightings.forget(seen.pane)
        return Done()

    def _caller_pane(self, caller: Caller) -> Sighting:
        seen = self._lookout.sightings.panes.get(caller.pane) if caller.pane else None
        if seen is None or caller.terminal_id is None:
            raise Refused(
                "no-pane",
                "Tools run beside the pane of whoever calls, and you are in none.",
                "Call from a pane of the terminal host: coordctl pane list",
            )
        return seen

    async def _occupant(self, caller: Caller, seen: Sighting) -> Occupant | None:
        """The agent in the caller's pane, if it may have to be told and has no seat of a role."""
        if caller.role != "developer" or seen.agent is None:
            return None
        try:
            return (await occupant_in(self._lookout, seen.pane))[1]
        except (Refused, PaneMissing, Unreachable):
            return None

    async def _awaited(self, live: Live, event: anyio.Event, link: Link) -> ToolRun:
        """Wait for one of the run's events, telling the caller how it goes."""
        live.waiters.append(link)
        try:
            await first_of(
                event.wait, self._runs.stopping.wait, lambda: self._tell_progress(live, link)
            )
        finally:
            if link in live.waiters:
                live.waiters.remove(link)
        if not event.is_set():
            raise Refused(
                "stopping",
                "The daemon is stopping; the run goes on.",
                f"Ask again: coordctl tool result {live.record.id}",
            )
        return live.record

    async def _tell_progress(self, live: Live, link: Link) -> None:
        """Tell the client how it goes, so that its patience does not end; until it is cancelled."""
        while True:
            raw = await self._last_bytes(live.record, 4096)
            since = begun(live.record.state)
            link.notify(
                "tool.progress",
                {
                    "run_id": live.record.id,
                    "state": live.record.state.__struct_config__.tag,
                    "elapsed_ms": self._ms_since(since or live.record.at),
                    "last_line": tail.last_line(raw)[:200],
                },
            )
            await self._clock.sleep(PROGRESS_EVERY_S)

    async def _follow(self, link: Link, live: Live, request: ReadOutput) -> None:
        text, truncated, _ = await self._tail(live.record, request.tail_lines)
        position = await anyio.to_thread.run_sync(files.size, self._log(live.record))
        heard = link.notify("tool.output", _output(live.record, text, truncated))
        rest = b""
        while heard and not self._runs.stopping.is_set() and not link.closed.is_set():
            over = live.ended.is_set()
            await link.drained()  # a slow reader misses what goes meanwhile, and is never dropped
            raw, skipped, position = await self._more(live.record, position)
            lines, rest = tail.whole_lines(rest + raw)
            if over and not raw:
                lines, rest = lines + rest, b""
            if lines:
                text = tail.clean(tail.primary(lines))
                heard = link.notify("tool.output", _output(live.record, text, skipped))
            if over and not raw:
                return
            if not raw:
                await within(self._clock, FOLLOW_EVERY_S, live.ended)

    async def _more(self, record: ToolRun, position: int) -> tuple[bytes, bool, int]:
        """Output from a position on, whether some before it is gone, and the position behind it."""
        log, state = self._log(record), record.state
        raw, behind = await anyio.to_thread.run_sync(files.since, log, position, _WINDOW)
        if raw or not isinstance(state, Ended) or state.written <= behind:
            return raw, behind - len(raw) > position, behind
        # the log is joined by now: positions count no more, its end does
        raw, _ = await anyio.to_thread.run_sync(
            files.last, log, min(state.written - behind, _WINDOW)
        )
        return raw, state.written - len(raw) > position, state.written

    async def _result(self, record: ToolRun, lines: int | None) -> ToolResult:
        text, truncated, drawn = await self._tail(record, lines)
        log = await anyio.to_thread.run_sync(files.kept_log, self._runs.placer.place, record.id)
        state, (pane, reused) = record.state, where(record.state)
        ended = state if isinstance(state, Ended) else None
        code = ended.exit_code if ended else None
        since = begun(state)
        return ToolResult(
            run_id=record.id,
            label=record.label,
            pane_id=pane,
            reused=reused,
            exit_code=code,
            signal=signal_of(code),
            timed_out=record.late,
            output_tail=text,
            truncated=truncated,
            state=str(state.__struct_config__.tag),
            duration_ms=None
            if since is None
            else self._ms_since(since, ended.at if ended else None),
            log=log,
            error=ended.flaw if ended else None,
            detail=ended.detail if ended else None,
            alternate_screen=ended.alternate_screen if ended else drawn,
        )

    async def _tail(self, record: ToolRun, lines: int | None) -> tuple[str, bool, bool]:
        """The end of the output as text, whether there is more, whether a full screen was drawn."""
        if begun(record.state) is None:
            return "", False, False
        log = self._log(record)
        raw, more = await anyio.to_thread.run_sync(files.last, log, _WINDOW)
        text = tail.clean(tail.primary(raw))
        if not text.strip() and more:  # all of the window was drawn on the other screen
            begin, _ = await anyio.to_thread.run_sync(files.since, log, 0, _WINDOW)
            text = tail.clean(tail.primary(begin))
        kept, cut = tail.last(text, lines)
        return kept, cut or more or _is_lost(record.state, len(raw)), tail.draws(raw)

    async def _last_bytes(self, record: ToolRun, count: int) -> bytes:
        if not isinstance(record.state, Running | Ended):
            return b""
        return (await anyio.to_thread.run_sync(files.last, self._log(record), count))[0]

    def _log(self, record: ToolRun) -> str:
        return files.log_of(self._runs.placer.place, record.id)

    def _ms_since(self, at: float, until: float | None = None) -> int:
        return max(0, round(((self._clock.wall() if until is None else until) - at) * 1000))


def _wanted(caller: Caller, seen: Sighting, request: RunTool) -> ToolRun:
    cwd = request.cwd if request.cwd is not None else seen.foreground_cwd or seen.cwd or "/"
    placement.check_folder(cwd)
    told = caller.role in ("coordinator", "worker", "reviewer") or seen.agent is not None
    assert caller.terminal_id is not None
    return ToolRun(
        id="",
        seq=0,
        at=0.0,
        by=caller.seat,
        owed_to=caller.seat if told else None,
        pane=seen.pane,
        terminal=caller.terminal_id,
        label=request.label,
        command=request.command,
        cwd=cwd,
        direction=request.direction,
        focus=request.focus,
        new=request.new,
        in_shell=request.in_shell,
        limit_ms=request.timeout_ms,
        key=request.key or None,
    )


def _is_lost(state: State, kept: int) -> bool:
    """Is there output of an ended run that was not kept at all, or is not any more?"""
    return isinstance(state, Ended) and (state.cut or kept < min(state.written, _WINDOW))


def _listed(run: ToolRun) -> RunListed:
    state = run.state
    ended = state if isinstance(state, Ended) else None
    return RunListed(
        id=run.id,
        seq=run.seq,
        at=run.at,
        label=run.label,
        state=str(state.__struct_config__.tag),
        pane_id=where(state)[0],
        exit_code=ended.exit_code if ended else None,
        error=ended.flaw if ended else None,
        timed_out=run.late,
        by=run.by,
        command=run.command,
    )


def _output(run: ToolRun, text: str, truncated: bool) -> Output:
    state = str(run.state.__struct_config__.tag)
    return Output(run_id=run.id, text=text, state=state, truncated=truncated)


def _journal_close(tx: Transaction, caller: Caller, seen: Sighting) -> None:
    tx.journal("pane-close", seen.pane, actor=caller.seat, proof=caller.proof)
