"""The words that are typed (interfaces.md, Typed text)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.features.delivery.notice import (
    LONGEST,
    TASKS_NAMED,
    choose,
    compose,
    spelling,
)
from coordinatord.features.obligations import derivation
from coordinatord.features.obligations.records import Obligation
from coordinatord.ids import COORDINATOR, AttemptId, TaskId
from coordinatord.kinds import sanitise
from tests.features.made import owed

ATTEMPT = AttemptId("d-4k7q2m1x")

ids = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=8, max_size=8)


@st.composite
def things(draw: st.DrawFn) -> list[Obligation]:
    """What one seat may be owed, in order."""
    found = []
    for seq in range(draw(st.integers(1, 40))):
        kind = draw(st.sampled_from(sorted(derivation.PHRASES)))
        task = None if kind == "message" else TaskId(f"t-{draw(ids)}")
        record = f"{kind[0]}-{draw(ids)}"
        found.append(
            Obligation(
                id=f"{kind}:{record}",
                kind=kind,
                record=record,
                to=COORDINATOR,
                seq=seq,
                since=0.0,
                task=task,
            )
        )
    return found


def phrase(item: Obligation) -> str:
    return derivation.worded(derivation.PHRASES[item.kind], item)


paths = st.one_of(st.none(), st.text(min_size=1, max_size=200).map("/".__add__))


@given(things(), st.integers(0, 9000), paths, st.booleans())
def test_a_notice_is_safe_to_type(
    items: list[Obligation], withheld: int, path: str | None, on_path: bool
) -> None:
    """C-5, T-20: one line, bounded and whole; nothing in it acts in a composer."""
    wanted = choose(items, withheld, phrase)
    text = compose(ATTEMPT, wanted, phrase, spelling(path, on_path))
    assert len(text) <= LONGEST
    assert text.startswith(f"[coord {ATTEMPT}: ")
    assert text.endswith(" inbox]")
    assert text.isprintable()
    assert not re.search(r"@\w|\\|\t", text)
    assert sanitise(text).text == text
    assert wanted.named == tuple(items[: len(wanted.named)])
    assert wanted.named
    assert len(wanted.named) + wanted.counted == len(items) + withheld
    assert len({item.task for item in wanted.named if item.task}) <= TASKS_NAMED
    assert all(item.record in text for item in wanted.named)


def test_thirteen_tasks_are_twelve_and_a_count() -> None:
    """C-5: each name fits, and the count is what is not named."""
    items = [owed(n, task=f"t-{n:08d}") for n in range(13)]
    wanted = choose(items, 0, lambda item: item.record)
    assert (len(wanted.named), wanted.counted) == (12, 1)
    assert "; and 1 more. Read it" in compose(ATTEMPT, wanted, lambda i: i.record, "coordctl")


def test_what_is_withheld_is_counted() -> None:
    """C-8."""
    wanted = choose([owed(1)], 1, phrase)
    text = compose(ATTEMPT, wanted, phrase, "coordctl")
    assert text == (
        "[coord d-4k7q2m1x: question q-00000001 on t-00000001 is open; and 1 more."
        " Read it: coordctl inbox]"
    )


@pytest.mark.parametrize(
    ("path", "on_path", "spelled"),
    [
        ("/opt/bin/coordctl", False, "/opt/bin/coordctl"),
        ("/opt/bin/coordctl", True, "coordctl"),
        (None, False, "coordctl"),
        ("/home/a b/coordctl", False, "coordctl"),
        ("/home/@x/coordctl", False, "coordctl"),
        ("/home/$x/coordctl", False, "coordctl"),
        ("/home/ü/coordctl", False, "coordctl"),
        ("/" + "x" * 200, False, "coordctl"),
    ],
)
def test_how_the_command_is_spelled(path: str | None, on_path: bool, spelled: str) -> None:
    assert spelling(path, on_path) == spelled
