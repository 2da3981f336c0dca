"""What may be stated about a task, by whom, and what is owed because of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.features.briefs.requests import (
    AdoptBrief,
    ListRevisions,
    ReadBrief,
    RecordDecision,
    RegenerateBrief,
    RequestBrief,
)
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.panes.requests import BindSeat, WhoAmI
from coordinatord.features.questions.requests import (
    AnswerQuestion,
    AskQuestion,
    CloseQuestion,
    ResolveQuestion,
)
from coordinatord.features.reports.records import Check, Observed, Unobserved
from coordinatord.features.reports.requests import (
    AddNote,
    FileHandoff,
    FileReport,
    FileReview,
    ListNotes,
    ObservePublication,
    RecordVerification,
)
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.requests import ReadInbox, ShowRecord
from coordinatord.ids import PaneId
from coordinatord.wire.requests import Mutation
from tests.features.staff import ask, new_task, staffed
from tests.house import House, living


async def refused(house: House, request: Mutation[object], pane: PaneId | None) -> Refused:
    """The refusal; and that the caller wrote nothing."""
    before = await acts(house)
    with pytest.raises(Refused) as refusal:
        await house.call(request, pane)
    assert await acts(house) == before
    return refusal.value


async def acts(house: House) -> list[tuple[object, ...]]:
    """What somebody did, deliveries aside."""
    return await house.database.read(
        lambda view: view.rows("SELECT seq FROM journal WHERE actor <> 'coordinatord'")
    )


async def kinds(house: House, pane: PaneId) -> list[str]:
    return [item.kind for item in (await house.call(ReadInbox(), pane)).items]


async def test_the_same_key_with_other_words_is_refused(tmp_path: Path) -> None:
    """C-19: the record stays; the same words again are the same answer."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        first = await house.call(AskQuestion(task=task, text="Which port?", key="k"), worker)
        again = await house.call(AskQuestion(task=task, text="Which port?", key="k"), worker)
        assert again == first
        other = await refused(house, AskQuestion(task=task, text="Which host?", key="k"), worker)
        assert other.reason == "key-conflict"
        assert await kinds(house, boss) == ["question"]


async def test_an_answer_can_be_repeated_and_not_changed(tmp_path: Path) -> None:
    """C-20, §1.10: the worker cannot answer; another text is refused; resolve needs an answer."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        early = await refused(house, ResolveQuestion(question=question), worker)
        assert early.reason == "wrong-state"
        own = await refused(house, AnswerQuestion(question=question, text="80"), worker)
        assert (own.reason, question in own.message) == ("not-allowed", False)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.call(AnswerQuestion(question=question, text="80"), None)
        changed = await refused(house, AnswerQuestion(question=question, text="81"), boss)
        assert changed.reason == "wrong-state"


async def test_a_stranger_neither_answers_nor_binds_nor_closes(tmp_path: Path) -> None:
    """Every refusal names the rule, the caller's proven seat and a way out."""
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        stranger = house.host.add_agent()
        me = (await house.call(WhoAmI(), stranger)).id
        for request in (
            AnswerQuestion(question=question, text="80"),
            BindSeat(task=task, worker_pane=stranger),
            BindSeat(task=task, parent_only=True),
            RecordVerification(task=task, candidate="v1", result="pass"),
            FileReport(task=task, outcome="completed", text="did"),
            AddNote(task=task, text="hm"),
            RecordDecision(task=task, text="hm"),
            RequestBrief(brief=task),
            AdoptBrief(brief=f"{task}.r1"),
            CloseQuestion(question=question, reason="tired"),
            NewTask(title="mine"),
        ):
            refusal = await refused(house, request, stranger)
            assert refusal.reason == "not-allowed", request
            assert me in refusal.message
            assert refusal.hint


async def test_an_answer_is_closed_unapplied_only_when_its_worker_is_gone(tmp_path: Path) -> None:
    """§1.10: never applied afterwards, and nothing is owed."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        close = CloseQuestion(question=question, reason="the worker is gone")
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        assert (await refused(house, close, boss)).reason == "wrong-state"
        house.host.remove_pane(worker)
        closed = await house.call(close, boss)
        assert closed.state.__struct_config__.tag == "closed-unapplied"
        seat = f"worker:{task}"
        assert (await house.call(ReadInbox(seat=seat), boss)).items == []
        other = house.host.add_agent()
        await house.call(BindSeat(task=task, worker_pane=other), boss)
        late = await refused(house, ResolveQuestion(question=question), other)
        assert late.reason == "wrong-state"


async def test_what_is_owed_follows_the_task_to_another_parent(tmp_path: Path) -> None:
    """C-11: the old parent owes nothing any more, the new one may answer and verify."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await house.call(FileReport(task=task, outcome="partial", text="half"), worker)
        lead = house.host.add_agent()
        await house.until(lambda: lead in house.parts.sightings.panes)
        seat = await house.call(BindSeat(task=task, parent_pane=lead), boss)
        assert seat.pane == lead
        assert await kinds(house, boss) == []
        assert await kinds(house, lead) == ["question", "report"]
        await house.until(lambda: house.prompts(lead))
        assert house.prompts(boss) == []
        await house.call(AnswerQuestion(question=question, text="80"), lead)
        await house.call(RecordVerification(task=task, candidate="v1", result="pass"), lead)
        assert await kinds(house, lead) == []
        own = await refused(house, BindSeat(task=task, parent_pane=worker), boss)
        assert own.reason == "not-allowed"
        judge = await refused(house, BindSeat(task=task, worker_pane=lead), boss)
        assert judge.reason == "seat-taken"


async def test_a_review_is_over_with_another_candidate_or_a_verification(tmp_path: Path) -> None:
    """C-18, and the worker cannot review its own work; filing binds the reviewer's pane."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        review = FileReview(task=task, candidate="x", verdict="comment", text="see line 3")
        assert (await refused(house, review, worker)).reason == "not-allowed"
        reader = house.host.add_agent()
        await house.call(review, reader)
        assert (await house.call(WhoAmI(), reader)).id == f"reviewer:{task}"
        assert await kinds(house, boss) == ["review"]
        refusal = await refused(
            house, RecordVerification(task=task, candidate="x", result="pass"), reader
        )
        assert refusal.reason == "not-allowed"
        await house.call(
            FileReport(task=task, outcome="completed", text="same", candidate="x"), worker
        )
        assert await kinds(house, boss) == ["review", "report"]
        await house.call(
            FileReport(task=task, outcome="completed", text="new", candidate="y"), worker
        )
        assert await kinds(house, boss) == ["report", "report"]
        tool = FileReview(task=task, candidate="y", verdict="approve", text="ok", tool="lint")
        await house.call(tool, reader)
        await house.call(RecordVerification(task=task, candidate="z", result="pass"), boss)
        assert await kinds(house, boss) == ["review"]
        await house.call(RecordVerification(task=task, candidate="y", result="pass"), boss)
        assert await kinds(house, boss) == []


async def test_a_handoff_is_bounded_and_its_run_is_never_relabelled(tmp_path: Path) -> None:
    """§1.11: a run that the worker claims cannot become the coordinator's."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        handoff = FileHandoff(
            task=task,
            outcome="completed",
            candidate="v1",
            next_action="verify it",
            checks=(Check(command="make test", exit=0),),
            files=("a.py",),
            run="run-1",
        )
        filed = await house.call(handoff, worker)
        assert filed.handoff is not None
        assert filed.handoff.checks[0].exit == 0
        assert filed.text == "verify it"
        claim = RecordVerification(task=task, candidate="v1", run="run-1", result="pass")
        assert (await refused(house, claim, boss)).reason == "wrong-state"
        await house.call(
            RecordVerification(task=task, candidate="v1", run="run-2", result="pass"), boss
        )
        assert await kinds(house, boss) == []


async def test_a_pull_request_that_could_not_be_looked_at_settles_nothing(tmp_path: Path) -> None:
    """§1.11: a failed look is uncertain, never open; one stated by hand settles the report."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.call(FileReport(task=task, outcome="completed", text="did"), worker)
        looked = await house.call(ObservePublication(task=task, number=7), boss)
        assert looked.observation == Unobserved(why="no-program")
        assert await kinds(house, boss) == ["report"]
        other = ObservePublication(task=task, number=8, state="open")
        assert (await refused(house, other, boss)).reason == "wrong-state"
        seen = await house.call(
            ObservePublication(task=task, number=8, replace=True, state="merged"), boss
        )
        assert seen.observation == Observed(state="merged")
        assert await kinds(house, boss) == []
        known = ObservePublication(task=task, number=8, repository="one/a", state="merged")
        await house.call(known, boss)
        other = ObservePublication(task=task, number=8, repository="two/a", state="merged")
        assert (await refused(house, other, boss)).reason == "wrong-state"


async def test_a_note_is_owed_to_nobody_and_holds_no_secret(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.call(AddNote(task=task, text="the port is in use"), worker)
        secret = AddNote(task=task, text="password = hunter2hunter2")
        assert (await refused(house, secret, worker)).reason == "bad-params"
        notes = (await house.call(ListNotes(task=task))).items
        assert [note.text for note in notes] == ["the port is in use"]
        assert await kinds(house, boss) == []


async def test_a_brief_goes_on_in_revisions(tmp_path: Path) -> None:
    """§1.9: the same content makes none, only the newest is requested, only a requested one adopted."""
    async with living(tmp_path) as house:
        boss, worker, _ = await staffed(house)
        other = house.host.add_agent()
        made = await house.call(NewTask(title="t", brief="Do it.", worker_pane=other), boss)
        task, worker = made.id, other
        first = await house.call(ReadBrief(brief=task))
        same = await house.call(RegenerateBrief(task=task), boss)
        assert (same.number, same.content) == (1, first.content)
        question = await ask(house, task, worker)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        second = await house.call(RegenerateBrief(task=task), boss)
        assert (second.number, second.state, second.changes) == (2, "staged", ["decisions"])
        assert not second.verification_affected
        assert second.fingerprint == first.fingerprint
        early = await refused(house, AdoptBrief(brief=second.id), worker)
        assert early.reason == "wrong-state"
        await house.call(RequestBrief(brief=second.id), boss)
        assert "refresh" in await kinds(house, worker)
        third = await house.call(RegenerateBrief(task=task, policy="Run make test."), boss)
        assert third.changes == ["policy"]
        assert third.verification_affected
        stale = await refused(house, RequestBrief(brief=second.id), boss)
        assert stale.reason == "wrong-state"
        await house.call(RequestBrief(brief=task), boss)
        late = await refused(house, AdoptBrief(brief=second.id), worker)
        assert "superseded" in late.message
        await house.call(AdoptBrief(brief=third.id), worker)
        states = [each.state for each in (await house.call(ListRevisions(task=task))).items]
        assert states == ["superseded", "superseded", "active"]
        assert "refresh" not in await kinds(house, worker)
        report = await house.call(FileReport(task=task, outcome="partial", text="x"), worker)
        assert report.brief == 3


async def test_a_damaged_revision_is_not_used(tmp_path: Path) -> None:
    """§1.9: it is never repaired in place."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.call(RecordDecision(task=task, text="Use port 80."), boss)
        made = await house.call(RegenerateBrief(task=task), boss)
        await house.call(RequestBrief(brief=made.id), boss)
        await house.database.write(
            lambda tx: tx.run(
                "UPDATE briefs SET body = replace(body, 'port 80', 'port 81') WHERE id = ?", made.id
            )
        )
        assert (await refused(house, AdoptBrief(brief=made.id), worker)).reason == "unreadable"
        assert (await refused(house, RequestBrief(brief=made.id), boss)).reason == "unreadable"
        again = await house.call(RegenerateBrief(task=task), boss)
        assert (again.number, again.content) == (3, made.content)
        await house.call(RequestBrief(brief=task), boss)
        assert (await house.call(AdoptBrief(brief=task), worker)).id == again.id


@pytest.mark.parametrize("number", ["0", "01", "9" * 5000, "٣", "-1", "x"])
async def test_what_is_no_number_of_a_revision_is_refused(tmp_path: Path, number: str) -> None:
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house)
        name = f"{task}.r{number}"
        for request in (ReadBrief(brief=name), AdoptBrief(brief=name), ShowRecord(id=name)):
            refusal = await refused(house, request, worker)
            assert refusal.reason in ("bad-id", "unknown-id")


async def test_a_reviewer_is_bound_and_never_more_than_that(tmp_path: Path) -> None:
    """§2.1: it files findings; it neither verifies nor answers, and takes no other role by `init`."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        reader = house.host.add_agent()
        seat = await house.call(BindSeat(task=task, reviewer_pane=reader), boss)
        assert (seat.id, seat.role) == (f"reviewer:{task}", "reviewer")
        assert (await house.call(InitSeat(), reader)).id == seat.id
        question = await ask(house, task, worker)
        for request in (
            InitSeat(role="coordinator"),
            AnswerQuestion(question=question, text="80"),
            RecordVerification(task=task, candidate="v1", result="pass"),
        ):
            assert (await refused(house, request, reader)).reason == "not-allowed"
        own = await refused(house, BindSeat(task=task, reviewer_pane=worker), boss)
        assert own.reason == "not-allowed"
        second = await new_task(house, boss, reader)
        assert (await house.call(WhoAmI(), reader)).id == f"worker:{second}"
        review = FileReview(task=second, candidate="x", verdict="approve", text="mine")
        assert (await refused(house, review, reader)).reason == "not-allowed"
        other = FileReview(task=task, candidate="x", verdict="approve", text="fine")
        assert (await house.call(other, reader)).by == f"worker:{second}"


async def test_exactly_one_of_worker_reviewer_and_parent_is_bound_at_a_time(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        both = BindSeat(task=task, worker_pane=worker, reviewer_pane=worker)
        for request in (BindSeat(task=task), both):
            assert (await refused(house, request, boss)).reason == "bad-params"
        nowhere = await refused(house, BindSeat(task=task, parent_only=True), None)
        assert nowhere.reason == "no-pane"
        shell = house.host.add_pane()
        await house.until(lambda: shell in house.parts.sightings.panes)
        nobody = await refused(house, BindSeat(task=task, parent_pane=shell), boss)
        assert nobody.reason == "not-agent"
        mine = await house.call(BindSeat(task=task, parent_only=True), boss)
        assert mine.id == "coordinator"
