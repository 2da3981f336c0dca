"""Answers the runner in the pane: `tool.runner-claim` and `tool.runner-done`."""

from __future__ import annotations

from coordinatord.errors import Refused
from coordinatord.features.panes.records import Caller
from coordinatord.features.tool_runs import files, table
from coordinatord.features.tool_runs.records import Assignment, Running
from coordinatord.features.tool_runs.requests import ClaimRun, FinishRun
from coordinatord.features.tool_runs.run import ToolRuns
from coordinatord.features.tool_runs.run_lane import Link, Live
from coordinatord.ids import ProcessId
from coordinatord.store.database import Database
from coordinatord.wire.requests import Done


class RunnerMethods:
    """Only the process in the pane that the line was typed into is given the command."""

    def __init__(self, database: Database, runs: ToolRuns) -> None:
        self._database = database
        self._runs = runs

    async def claim(self, link: Link, caller: Caller, request: ClaimRun) -> Assignment:
        """Hand out the command once, or know its runner again."""
        live = self._runs.live.get(request.run)
        if live is None:
            await self._database.read(table.run_named, request.run)
            raise Refused("wrong-state", f"{request.run} is over.")
        runner = link.peer.ancestry[0] if link.peer.ancestry else None
        if request.resume:
            _check_runner(live, link, caller)
            live.runner = link
            return self._assignment(live, None)
        if runner is not None and _runner_of(live) == runner:  # it asks again: it has nothing
            detail = "The daemon was restarted before its runner had the command."
            await self._runs.end(live, flaw="not-started", detail=detail)
            raise Refused("wrong-state", f"{request.run} was not started: its environment is lost.")
        if live.record.cancelled:
            await self._runs.end(live, flaw="cancelled")
            raise Refused("wrong-state", f"{request.run} was cancelled.")
        terminal = caller.terminal_id if caller.proven else None
        live.record = await self._database.write(table.begin, request.run, terminal, runner)
        live.runner = link
        live.claimed.set()
        self._runs.mind(live)
        environment, live.environment = live.environment, None
        return self._assignment(live, environment)

    async def done(self, link: Link, caller: Caller, request: FinishRun) -> Done:
        """The command has ended. Said again it changes nothing."""
        live = self._runs.live.get(request.run)
        if live is None:
            await self._database.read(table.run_named, request.run)
            return Done()
        _check_runner(live, link, caller)
        status = files.Status(
            exit_code=request.exit_code,
            detail=request.detail,
            hung_up=request.hung_up,
            alternate_screen=request.alternate_screen,
            written=request.written,
        )
        await self._runs.take_status(live, status)
        return Done()

    def _assignment(self, live: Live, environment: bytes | None) -> Assignment:
        run = live.record
        return Assignment(
            run_id=run.id,
            command=run.command,
            cwd=run.cwd,
            environment=environment,
            log=files.log_of(self._runs.placer.place, run.id),
            cancelled=run.cancelled,
        )


def _runner_of(live: Live) -> ProcessId | None:
    return live.record.state.runner if isinstance(live.record.state, Running) else None


def _check_runner(live: Live, link: Link, caller: Caller) -> None:
    """The process that claimed the run, by pid and start; by its pane where the pid is not seen."""
    state, ancestry, runner = live.record.state, link.peer.ancestry, _runner_of(live)
    same = isinstance(state, Running) and (
        runner == ancestry[0]
        if ancestry and runner is not None
        else caller.terminal_id == state.terminal
    )
    if not same:
        raise Refused("not-allowed", f"{live.record.id} is run by another process.")
