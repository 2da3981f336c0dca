"""Text and attributes out of ANSI text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.kinds import sgr


def marked(ansi: str) -> str:
    """One row with ``d`` for dim, ``r`` for reverse, ``b`` for both, ``.`` for neither."""
    (row,) = sgr.rows(ansi)
    return "".join(".drb"[d + 2 * r] for d, r in zip(row.dim, row.reverse, strict=True))


@pytest.mark.parametrize(
    ("ansi", "marks"),
    [
        ("ab", ".."),
        ("a\x1b[2mb\x1b[22mc", ".d."),
        ("\x1b[7ma\x1b[27mb", "r."),
        ("\x1b[2;7ma\x1b[mb", "b."),
        ("\x1b[1;2ma\x1b[0mb", "d."),
        ("\x1b[0;2ma", "d"),
        ("\x1b[02ma", "d"),
        ("\x1b[38;5;2ma", "."),
        ("\x1b[38;2;7;2;7ma", "."),
        ("\x1b[48;2;1;2;7;2ma", "d"),
        ("\x1b[38:2::7:2:7ma", "."),
        ("\x1b[4:2ma", "."),
        ("\x1b[58;5;7ma", "."),
        ("\x1b[2ma\x1b[1mb", "dd"),
        ("\x1b[38ma", "."),
    ],
)
def test_dim_and_reverse_of_each_character(ansi: str, marks: str) -> None:
    assert marked(ansi) == marks


def test_other_sequences_and_controls_leave_no_text() -> None:
    ansi = "\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x07 \x1b[?25l\x1b(B\x07a\x00b\x1b[2K\x9b"
    assert sgr.plain(ansi) == "link ab"


def test_attributes_go_on_over_rows_and_blank_ends_are_dropped() -> None:
    first, second, third = sgr.rows("\x1b[2mab  \r\n\r\nc\xa0d\t\x1b[0m \n\n  ")
    assert (first.text, first.dim, second.text) == ("ab", b"\1\1", "")
    assert (third.text, third.dim, third.reverse) == ("c d", b"\1\1\1", b"\0\0\0")


@given(st.text())
def test_every_character_has_its_marks(ansi: str) -> None:
    for row in sgr.rows(ansi):
        assert len(row.text) == len(row.dim) == len(row.reverse)
        assert "\x1b" not in row.text
