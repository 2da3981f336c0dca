"""The daemon ends at an awkward moment: what is there afterwards, and what is told (coordination.md §8.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coordinatord.errors import Refused
from coordinatord.features.briefs.requests import AdoptBrief, RecordDecision, RegenerateBrief
from coordinatord.features.briefs.requests import RequestBrief as AskForBrief
from coordinatord.features.delivery.records import Stage
from coordinatord.features.delivery.requests import InitSeat, ShowWake
from coordinatord.features.delivery.table import ATTEMPTS, claim
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes.table import seat_or_none
from coordinatord.features.questions.requests import AnswerQuestion, AskQuestion
from coordinatord.features.reports.requests import FileReport, FileReview, RecordVerification
from coordinatord.features.tasks import table as tasks
from coordinatord.features.tasks.records import Active, NeedsAttention, Prepared, Starting
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.upkeep.requests import ArchiveTask
from coordinatord.features.views.requests import ExplainRecord
from coordinatord.ids import COORDINATOR, AttemptId, PaneId
from coordinatord.store.database import Transaction, View
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.wire.requests import Mutation
from tests.features.made import caller
from tests.features.staff import ask, staffed
from tests.house import House, living


class Killed(BaseException):
    """The process ends here."""


def everything(view: View) -> dict[str, list[tuple[Any, ...]]]:
    names = view.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%q_seq%'"
    )
    return {name: view.rows(f"SELECT * FROM {name}") for (name,) in names}


async def by_worker(house: House, boss: PaneId, worker: PaneId, task: str) -> Mutation[Any]:
    return AskQuestion(task=task, text="Which port?", key="k")


async def by_boss(house: House, boss: PaneId, worker: PaneId, task: str) -> Mutation[Any]:
    return AnswerQuestion(question=await ask(house, task, worker), text="80", key="k")


async def verifying(house: House, boss: PaneId, worker: PaneId, task: str) -> Mutation[Any]:
    await house.call(FileReport(task=task, outcome="completed", text="x"), worker)
    await house.call(FileReview(task=task, candidate="v", verdict="comment", text="y"), boss)
    return RecordVerification(task=task, candidate="v", run="r", key="k", result="pass")


async def adopting(house: House, boss: PaneId, worker: PaneId, task: str) -> Mutation[Any]:
    await house.call(RecordDecision(task=task, text="Port 80."), boss)
    made = await house.call(RegenerateBrief(task=task), boss)
    await house.call(AskForBrief(brief=made.id), boss)
    return AdoptBrief(brief=made.id, key="k")


async def archiving(house: House, boss: PaneId, worker: PaneId, task: str) -> Mutation[Any]:
    await verifying(house, boss, worker, task)
    await ask(house, task, worker)
    return ArchiveTask(task=task, acknowledge=True, key="k")


@pytest.mark.parametrize("prepare", [by_worker, by_boss, verifying, adopting, archiving])
async def test_an_end_at_any_statement_leaves_all_or_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[House, PaneId, PaneId, str], Awaitable[Mutation[Any]]],
) -> None:
    """C-47: each act is one transaction, whatever it changes; repeated, it is done once."""
    async with living(tmp_path, run=False) as house:
        boss, worker = (
            house.host.add_agent(status="working"),
            house.host.add_agent(status="working"),
        )
        await house.parts.lookout.look_around()
        await house.call(InitSeat(), boss)
        task = (await house.call(NewTask(title="t", worker_pane=worker), boss)).id
        request = await prepare(house, boss, worker, task)
        by = worker if isinstance(request, (AskQuestion, AdoptBrief)) else boss
        before = await house.database.read(everything)
        true_run, ends = Transaction.run, 0
        while True:
            left = ends

            def run(self: Transaction, sql: str, *params: Any) -> int:
                nonlocal left
                if left == 0:
                    raise Killed
                left -= 1
                return true_run(self, sql, *params)

            with monkeypatch.context() as patch:
                patch.setattr(Transaction, "run", run)
                try:
                    await house.call(request, by)
                except Killed:
                    ends += 1
                else:
                    break
            assert await house.database.read(everything) == before, ends
        assert ends >= 2
        after = await house.database.read(everything)
        await house.call(request, by)
        assert await house.database.read(everything) == after


async def test_a_question_that_was_saved_and_not_told_is_told_once(tmp_path: Path) -> None:
    """C-9, §8.3 first row."""
    host: FakeHost
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        host = house.host
    host.set_status(boss, "idle")
    async with living(tmp_path, host) as house:
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert [question in each for each in house.prompts(boss)] == [True]


async def test_an_attempt_that_was_in_hand_is_uncertain_and_not_repeated(tmp_path: Path) -> None:
    """C-9, §8.3: after the in-flight stamp."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await house.rest()
        host = house.host

        def stamp(tx: Transaction) -> None:
            seat = seat_or_none(tx, COORDINATOR)
            owed = house.parts.sources.owed(tx, tx.now).items
            assert seat is not None
            claim(
                tx, house.parts.sources, seat, owed, AttemptId(tx.mint("attempt")),
                transport="prompt", stage="claimed", evidence="about to type",
            )  # fmt: skip

        await house.database.write(stamp)
    host.set_status(boss, "idle")
    async with living(tmp_path, host) as house:
        await house.until(lambda: house.parts.sightings.connected)
        await house.rest()
        assert house.prompts(boss) == []
        assert (await house.call(ExplainRecord(id=question))).held == "uncertain"


@pytest.mark.parametrize("stage", ["claimed", "typed"])
async def test_a_wake_that_was_cut_off_is_uncertain_and_hides_nothing(
    tmp_path: Path, stage: Stage
) -> None:
    """C-9, §8.3: what a wake named that was begun stays untold; what comes later is told."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        report = await house.call(FileReport(task=task, outcome="partial", text="x"), worker)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert (await house.call(ShowWake(), boss)).included == (f"report:{report.id}",)
        host = house.host

        def cut_off(tx: Transaction) -> None:
            (attempt,) = ATTEMPTS.select(tx).items
            steps = [step.stage for step in attempt.trail]
            trail = attempt.trail[: steps.index(stage) + 1]
            ATTEMPTS.put(tx, msgspec.structs.replace(attempt, trail=trail))
            tx.run("UPDATE told SET stage = ?", stage)

        await house.database.write(cut_off)
    host.set_status(boss, "idle")
    async with living(tmp_path, host) as house:
        assert (await house.call(ExplainRecord(id=report.id))).held == "uncertain"
        later = await house.call(SendMessage(to=COORDINATOR, text="hello"))
        await house.until(lambda: len(house.prompts(boss)) == 2)
        await house.rest()
        first, second = house.prompts(boss)
        assert (report.id in first, later.id in second) == (True, True)
        assert report.id not in second


async def test_an_uncertain_start_of_a_worker_is_not_repeated(tmp_path: Path) -> None:
    """§8.3: during launch; a task that was starting needs attention and can be looked after by hand."""
    boss = caller(COORDINATOR)
    async with living(tmp_path, run=False) as house:
        write = house.database.write
        task = await write(tasks.add, boss, "t", None)
        task = await write(tasks.move, boss, task, NeedsAttention(error="the place was not made"))
        task = await write(tasks.move, boss, task, Prepared())
        task = await write(tasks.move, boss, task, Starting())
        for again in (Starting(), Prepared()):
            with pytest.raises(Refused) as refusal:
                await write(tasks.move, boss, task, again)
            assert refusal.value.reason == "wrong-state"
        task = await write(tasks.move, boss, task, NeedsAttention(error="uncertain"))
        with pytest.raises(Refused):
            await write(tasks.move, boss, task, Starting())
        task = await write(tasks.move, boss, task, Active())
        stored = await house.database.read(tasks.TASKS.get, task.id)
        assert stored == task
