"""What is shown: who owes what and since when, what a worker needs to go on, who did what."""

from __future__ import annotations

from pathlib import Path

import msgspec

from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.questions.requests import AnswerQuestion, ResolveQuestion
from coordinatord.features.reports.records import Check
from coordinatord.features.reports.requests import (
    AddNote,
    FileHandoff,
    FileReport,
    FileReview,
    RecordVerification,
)
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.overview import Bound, ranked
from coordinatord.features.views.requests import (
    ReadContext,
    ReadInbox,
    ReadLog,
    ReadRundown,
    ShowRecord,
)
from tests.features.made import owed
from tests.features.staff import ask, new_task, staffed
from tests.house import living


async def test_the_rundown_shows_every_active_task_the_oldest_decision_first(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as house:
        boss, worker, first = await staffed(house, boss_status="working")
        other = house.host.add_agent()
        second = await new_task(house, boss, other)
        idle = await new_task(house, boss)
        question = await ask(house, second, other)
        await house.call(FileReport(task=first, outcome="partial", text="half"), worker)
        rundown = await house.call(ReadRundown())
        assert [item.id for item in rundown.items] == [second, first, idle]
        assert [item.status for item in rundown.items] == ["waiting", "reported", "prepared"]
        assert (rundown.decisions, rundown.owed, rundown.incomplete) == (1, 2, False)
        debt = rundown.items[0].owed[0]
        assert (debt.id, debt.to, debt.state) == (question, "coordinator", "pending")
        assert debt.age_s >= 0
        assert rundown.items[0].worker_pane == other
        assert (await house.call(ReadRundown(limit=1))).more == 2


async def test_status_follows_the_records(tmp_path: Path) -> None:
    """§1.6: running, waiting, running again, reported."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)

        async def status() -> str:
            return str((await house.call(ShowRecord(id=task)))["status"])

        assert await status() == "running"
        question = await ask(house, task, worker)
        assert await status() == "waiting"
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        assert await status() == "waiting"
        await house.call(ResolveQuestion(question=question), worker)
        assert await status() == "running"
        report = await house.call(FileReport(task=task, outcome="partial", text="x"), worker)
        assert await status() == "reported"
        shown = await house.call(ShowRecord(id=task))
        assert (shown["questions"], shown["reports"]) == ([question], [report.id])
        assert [seat["id"] for seat in shown["seats"]] == [f"worker:{task}"]
        assert shown["title"] == "one"


async def test_a_record_that_cannot_be_read_is_named_and_affects_only_itself(
    tmp_path: Path,
) -> None:
    """C-48: the rest is shown and told, and the counts say that they are incomplete."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        bad = await ask(house, task, worker, "lost")
        good = await ask(house, task, worker, "kept")
        await house.database.write(
            lambda tx: tx.run("UPDATE questions SET body = x'00' WHERE id = ?", bad)
        )
        inbox = await house.call(ReadInbox(), boss)
        assert ([item.id for item in inbox.items], inbox.incomplete) == ([good], True)
        assert inbox.unreadable == [bad]
        rundown = await house.call(ReadRundown())
        assert (rundown.unreadable, rundown.incomplete) == ([bad], True)
        assert (await house.call(ReadContext(task=task))).incomplete
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        assert good in house.prompts(boss)[0]


async def test_a_context_is_bounded_and_keeps_outstanding_decisions_whole(tmp_path: Path) -> None:
    """What is cut is named; what looks like a credential is not shown."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        worker = house.host.add_agent()
        made = await house.call(NewTask(title="t", brief="b" * 5000, worker_pane=worker), boss)
        text = "Which? " + "x" * 3000
        question = await ask(house, made.id, worker, text)
        await house.call(AddNote(task=made.id, text="n" * 900), worker)
        await house.call(
            FileReport(task=made.id, outcome="partial", text="token=abcdefghijklmnop"), worker
        )
        whole = await house.call(ReadContext(task=made.id), worker)
        assert whole.cut == []
        assert whole.report == "[redacted]"
        assert whole.brief.startswith("# t\n\nbbb")
        small = await house.call(ReadContext(task=made.id, max_chars=1000), worker)
        assert [(each.id, each.asked) for each in small.outstanding] == [(question, text)]
        assert {"brief", "notes"} <= set(small.cut)
        assert small.notes == []
        assert len(small.brief) == 200


async def test_a_context_bounds_and_cleans_a_handoff_too(tmp_path: Path) -> None:
    """Hundreds of files and checks are 700 KiB: the whole handoff is shown, or none of it."""
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house)
        large = FileHandoff(
            task=task,
            outcome="partial",
            candidate="v1",
            next_action="go on",
            files=tuple("f" * 1900 for _ in range(200)),
            checks=(Check(command="curl -H 'Authorization: Bearer abcdefghijklmnopqrst'", exit=0),),
        )
        await house.call(large, worker)
        shown = await house.call(ReadContext(task=task))
        assert (shown.handoff, shown.cut) == (None, ["handoff"])
        assert len(msgspec.json.encode(shown)) < 44_000
        whole = await house.call(ReadContext(task=task, max_chars=400_000))
        assert whole.handoff is not None
        assert whole.handoff.files == large.files
        assert "abcdefghij" not in whole.handoff.checks[0].command
        for _ in range(300):
            review = FileReview(
                task=task, candidate="v1", verdict="comment", text="r" * 400, tool="lint"
            )
            await house.call(review)
        small = await house.call(ReadContext(task=task, max_chars=1000))
        assert len(msgspec.json.encode(small)) < 5000


async def test_the_rundown_says_what_was_found_about_a_report(tmp_path: Path) -> None:
    """§1.6: the status stays; what is verified stands beside it until the next report."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        for result in (None, "fail", "pass"):
            if result is None:
                await house.call(FileReport(task=task, outcome="completed", text="did"), worker)
            else:
                found = RecordVerification(task=task, candidate="v1", result=result)
                await house.call(found, boss)
            [item] = (await house.call(ReadRundown())).items
            assert (item.status, item.verification) == ("reported", result)
        await house.call(FileReport(task=task, outcome="completed", text="more"), worker)
        [item] = (await house.call(ReadRundown())).items
        assert item.verification is None


async def test_the_log_says_who_did_what_and_how_that_was_proven(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.call(ResolveQuestion(question=question), worker)
        await house.call(SendMessage(to="coordinator", text="hello"))
        lines = (await house.call(ReadLog(record=question))).items
        assert [(line.actor, line.proof, line.act) for line in lines] == [
            (f"worker:{task}", "ancestry", "question.ask"),
            ("coordinator", "ancestry", "question.answer"),
            (f"worker:{task}", "ancestry", "question.resolve"),
        ]
        mine = (await house.call(ReadLog(actor="operator"))).items
        assert [(line.kind, line.proof) for line in mine] == [("message", "operator")]
        everything = (await house.call(ReadLog(after=0, limit=1000))).items
        assert [line.seq for line in everything] == sorted(line.seq for line in everything)
        newest = (await house.call(ReadLog(limit=1))).items
        assert [line.seq >= everything[-1].seq for line in newest] == [True]
        of_task = (await house.call(ReadLog(task=task))).items
        assert {line.task for line in of_task} == {task}


def test_the_order_of_tasks_does_not_follow_the_clock() -> None:
    """§12.5: the clock was set back between the two questions."""
    items = [
        msgspec.structs.replace(owed(1, task="t-00000001"), since=500.0),
        msgspec.structs.replace(owed(2, task="t-00000002"), since=100.0),
    ]
    order = ranked([("t-00000001", 1), ("t-00000002", 2)], items)
    assert [each.task for each in order] == ["t-00000001", "t-00000002"]


def test_tasks_stand_by_their_oldest_decision_then_debt_then_age() -> None:
    decision = msgspec.structs.replace(owed(5, task="t-00000003"), weight="decision")
    items = [owed(1, task="t-00000002"), owed(2, task="t-00000001"), decision]
    order = ranked([(f"t-{number:08d}", number) for number in range(5)], items)
    assert [each.seq for each in order] == [3, 2, 1, 0, 4]


def test_a_bound_keeps_the_beginning_and_names_what_it_cut() -> None:
    bound = Bound(300)
    assert bound.fit("brief", "a" * 250) == "a" * 250
    assert bound.fit("report", "b" * 400) == "b" * 200
    assert not bound.room("notes", 1)
    assert bound.cut == ["report", "notes"]
