"""The life of runs on a scripted host, with a scripted runner; and of daemons that are killed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from coordinatord import lineage
from coordinatord.errors import Refused
from coordinatord.features.tool_runs import files, table
from coordinatord.features.tool_runs.records import Assignment, Ended, Running, ToolResult, ToolRun
from coordinatord.features.tool_runs.requests import (
    CancelRun,
    ClaimRun,
    CloseTool,
    FinishRun,
    ListRuns,
    RunTool,
    TakeResult,
)
from coordinatord.features.views.requests import ExplainRecord, ReadInbox, ShowRecord
from coordinatord.ids import PaneId, ProcessId
from coordinatord.terminals.fake_host import FakeHost
from tests.house import FakeLink, FastClock, House, living

DEAD = ProcessId("no-such-boot", 999_999, 7)


class Hand:
    """A runner that does as the test says, in the pane where a line was typed."""

    def __init__(self, house: House, run: str, pane: PaneId) -> None:
        self.house = house
        self.run = run
        self.link = FakeLink((DEAD, house.host.panes[pane].shell))

    async def claim(self, *, resume: bool = False) -> Assignment:
        """Ask for the command."""
        return await self.house.call(ClaimRun(run=self.run, resume=resume), link=self.link)

    async def done(self, code: int) -> None:
        """Report the end."""
        await self.house.call(FinishRun(run=self.run, exit_code=code), link=self.link)


async def typed(house: House, count: int = 1) -> Hand:
    """Wait until that many lines were typed; the runner that the last one starts."""

    def lines() -> list[Any]:
        return [each for each in house.host.typed if each.how == "text"]

    await house.until(lambda: len(lines()) >= count)
    last = lines()[-1]
    return Hand(house, last.text.split()[-1], last.pane)


@asynccontextmanager
async def asking(
    house: House, pane: PaneId, request: RunTool
) -> AsyncIterator[Callable[[], Awaitable[ToolResult]]]:
    """The request is under way; the value gives its answer."""
    answers: list[ToolResult] = []
    link = FakeLink((_this_process(), house.host.panes[pane].shell))  # seen to live
    over = anyio.Event()

    async def ask() -> None:
        answers.append(await house.call(request, link=link))
        over.set()

    async def answer() -> ToolResult:
        with anyio.fail_after(10):
            await over.wait()
        return answers[0]

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        yield answer
        group.cancel_scope.cancel()


async def record(house: House, run: str) -> ToolRun:
    """The run as it is stored."""
    return await house.database.read(table.run_named, run)


async def shell(house: House) -> PaneId:
    """A pane with a bare shell that the daemon knows."""
    pane = house.host.add_pane()
    await house.until(lambda: pane in house.parts.sightings.panes)
    return pane


async def test_a_run_from_a_bare_shell_to_its_result(tmp_path: Path) -> None:
    """§4.1: split without focus, the exact label, one short line; the environment is given once."""
    async with living(tmp_path) as house:
        pane = await shell(house)
        there = str(tmp_path)
        request = RunTool(label="t", command=("a", "b"), environment=b"A=1\0", cwd=there)
        async with asking(house, pane, request) as answer:
            hand = await typed(house)
            assert house.host.typed[-1].text == f" {tmp_path}/w.run {hand.run}"
            assert house.host.typed[-1].keys == ("enter",)
            given = await hand.claim()
            assert (given.command, given.cwd) == (("a", "b"), there)
            assert given.environment == b"A=1\0"
            await hand.done(137)
            result = await answer()
        assert (result.exit_code, result.signal, result.reused) == (137, 9, False)
        assert (result.timed_out, result.error, result.state) == (False, None, "ended")
        made = house.host.panes[PaneId(str(result.pane_id))]
        assert (made.label, made.cwd, made.workspace_id) == ("Tool · t", there, "w1")
        assert house.host.focused == pane
        assert [
            each.method for each in house.host.calls if each.method in ("focus", "new_tab")
        ] == []
        assert b"A=1" not in (tmp_path / "coordinator.db").read_bytes()
        assert (await house.call(ShowRecord(id=result.run_id)))["id"] == result.run_id


async def test_focus_moves_only_for_who_asked(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        pane = await shell(house)
        async with asking(house, pane, RunTool(label="t", command=("x",), focus=True)) as answer:
            hand = await typed(house)
            await house.until(lambda: house.host.focused != pane)
            await hand.claim()
            await hand.done(0)
            assert house.host.focused == (await answer()).pane_id


async def test_only_the_runner_in_the_pane_is_given_the_command(tmp_path: Path) -> None:
    """A claim from elsewhere, a second claim and a foreign report are refused."""
    async with living(tmp_path) as house:
        pane = await shell(house)
        async with asking(house, pane, RunTool(label="t", command=("x",))) as answer:
            hand = await typed(house)
            for other in (Hand(house, hand.run, pane), Hand(house, "x-00000000", pane)):
                with pytest.raises(Refused):
                    await other.claim()
            await hand.claim()
            stranger = Hand(house, hand.run, pane)
            beside = (hand.link.peer.ancestry[1], house.host.panes[pane].shell)
            for shell_of in beside:
                stranger.link = FakeLink((ProcessId("b", 5, 5), shell_of))
                with pytest.raises(Refused):
                    await stranger.claim()
                with pytest.raises(Refused):
                    await stranger.done(0)
            await hand.done(4)
            await hand.done(0)
            assert (await answer()).exit_code == 4


async def test_a_runner_that_asks_twice_had_no_answer(tmp_path: Path) -> None:
    """D-40: the daemon was killed between handing out and the answer: the command never ran."""
    async with living(tmp_path) as house:
        pane = await shell(house)
        async with asking(house, pane, RunTool(label="t", command=("x",))) as answer:
            hand = await typed(house)
            await hand.claim()
            with pytest.raises(Refused):
                await hand.claim()
            assert (await answer()).error == "not-started"


async def test_panes_that_somebody_else_closes_meanwhile_are_closed(tmp_path: Path) -> None:
    """Two who close a label at once both find it closed."""
    async with living(tmp_path) as house:
        pane = await shell(house)
        for number in range(1, 5):
            async with asking(house, pane, RunTool(label="t", command=("x",), new=True)) as answer:
                hand = await typed(house, number)
                await hand.claim()
                await hand.done(0)
                await answer()
        async with anyio.create_task_group() as group:
            for key in ("one", "two"):
                group.start_soon(_closed, house, key, pane)
        assert list(house.host.panes) == [pane]


async def _closed(house: House, key: str, pane: PaneId) -> None:
    with suppress(Refused):  # the other one had closed them all
        await house.call(CloseTool(label="t", key=key), pane)


async def test_a_line_that_nothing_takes_is_typed_into_one_new_pane_and_no_more(
    tmp_path: Path,
) -> None:
    """§4.4: no claim within 5 s: that pane is stale, one new one is tried, then not-started."""
    async with living(tmp_path) as house:
        pane = await shell(house)
        async with asking(house, pane, RunTool(label="t", command=("x",))) as answer:
            first = await typed(house)
            second = await typed(house, 2)
            result = await answer()
        assert (result.error, result.exit_code) == ("not-started", None)
        panes = [each.pane for each in house.host.typed]
        assert len(set(panes)) == 2
        for hand in (first, second):
            with pytest.raises(Refused):
                await hand.claim()
        async with asking(house, pane, RunTool(label="t", command=("x",))):
            await typed(house, 3)
            assert house.host.typed[-1].pane not in panes


async def test_a_run_that_nobody_waits_for_is_owed_to_the_agent_who_called(tmp_path: Path) -> None:
    """Owed to the caller's seat until it takes the result; a bare shell is owed nothing."""
    async with living(tmp_path) as house:
        agent = house.host.add_agent()
        await house.until(lambda: agent in house.parts.sightings.panes)
        asked = await house.call(RunTool(label="t", command=("x",), wait=False), agent)
        hand = await typed(house)
        await hand.claim()
        assert (await house.call(ReadInbox(), agent)).items == []
        await hand.done(3)
        await house.until(lambda: house.prompts(agent))
        assert asked.run_id in house.prompts(agent)[0]
        (item,) = (await house.call(ReadInbox(), agent)).items
        assert (item.id, item.kind) == (asked.run_id, "tool-run")
        assert item.settling.endswith(f"tool result {asked.run_id}")
        assert (
            agent_seat(house, agent) in (await house.call(ExplainRecord(id=asked.run_id))).sentence
        )
        bystander = await shell(house)
        assert (await house.call(TakeResult(run=asked.run_id), bystander)).exit_code == 3
        assert len((await house.call(ReadInbox(), agent)).items) == 1
        assert (await house.call(TakeResult(run=asked.run_id), agent)).exit_code == 3
        assert (await house.call(ReadInbox(), agent)).items == []

        quiet = await house.call(RunTool(label="u", command=("x",), wait=False), bystander)
        hand = await typed(house, 2)
        await hand.claim()
        await hand.done(0)
        assert (await record(house, quiet.run_id)).owed_to is None
        listed = (await house.call(ListRuns(), bystander)).items
        assert [each.id for each in listed] == [quiet.run_id, asked.run_id]


async def test_a_waiter_that_is_gone_counts_as_nobody(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        agent = house.host.add_agent()
        await house.until(lambda: agent in house.parts.sightings.panes)
        async with asking(house, agent, RunTool(label="t", command=("x",))):
            hand = await typed(house)
            await hand.claim()
        await hand.done(0)
        assert len((await house.call(ReadInbox(), agent)).items) == 1


async def test_what_waits_is_cancelled_at_once_and_what_runs_is_told(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        pane, stranger = await shell(house), await shell(house)
        first = await house.call(RunTool(label="t", command=("x",), wait=False), pane)
        hand = await typed(house)
        await hand.claim()
        second = await house.call(RunTool(label="t", command=("y",), wait=False), pane)
        with pytest.raises(Refused):
            await house.call(CancelRun(run=second.run_id), stranger)
        result = await house.call(CancelRun(run=second.run_id), pane)
        assert (result.error, result.pane_id) == ("cancelled", None)
        async with anyio.create_task_group() as group:
            group.start_soon(house.call, CancelRun(run=first.run_id), pane)
            await house.until(lambda: ("tool.cancel", {"run_id": first.run_id}) in hand.link.notes)
            await hand.done(143)
        ended = (await record(house, first.run_id)).state
        assert isinstance(ended, Ended)
        assert (ended.flaw, ended.exit_code) == ("cancelled", 143)
        assert len([each for each in house.host.typed if each.how == "text"]) == 1


async def test_a_runner_that_is_gone_orphans_its_run(tmp_path: Path) -> None:
    """§4.4: pane there, runner gone: orphaned; pane gone: pane-closed."""
    async with living(tmp_path) as house:
        pane = await shell(house)
        for label, flaw in (("a", "orphaned"), ("b", "pane-closed")):
            async with asking(house, pane, RunTool(label=label, command=("x",))) as answer:
                hand = await typed(house, 1 if label == "a" else 2)
                await hand.claim()
                if flaw == "pane-closed":
                    house.host.remove_pane(house.host.typed[-1].pane)
                hand.link.closed.set()
                assert (await answer()).error == flaw


async def test_logs_are_bounded_while_the_daemon_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of runs that go on, or that are owed, stay; the result says that output is missing."""
    monkeypatch.setattr(files, "KEPT_RUNS", 0)
    async with living(tmp_path) as house:
        pane = await shell(house)
        logs: list[Path] = []
        for number in (1, 2):
            async with asking(house, pane, RunTool(label=f"l{number}", command=("x",))) as answer:
                hand = await typed(house, number)
                logs.append(Path((await hand.claim()).log))
                logs[-1].parent.mkdir(exist_ok=True)
                logs[-1].write_bytes(b"out\n")
                if number == 1:
                    await house.call(
                        FinishRun(run=hand.run, exit_code=0, written=4), link=hand.link
                    )
                    await answer()
                    await house.until(lambda: not logs[0].exists())
                    result = await house.call(TakeResult(run=hand.run), pane)
                    assert (result.truncated, result.log, result.output_tail) == (True, None, "")
        assert logs[1].exists()
        assert await house.database.read(table.needed) == {hand.run}


async def test_a_caller_s_pane_that_closes_does_not_take_its_waiting_run_along(
    tmp_path: Path,
) -> None:
    """§4.3, who goes away cancels nothing: an idle pane of the label serves still."""
    async with living(tmp_path) as house:
        pane, other = await shell(house), await shell(house)
        async with asking(house, other, RunTool(label="a", command=("x",))) as first:
            hand = await typed(house)
            await hand.claim()
            second = await house.call(RunTool(label="a", command=("y",), wait=False), pane)
            house.host.remove_pane(pane)
            await hand.done(0)
            await first()
            after = await typed(house, 2)
            assert (after.run, (await after.claim()).command) == (second.run_id, ("y",))


def agent_seat(house: House, pane: PaneId) -> str:
    """How an agent without a role is addressed."""
    return f"peer:{house.host.panes[pane].terminal_id}"


KEYED = RunTool(label="t", command=("x",), key="k", wait=False)


async def test_a_key_names_one_run(tmp_path: Path) -> None:
    """D-40: the same key finds the run, another body is a conflict."""
    async with living(tmp_path) as house:
        pane = await shell(house)
        first = await house.call(KEYED, pane)
        again = await house.call(
            RunTool(label="t", command=("x",), key="k", wait=False, environment=b"B=2\0"), pane
        )
        assert again.run_id == first.run_id
        with pytest.raises(Refused) as refusal:
            await house.call(RunTool(label="t", command=("y",), key="k", wait=False), pane)
        assert refusal.value.reason == "key-conflict"
        hand = await typed(house)
        await hand.claim()
        await hand.done(0)
        assert (await house.call(KEYED, pane)).exit_code == 0


@pytest.mark.parametrize("point", ["intent", "split", "typing", "running", "ended"])
async def test_d40_killed_anywhere_and_asked_again_there_is_one_run(
    tmp_path: Path, point: str
) -> None:
    """D-40: one run, at most one pane, at most one line; the repeated answer is the first one."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        pane = await shell(house)
        if point == "intent":
            host.fail("split", "hang")
        if point == "split":
            host.fail("split", "uncertain-done")
        first = await house.call(KEYED, pane)
        if point in ("typing", "running", "ended"):
            hand = await typed(house)
        if point in ("running", "ended"):
            await hand.claim()
        if point == "ended":
            await hand.done(9)
        if point == "split":
            await house.until(lambda: _has_ended(house, first.run_id))
    if point == "running":
        (tmp_path / "runs").mkdir(exist_ok=True)
        (tmp_path / "runs" / f"{first.run_id}.status").write_text('{"exit_code": 9}')
    async with living(tmp_path, host, clock=clock) as house:
        await house.until(lambda: pane in house.parts.sightings.panes)
        await house.until(lambda: _has_ended(house, first.run_id))
        again = await house.call(KEYED, pane)
        assert again.run_id == first.run_id
        code = 9 if point in ("running", "ended") else None
        assert (again.exit_code, again.error) == (code, None if code else "not-started")
        assert (await house.call(KEYED, pane)) == again
        assert len((await house.call(ListRuns(), pane)).items) == 1
        assert len([each for each in host.panes.values() if each.pane != pane]) <= 1
        lines = [each for each in host.typed if each.how == "text"]
        assert len(lines) == (1 if point in ("typing", "running", "ended") else 0)
        if point == "typing":
            late = Hand(house, first.run_id, lines[0].pane)
            with pytest.raises(Refused):
                await late.claim()


async def _has_ended(house: House, run: str) -> bool:
    return isinstance((await record(house, run)).state, Ended)


async def test_a_runner_finds_the_next_daemon(tmp_path: Path) -> None:
    """D-40: what runs is still running after a restart, and ends with its own code."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        pane = await shell(house)
        first = await house.call(KEYED, pane)
        hand = await typed(house)
        await hand.claim()
        # a process that lives: this one
        await house.database.write(_run_by_us, first.run_id)
    async with living(tmp_path, host, clock=clock) as house:
        await house.until(lambda: pane in house.parts.sightings.panes)
        ours = Hand(house, first.run_id, pane)
        ours.link = FakeLink((_this_process(),))
        assert (await ours.claim(resume=True)).environment is None
        await ours.done(21)
        assert (await house.call(KEYED, pane)).exit_code == 21


def _this_process() -> ProcessId:
    found = lineage.identify(os.getpid())
    assert found is not None
    return found


def _run_by_us(tx: Any, run: str) -> None:
    stored = table.run_named(tx, run)
    assert isinstance(stored.state, Running)
    state = msgspec.structs.replace(stored.state, runner=_this_process())
    table.RUNS.put(tx, msgspec.structs.replace(stored, state=state))
