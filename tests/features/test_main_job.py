"""The main job on a scripted host: ask, hold, deliver at idle, answer, resolve, report, verify."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.features.panes.requests import WhoAmI
from coordinatord.features.questions.requests import AnswerQuestion, AskQuestion, ResolveQuestion
from coordinatord.features.reports.requests import FileReport, RecordVerification
from coordinatord.features.views.requests import ExplainRecord, ReadInbox, ReadStatus
from tests.features.staff import staffed
from tests.house import living


async def test_a_question_is_held_while_the_coordinator_works_and_told_once_at_idle(
    tmp_path: Path,
) -> None:
    """C-1, C-2, C-3: saved first, nothing typed while busy, one notice by id at idle, no second."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        house.host.set_status(boss, "working")
        question = await house.call(AskQuestion(task=task, text="Which port?"), worker)
        await house.until(lambda: house.call(ReadStatus(), boss))

        async def held() -> bool:
            return (await house.call(ExplainRecord(id=question.id))).held == "busy"

        await house.until(held)
        assert house.prompts(boss) == []
        before = len(house.host.calls)
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        calls = [each for each in house.host.calls[before:] if each.pane == boss]
        upto = next(n for n, each in enumerate(calls) if each.method == "prompt")
        assert upto <= 4, calls  # intake's own look, then agent.get, process_info, read
        await house.rest()
        house.host.set_status(boss, "idle")
        await house.rest()
        assert len(house.prompts(boss)) == 1
        notice = house.prompts(boss)[0]
        assert question.id in notice
        assert "port" not in notice
        assert notice.startswith("[coord d-")
        assert notice.endswith("inbox]")
        assert [each.stage for each in await house.attempts()] == ["turn-started"]


async def test_an_answer_is_told_to_the_worker_and_stays_owed_until_it_is_applied(
    tmp_path: Path,
) -> None:
    """C-16, C-17, C-20: the worker cannot answer; told settles nothing; verifying does."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await house.call(AskQuestion(task=task, text="Which port?"), worker)
        with pytest.raises(Refused) as refusal:
            await house.call(AnswerQuestion(question=question.id, text="80"), worker)
        assert refusal.value.reason == "not-allowed"
        await house.call(AnswerQuestion(question=question.id, text="80"), boss)
        await house.until(lambda: house.prompts(worker))
        inbox = await house.call(ReadInbox(), worker)
        assert [(item.id, item.kind, item.text) for item in inbox.items] == [
            (question.id, "answer", "80")
        ]
        await house.call(ResolveQuestion(question=question.id), worker)
        assert (await house.call(ReadInbox(), worker)).items == []
        report = await house.call(FileReport(task=task, outcome="completed", text="did"), worker)
        with pytest.raises(Refused):
            await house.call(RecordVerification(task=task, candidate="v1", result="pass"), worker)
        assert [item.id for item in (await house.call(ReadInbox())).items] == [report.id]
        await house.call(RecordVerification(task=task, candidate="v1", result="pass"), boss)
        assert (await house.call(ReadInbox(), boss)).items == []


async def test_a_caller_is_the_seat_it_can_prove(tmp_path: Path) -> None:
    """The pane's shell among the ancestors proves; a claim reads and does not act."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        stranger = house.host.add_pane()
        seats = [(await house.call(WhoAmI(), pane)).id for pane in (boss, worker, stranger, None)]
        terminal = house.host.panes[stranger].terminal_id
        assert seats == ["coordinator", f"worker:{task}", f"peer:{terminal}", "operator"]
        claim = await house.claim_link(worker)
        known = await house.call(WhoAmI(), link=claim)
        assert (known.id, known.proof) == (f"worker:{task}", "claim")
        with pytest.raises(Refused) as refusal:
            await house.call(AskQuestion(task=task, text="?"), link=claim)
        assert refusal.value.reason == "not-proven"
