"""What a later look settles about an attempt. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from coordinatord.features.delivery.records import Attempt, Mark, Reached, Stage
from coordinatord.features.delivery.settling import (
    ABSENT_AFTER_S,
    PAUSES_S,
    looked,
    next_look,
    over,
    settle,
    worth_a_look,
)
from coordinatord.ids import COORDINATOR, AttemptId
from coordinatord.kinds import read_screen
from tests.features.made import PANE, sighting
from tests.house import KINDS

NEEDLE = "d-00000001"
MARK = Mark(kind="claude", place="/x", everywhere="/y", at=0.0, needle=NEEDLE)
RULE = "─" * 60


def attempt(stage: Stage, *, mark: Mark | None = MARK, stranded: bool = False) -> Attempt:
    return Attempt(
        id=AttemptId(NEEDLE),
        seq=1,
        at=0.0,
        seat=COORDINATOR,
        binding=1,
        pane=PANE,
        transport="prompt",
        obligations=("question:q-00000001",),
        records=("q-00000001",),
        needle=NEEDLE,
        mark=mark,
        stranded=stranded,
        trail=(Reached(stage=stage, at=0.0, evidence=""),),
    )


def screen(above: str = "", inside: str = "") -> str:
    return f"{above}\n{RULE}\n❯ {inside}\n{RULE}\n  ? for shortcuts\n"


def settled(given: Attempt, said: Any, shown: str, age_s: float = 99.0, **seen: Any) -> str | None:
    reading = read_screen(KINDS["generic"], shown)
    found = settle(given, said, sighting(**seen), reading, shown, age_s)
    return found[0] if found else None


def test_the_transcript_wins_over_every_screen() -> None:
    assert settled(attempt("uncertain"), "seen", screen(inside="draft")) == "seen"


def test_absence_is_proof_only_at_rest_and_late_enough() -> None:
    """Nothing is called not delivered while the agent might still be about to store it."""
    given = attempt("uncertain")
    assert settled(given, "absent", screen()) == "not-delivered"
    assert settled(given, "absent", screen(), age_s=ABSENT_AFTER_S - 1) is None
    assert settled(given, "absent", screen(), status="working") is None
    assert settled(given, "absent", screen(inside="somebody's draft")) is None
    assert settled(given, "absent", screen(inside=f"[coord {NEEDLE}: …]")) is None
    assert settled(given, "absent", "$ \n") is None
    assert settled(given, "unknown", screen()) is None


def test_a_person_submits_or_deletes_what_was_stranded() -> None:
    """G-3: shown above an empty composer it was submitted; nowhere, nobody knows."""
    given = attempt("typed", mark=None, stranded=True)
    assert settled(given, "unknown", screen(inside=f"[coord {NEEDLE}: …]")) is None
    assert settled(given, "unknown", screen(inside="[Pasted text 900 chars]")) is None
    assert settled(given, "unknown", screen(above=f"> [coord {NEEDLE}: …]")) == "submitted"
    assert settled(given, "unknown", screen()) == "uncertain"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (attempt("turn-started"), True),
        (attempt("turn-started", mark=None), False),
        (attempt("uncertain"), True),
        (attempt("uncertain", mark=None), False),
        (attempt("typed", mark=None, stranded=True), True),
        (attempt("typed"), False),
        (attempt("seen"), False),
    ],
)
def test_only_what_can_still_be_proven_is_looked_at(given: Attempt, expected: bool) -> None:
    assert worth_a_look(given) == expected


def test_looks_end_until_the_pane_changes() -> None:
    """No unbounded look: after the last pause only a change begins anew."""
    schedule = next_look(None, "one", 0.0)
    for _ in PAUSES_S:
        schedule = looked(schedule, schedule.again_at)
    assert schedule.again_at == float("inf")
    assert next_look(schedule, "one", 100.0) == schedule
    assert next_look(schedule, "two", 100.0).again_at == 100.0 + PAUSES_S[0]


def test_an_attempt_is_over_when_all_it_told_is() -> None:
    given = attempt("seen")
    assert not over(given, frozenset({"question:q-00000001"}), [])
    assert over(given, frozenset({"question:q-00000002"}), [])
    assert not over(given, frozenset(), ["q-00000001"])
