"""The life of a task, and that what the indexes say is what the records say. Mostly pure."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Answered
from coordinatord.features.reports import table as reports
from coordinatord.features.reports.candidate import accept_candidate
from coordinatord.features.reports.github import observed
from coordinatord.features.reports.records import (
    Observed,
    Publication,
    Report,
    Review,
    Unobserved,
    Verification,
)
from coordinatord.features.tasks import table as tasks
from coordinatord.features.tasks.records import (
    Active,
    Archived,
    NeedsAttention,
    Prepared,
    Preparing,
    Starting,
    Task,
    TaskState,
    may_become,
)
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.tasks.status import Standing, status_of
from coordinatord.features.upkeep.table import differing
from coordinatord.ids import (
    COORDINATOR,
    OPERATOR,
    PublicationId,
    ReportId,
    ReviewId,
    TaskId,
    VerificationId,
    worker_of,
)
from coordinatord.redaction import credentials, redacted
from coordinatord.store.database import Transaction
from tests.features.made import caller
from tests.features.staff import staffed
from tests.house import living

OVER = Archived(at=0.0, seq=1, by=OPERATOR)
LATER: dict[type[TaskState], set[type[TaskState]]] = {
    Preparing: {Prepared, NeedsAttention, Archived},
    Prepared: {Starting, Active, NeedsAttention, Archived},
    Starting: {Active, NeedsAttention},
    Active: {NeedsAttention, Archived},
    NeedsAttention: {Prepared, Active, Archived},
    Archived: set(),
}
STATES: tuple[TaskState, ...] = (
    *(Preparing(), Prepared(), Starting(), Active()),
    *(NeedsAttention(error="uncertain"), OVER),
)


def test_an_uncertain_start_is_never_started_again_and_the_end_is_the_end() -> None:
    """§1.6: each state, and what it may become."""
    for state in STATES:
        assert {type(other) for other in STATES if may_become(state, other)} == LATER[type(state)]


@pytest.mark.parametrize(
    ("state", "standing", "word"),
    [
        (Preparing(), Standing(), "preparing"),
        (Prepared(), Standing(), "prepared"),
        (Starting(), Standing(), "starting"),
        (NeedsAttention(error="x"), Standing(waits=True), "needs-attention"),
        (OVER, Standing(report_seq=5), "archived"),
        (Active(), Standing(), "prepared"),
        (Active(), Standing(has_worker=True), "running"),
        (Active(), Standing(has_worker=True, waits=True, question_seq=4), "waiting"),
        (Active(), Standing(has_worker=True, report_seq=5, question_seq=4), "reported"),
        (Active(), Standing(waits=True, report_seq=3, question_seq=4), "waiting"),
    ],
)
def test_the_word_for_a_task(state: TaskState, standing: Standing, word: str) -> None:
    task = Task(id=TaskId("t-00000001"), seq=1, at=0.0, title="t", by=OPERATOR, state=state)
    assert status_of(task, standing) == word


async def test_a_launch_is_specified_once_with_the_source_of_each_value(tmp_path: Path) -> None:
    """§1.7: a model without an agent is refused before anything is recorded."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        made = await house.call(NewTask(title="t", agent="codex", model="m-1"), boss)
        assert made.launch is not None
        assert (made.launch.agent, made.launch.model) == ("codex", "m-1")
        assert made.launch.sources == {"agent": "request", "model": "request"}
        with pytest.raises(Refused) as refusal:
            await house.call(NewTask(title="t", model="m-1"), boss)
        assert refusal.value.reason == "bad-params"


BOSS = caller(COORDINATOR)
CANDIDATES = ("a", "b", "c")


def _ask(tx: Transaction, task: TaskId, chance: random.Random) -> None:
    questions.ask(tx, caller(worker_of(task)), task, "?")


def _answer(tx: Transaction, task: TaskId, chance: random.Random) -> None:
    for question in questions.of_task(tx, task).items[-2:]:
        if questions.answer_of(question) is None:
            questions.answer(tx, BOSS, question.id, "80")
        elif isinstance(question.state, Answered) and chance.random() < 0.5:
            questions.resolve(tx, caller(worker_of(task)), question.id)
        elif isinstance(question.state, Answered):
            questions.close(tx, BOSS, question.id, "gone", "absent")


def _report(tx: Transaction, task: TaskId, chance: random.Random) -> None:
    made = ReportId(tx.mint("report"))
    seq = reports.journal(tx, BOSS, "report", made, task, None)
    candidate = chance.choice((None, *CANDIDATES))
    report = Report(
        id=made, seq=seq, at=0.0, task=task, by=OPERATOR, outcome="partial", text="x",
        candidate=candidate,
    )  # fmt: skip
    reports.add_report(tx, report)


def _review(tx: Transaction, task: TaskId, chance: random.Random) -> None:
    made = ReviewId(tx.mint("review"))
    seq = reports.journal(tx, BOSS, "review", made, task, None)
    candidate = chance.choice(CANDIDATES)
    review = Review(
        id=made, seq=seq, at=0.0, task=task, by=OPERATOR, candidate=candidate, verdict="comment",
        text="x",
    )  # fmt: skip
    reports.add_review(tx, review)


def _verify(tx: Transaction, task: TaskId, chance: random.Random) -> None:
    made = VerificationId(tx.mint("verification"))
    seq = reports.journal(tx, BOSS, "verification", made, task, None)
    candidate = chance.choice(CANDIDATES)
    reports.add_verification(
        tx,
        Verification(
            id=made, seq=seq, at=0.0, task=task, by=OPERATOR, candidate=candidate, result="pass"
        ),
    )


def _observe(tx: Transaction, task: TaskId, chance: random.Random) -> None:
    made = PublicationId(tx.mint("publication"))
    seq = reports.journal(tx, BOSS, "publication", made, task, None)
    seen = Observed(state="open", head_sha=chance.choice((None, *CANDIDATES)))
    look = seen if chance.random() < 0.7 else Unobserved(why="failed")
    reports.add_publication(
        tx,
        Publication(
            id=made, seq=seq, at=0.0, task=task, by=OPERATOR, source="hand", number=1,
            observation=look,
        ),
    )  # fmt: skip


ACTS: tuple[Callable[[Transaction, TaskId, random.Random], None], ...] = (
    *(_ask, _answer, _report, _review, _verify, _observe),
)


@pytest.mark.parametrize("seed", range(8))
async def test_what_the_indexes_say_is_what_the_records_say(tmp_path: Path, seed: int) -> None:
    """C-16, C-17, C-18: after any course of acts, derived and recomputed debts are the same."""
    chance = random.Random(seed)
    async with living(tmp_path, run=False) as house:
        made = [(await house.database.write(tasks.add, BOSS, "t", None)).id for _ in range(3)]
        for _ in range(60):
            act = chance.choice(ACTS)
            await house.database.write(act, chance.choice(made), chance)
            assert await house.database.read(differing, 0.0) == (frozenset(), frozenset())


def test_a_pull_request_is_read_from_what_gh_prints() -> None:
    """§1.11: what cannot be read is uncertain."""
    said = (
        b'{"state":"MERGED","url":"https://x/pull/1","headRefName":"b","headRefOid":"c0ffee",'
        b'"baseRefName":"main","mergeCommit":{"oid":"beef"},"more":1}'
    )
    assert observed(said) == Observed(
        state="merged",
        url="https://x/pull/1",
        head_branch="b",
        head_sha="c0ffee",
        base_branch="main",
        merge_commit="beef",
    )
    for broken in (b"", b"[]", b'{"state":"DRAFT"}', b"\xff"):
        assert observed(broken) == Unobserved(why="unreadable")


def test_what_looks_like_a_credential_is_found_and_left_out() -> None:
    for secret in (
        "ghp_" + "a" * 30,
        "AKIA" + "A" * 16,
        "sk-" + "a" * 20,
        "https://user:pass@host/x",
        "API_KEY: 'abcdefghij'",
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
    ):
        assert credentials(f"see {secret} here") == 1, secret
        assert redacted(f"see {secret} here").startswith("see ")
    assert "user" not in redacted("https://user:pass@host/x")
    for harmless in ("the token is kept in the vault", "t-1h6v5w0z", "task sk-1", "a: b"):
        assert credentials(harmless) == 0, harmless


def test_a_candidate_in_a_repository_is_a_full_commit_id() -> None:
    assert accept_candidate("a" * 40, in_repository=True)
    with pytest.raises(Refused):
        accept_candidate("abc1234", in_repository=True)
