"""What a trace file may be like, and the promises that it can show broken."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from coordinatord.errors import Refused
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.trace import lines
from coordinatord.features.trace.digests import digests
from coordinatord.features.trace.lines import (
    AttemptLine,
    CallLine,
    Considered,
    DecisionLine,
    GapLine,
    Header,
    Line,
    LookLine,
    Where,
)
from coordinatord.features.trace.replaying import Replayed, replay
from coordinatord.ids import SeatId
from tests.features.made import sighting
from tests.house import KINDS

HEADER = Header(at=0.0, version="0")
PANE = sighting().pane
SEAT = SeatId("coordinator")
DEBT = Obligation(
    id="message:m-00000001", kind="message", record="m-00000001", to=SEAT, seq=1, since=0
)


def raw(*told: Line) -> list[bytes]:
    return [msgspec.json.encode(line) + b"\n" for line in told]


def found(*told: Line) -> Replayed:
    return replay(raw(HEADER, *told), KINDS, digests(KINDS))


def look(at: float, verdict: Any) -> LookLine:
    seen = Where("there", sighting())
    return LookLine(at=at, where=seen, outcome="same", verdict=verdict)


def prompt(at: float, attempt: str, failed: str | None = None) -> CallLine:
    return CallLine(at=at, method="prompt", took_s=0, pane=PANE, attempt=attempt, failed=failed)


def attempt(at: float, name: str, stage: Any = "submitted", binding: int = 1) -> AttemptLine:
    return AttemptLine(
        at=at, id=name, seat=SEAT, binding=binding, pane=PANE, obligations=(DEBT.id,), stage=stage
    )


def due(at: float, **facts: Any) -> DecisionLine:
    seen = Considered(
        seat=SEAT, items=(DEBT,), where=Where("there", sighting()), bound=True, **facts
    )
    return DecisionLine(at=at, recipient=seen, decision="due", items=(DEBT.id,))


def said(result: Replayed) -> list[str]:
    return [each.what for each in result.broken]


def test_a_text_against_the_last_look_is_found() -> None:
    """C-3: no text without a look that allowed it, and one look allows one text."""
    assert "against the last look" in said(found(look(1, "draft"), prompt(2, "d-00000001")))[0]
    assert said(found(look(1, "clear"), prompt(2, "d-00000001"))) == []
    twice = found(look(1, "clear"), prompt(2, "d-00000001"), prompt(3, "d-00000002"))
    assert len(said(twice)) == 1


def test_what_is_told_twice_is_found() -> None:
    """C-9: unless the first is known not to have arrived, was for another binding, or was asked for."""

    def again(
        *between: Line, stage: Any = "uncertain", failed: str | None = None, binding: int = 1
    ) -> list[str]:
        return said(
            found(
                look(1, "clear"), prompt(2, "d-00000001", failed), attempt(3, "d-00000001", stage),
                *between, look(5, "clear"), prompt(6, "d-00000002"),
                attempt(7, "d-00000002", binding=binding),
            )
        )  # fmt: skip

    assert "twice: d-00000001, d-00000002" in again()[0]
    assert again(stage="not-delivered") == []
    assert again(failed="Unreachable") == []
    assert again(failed="Uncertain") != []
    assert again(binding=2) == []
    assert again(due(4, forced=True)) == []


def test_a_seat_that_is_due_and_forgotten_is_found() -> None:
    """C-33: due for a minute, and neither told nor held."""
    late = CallLine(at=200, method="snapshot", took_s=0)
    assert "nothing came of it" in said(found(due(1), late))[0]
    assert said(found(due(1), attempt(2, "d-00000001"), late)) == []
    assert said(found(due(1), GapLine(at=2, why="x"), late)) == []
    assert said(found(due(1))) == []


def test_a_decision_without_grounds_diverges() -> None:
    """The first that comes out otherwise is shown with its line."""
    result = found(due(1, paused=True), due(2))
    assert result.diverged == 1
    assert result.first is not None
    assert (result.first.number, result.first.now) == (2, "held: paused")


def test_what_was_cut_off_or_comes_from_a_newer_version_is_passed_over() -> None:
    told = [*raw(HEADER), b'{"line":"telepathy","at":1,"x":2}\n', *raw(look(1, "no-composer"))]
    result = replay([*told, b'{"line":"loo'], KINDS, digests(KINDS))
    assert (result.lines, result.skipped) == (3, 1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no trace"),
        ([b'{"id": 1}\n', b"\n"], "no trace"),
        ([b"\x00\xff\n", b"\n"], "Line 1"),
        (raw(lines.Header(at=0, version="9", format=2), HEADER), "format 2"),
        ([*raw(HEADER), b'{"line":"look","at":"soon"}\n', b"\n"], "Line 2"),
    ],
)
def test_what_is_no_trace_is_refused_by_name(given: list[bytes], words: str) -> None:
    with pytest.raises(Refused) as refused:
        replay(given, KINDS, digests(KINDS))
    assert refused.value.reason == "unreadable"
    assert words in str(refused.value)


def test_rules_that_were_others_there_are_named() -> None:
    """Then another outcome may come from them, and not from the code."""
    header = msgspec.structs.replace(HEADER, kinds={**digests(KINDS), "pi": "other", "mine": "x"})
    assert replay(raw(header), KINDS, digests(KINDS)).kinds == ["mine", "pi"]
