"""Small pure rules: what is owed, sentences, shell lines, candidates."""

from __future__ import annotations

import shlex
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.errors import Refused
from coordinatord.features.delivery.records import (
    Attempt,
    Hold,
    HoldRecord,
    Mark,
    Reached,
    Stage,
)
from coordinatord.features.launches.line import command_line, one_line, pane_environment
from coordinatord.features.messages.records import Message
from coordinatord.features.obligations import derivation
from coordinatord.features.obligations.table import Communication
from coordinatord.features.questions.records import Answered, Applied, Open, Question, State
from coordinatord.features.reports.candidate import accept_candidate
from coordinatord.features.reports.records import Report
from coordinatord.features.views import sentence
from coordinatord.ids import (
    COORDINATOR,
    AttemptId,
    MessageId,
    QuestionId,
    ReportId,
    SeatId,
    worker_of,
)
from tests.features.made import PANE, TASK, owed, told

MARK = Mark(kind="codex", place="/x", everywhere="/y", at=0.0)
ANSWERED = Answered(text="80", at=2.0, seq=5, by=COORDINATOR)


def question(state: State) -> Question:
    return Question(
        id=QuestionId("q-00000001"),
        seq=3,
        at=1.0,
        task=TASK,
        text="Which?",
        by=worker_of(TASK),
        to=COORDINATOR,
        state=state,
    )


def test_a_question_is_owed_by_its_addressee_and_its_answer_by_the_worker() -> None:
    """C-16: until it is applied."""
    asked = derivation.from_question(question(Open()))
    answered = derivation.from_question(question(ANSWERED))
    assert asked is not None
    assert answered is not None
    assert (asked.id, asked.to, asked.seq, asked.weight) == (
        "question:q-00000001",
        COORDINATOR,
        3,
        "decision",
    )
    assert (answered.id, answered.to, answered.seq, answered.since) == (
        "answer:q-00000001",
        worker_of(TASK),
        5,
        2.0,
    )
    assert derivation.from_question(question(Applied(answer=ANSWERED, at=3.0, seq=6))) is None


def test_reports_and_messages_are_owed_by_whom_they_are_for() -> None:
    """C-17."""
    report = Report(
        id=ReportId("r-00000001"),
        seq=7,
        at=1.0,
        task=TASK,
        by=worker_of(TASK),
        outcome="completed",
        text="did",
    )
    message = Message(
        id=MessageId("m-00000001"),
        seq=8,
        at=1.0,
        to=SeatId("peer:term_1"),
        by=COORDINATOR,
        text="hello",
    )
    assert derivation.from_report(report).to == COORDINATOR
    announced = derivation.from_message(message)
    assert announced is not None
    assert (announced.to, announced.task) == ("peer:term_1", None)


def test_every_kind_of_debt_has_its_words() -> None:
    kinds = derivation.PHRASES.keys()
    assert derivation.READINGS.keys() == derivation.SETTLINGS.keys() == kinds
    assert Communication().kinds == kinds
    for patterns in (derivation.PHRASES, derivation.READINGS, derivation.SETTLINGS):
        for pattern in patterns.values():
            assert "{" not in derivation.worded(pattern, owed(1))


@pytest.mark.parametrize("reason", get_args(Hold))
def test_every_hold_reason_has_a_sentence(reason: Hold) -> None:
    hold = HoldRecord(seat=COORDINATOR, reason=reason, since=0.0)
    said = sentence.of_debt(owed(1), None, hold, 200.0)
    bound = "; looked at again within 15 s" if reason in ("draft", "dialog", "no-composer") else ""
    assert said == f"Waiting 3 min for coordinator: {sentence.HELD[reason]}{bound}."
    assert sentence.HELD.keys() == set(get_args(Hold))


@pytest.mark.parametrize(
    ("stage", "failures", "words"),
    [
        ("claimed", 0, "is being told now"),
        ("typed", 0, "not submitted yet"),
        ("turn-started", 0, "was told 3 min ago"),
        ("uncertain", 0, "may have been told"),
        ("not-delivered", 1, sentence.HELD["pacing"]),
        ("not-delivered", 3, sentence.HELD["stalled"]),
    ],
)
def test_a_sentence_says_how_far_telling_has_come(stage: Stage, failures: int, words: str) -> None:
    item = owed(1)
    assert words in sentence.of_debt(item, told(item, stage, failures=failures), None, 200.0)


def test_a_new_debt_is_next() -> None:
    assert sentence.of_debt(owed(1), None, None, 0.0).endswith("it is next to be told.")


@pytest.mark.parametrize(
    ("stage", "facts", "words"),
    [
        (
            "turn-started",
            {},
            "coordinator was told about q-00000001: turn-started 1.5 s later (what was seen); no transcript"
            " is known that could prove that it was read.",
        ),
        (
            "turn-started",
            {"mark": MARK},
            "(what was seen); its agent's transcript does not show it yet.",
        ),
        ("seen", {"mark": MARK}, "seen 1.5 s later (what was seen)."),
        ("not-delivered", {}, "coordinator was not told about q-00000001: not-delivered"),
        ("uncertain", {}, "coordinator may have been told about q-00000001: uncertain"),
        (
            "typed",
            {"stranded": True},
            "coordinator is being told about q-00000001: what was seen. Press Enter there, or delete it.",
        ),
    ],
)
def test_a_sentence_about_an_attempt(stage: Stage, facts: dict[str, Any], words: str) -> None:
    """It claims no more than the evidence: a turn that began is not a message that was read."""
    trail = (
        Reached(stage="claimed", at=1.0, evidence="idle"),
        Reached(stage=stage, at=2.5, evidence="what was seen"),
    )
    attempt = Attempt(
        id=AttemptId("d-00000001"),
        seq=1,
        at=1.0,
        seat=COORDINATOR,
        binding=1,
        pane=PANE,
        transport="prompt",
        obligations=(),
        records=("q-00000001",),
        trail=trail,
        **facts,
    )
    assert words in sentence.of_attempt(attempt)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3600, "1 h 0 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_ages(seconds: float, words: str) -> None:
    assert sentence.ago(seconds) == words


printable = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30)


@given(st.lists(printable, max_size=5).filter(lambda words: not words or words[0].strip()))
def test_a_command_reaches_the_shell_as_the_words_it_is(words: list[str]) -> None:
    assert shlex.split(command_line(words)) == words


@pytest.mark.parametrize("sign", ["\n", "\r", "\x1b", "\x03", "\x7f", "\t", "\0"])
def test_a_command_has_no_keys_in_it(sign: str) -> None:
    with pytest.raises(Refused) as refusal:
        command_line(("echo", f"a{sign}b"))
    assert refusal.value.reason == "bad-params"


@pytest.mark.parametrize(
    ("command", "reason"),
    [(("",), "bad-params"), ((" ", "x"), "bad-params"), (("x" * 20_000,), "too-long")],
)
def test_a_command_names_a_program_and_is_bounded(command: tuple[str, ...], reason: str) -> None:
    with pytest.raises(Refused) as refusal:
        command_line(command)
    assert (refusal.value.reason, bool(refusal.value.hint)) == (reason, True)


def test_a_label_is_one_printable_line() -> None:
    one_line("tests", "label")
    one_line("全角\u3000空白 👩\u200d👧", "label")
    one_line(None, "label")
    for bad in ("a\nb", "a\x1b]0;b", "a\u2028b", "a\u202eb", "", "  ", "x" * 1025):
        with pytest.raises(Refused):
            one_line(bad, "label")


def test_what_a_pane_of_ours_carries() -> None:
    env = pane_environment(root="/w", token="x", coordctl="/o/bin/coordctl", path="/usr/bin")
    assert env == {
        "COORDINATORD_ROOT": "/w",
        "COORDINATORD_TOKEN": "x",
        "COORDCTL": "/o/bin/coordctl",
        "PATH": "/o/bin:/usr/bin",
    }
    known = pane_environment(root="/w", token="x", coordctl="/usr/bin/coordctl", path="/usr/bin")
    assert known["PATH"] == "/usr/bin"
    assert pane_environment(root="/w", token="x", coordctl="/o/coordctl", path="")["PATH"] == "/o"
    assert "COORDCTL" not in pane_environment(root="/w", token="x", coordctl=None, path="")


@pytest.mark.parametrize("candidate", ["a" * 40, "0123456789abcdef" * 4])
def test_a_full_commit_is_a_candidate_anywhere(candidate: str) -> None:
    assert accept_candidate(candidate, True) == candidate
    assert accept_candidate(candidate, False) == candidate


@pytest.mark.parametrize("candidate", ["abc1234", "a" * 41, "A" * 40, "HEAD", "", "v1"])
def test_in_a_repository_nothing_less_is(candidate: str) -> None:
    with pytest.raises(Refused) as refusal:
        accept_candidate(candidate, True)
    assert refusal.value.reason == "bad-params"


@pytest.mark.parametrize("candidate", ["", "  ", "x" * 65, "a\nb", "a\tb"])
def test_elsewhere_it_is_a_short_line(candidate: str) -> None:
    assert accept_candidate("build 7 ü", False) == "build 7 ü"
    with pytest.raises(Refused) as refusal:
        accept_candidate(candidate, False)
    assert (refusal.value.reason, bool(refusal.value.hint)) == ("bad-params", True)
