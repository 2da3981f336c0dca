"""What of a pane's output goes to an attached terminal."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.panehost.modes import Scanner
from coordinatord.panehost.passing import Passing

QUESTIONS = [
    b"\x1b[c",
    b"\x1b[0c",
    b"\x1b[>c",
    b"\x1b[>0c",
    b"\x1b[5n",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[18t",
    b"\x1b[>q",
    b"\x1b[>0q",
    b"\x1b[?2026$p",
    b"\x1b]10;?\x07",
    b"\x1b]11;?\x1b\\",
]
PASSED = [
    b"plain",
    "ü漢😀".encode(),
    b"\x1b[1;31m",
    b"\x1b[?1049h",
    b"\x1b[?u",
    b"\x1b[14t",
    b"\x1b]0;title\x07",
    b"\x1b]4;1;?\x07",
    b"\x1b(B",
    b"\r\n",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_the_host_answers_is_kept_back(question: bytes) -> None:
    """And the host does answer each of them."""
    assert Passing().on(b"a" + question + b"b") == b"ab"
    assert Scanner().scan(question)


@given(
    parts=st.lists(st.sampled_from(QUESTIONS + PASSED), max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=12),
)
def test_cuts_do_not_matter_and_nothing_else_is_lost(parts: list[bytes], cuts: list[int]) -> None:
    """However the output comes, the rest passes whole and in order, never inside a sequence."""
    stream = b"".join(parts)
    passing, passed = Passing(), []
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for begin, end in itertools.pairwise(places):
        passed.append(passing.on(stream[begin:end]))
    assert b"".join(passed) == b"".join(part for part in parts if part in PASSED)
    assert all(piece.decode() is not None for piece in passed)


def test_what_never_ends_passes_in_the_end() -> None:
    """A long string, such as an image, is not held back for ever."""
    passing = Passing()
    image = b"\x1b]1337;" + b"x" * 5000
    assert passing.on(image) == image
