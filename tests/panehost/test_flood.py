"""Lines of a flood that leave no trace are not drawn, and nobody can tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.panehost import flood
from coordinatord.panehost.screen import Screen

SCROLLBACK = 30
BEFORE = [
    b"",
    b"\x1b[3;6r\x1b[4;1H",  # margins, the cursor inside
    b"\x1b[3;6r\x1b[8;1H",  # the cursor below
    b"\x1b[1;5r\x1b[2;1H",
    b"\x1b[4h",  # insert
    b"\x1b[?7l",  # no wrapping
    b"\x1b[31;44m",
    b"\x1b[?1049h",
    b"\x1b(0",
    b"\x1b]2;a title that never ends ",
    b"\x1b[12",
    b"\xe6",
]
line = st.one_of(
    st.sampled_from(["y", "", "漢字", "a\tb", "x" * 25, "ü", "end of a long line " * 3]),
    st.text(alphabet="ab 漢\t", max_size=30),
)
lines = st.builds(
    lambda each, often: ("\r\n".join(each) + "\r\n") * often,
    st.lists(line, min_size=1, max_size=12),
    st.sampled_from([1, 1, 4, 30]),
)
output = st.one_of(lines, st.sampled_from(["\x1b[1m", "\x1b[2;7r", "\r", "\n", "part"]))


def look(screen: Screen) -> object:
    """All that can be known of a screen."""
    return (
        screen.text("recent", 1000, True),
        screen.text("recent_unwrapped", 1000, False),
        screen.text("visible", None, True),
        screen.cursor,
        screen.max_offset,
        screen.title,
        screen.redraw(),
    )


@given(
    before=st.sampled_from(BEFORE),
    first=lines,
    batches=st.lists(st.lists(output, min_size=1, max_size=6), max_size=6),
)
def test_nobody_can_tell(before: bytes, first: str, batches: list[list[str]]) -> None:
    """Whatever state the terminal is in, screen, scrollback, cursor and styles come out the same."""
    whole, less = (Screen(20, 8, SCROLLBACK) for _ in range(2))
    for screen in (whole, less):
        screen.feed(before + first.encode())
    for batch in batches:
        written = "".join(batch).encode()
        whole.feed(written)
        less.feed(less.worth_drawing(written))
        assert look(less) == look(whole)


def test_most_of_a_flood_is_left_out() -> None:
    """Otherwise this would all be for nothing."""
    screen = Screen(20, 8, SCROLLBACK)
    screen.feed(b"y\r\n" * 100)
    left = screen.worth_drawing(b"y\r\n" * 10_000)
    assert left.count(b"\r\n") == SCROLLBACK + 2 * 8


def test_short_lines_are_a_flood_while_rows_scroll() -> None:
    """Only then is it worth waiting for more before it is drawn."""
    screen = Screen(20, 8, SCROLLBACK)
    many = b"y\r\n" * 2000
    assert not screen.floods(many)
    screen.feed(b"y\r\n" * 100)
    assert screen.floods(many)
    assert not screen.floods(b"y\r\n" * 1000)
    assert not screen.floods(b"\x1b[m" + many)
    assert not screen.floods((b"y" * 5000 + b"\r\n") * 2)
    screen.feed(b"\x1b[?1049h" + b"y\r\n" * 100)
    assert not screen.floods(many)


@pytest.mark.parametrize("output", [b"\x1b[m", b"\x07", b"\x0e", b"\x7f", b"a\x00b"])
def test_what_is_not_plain_is_drawn(output: bytes) -> None:
    """Control characters may change how the rest is drawn."""
    assert not flood.is_plain(output)
    screen = Screen(20, 8, SCROLLBACK)
    screen.feed(b"y\r\n" * 100)
    written = output + b"y\r\n" * 1000
    assert screen.worth_drawing(written) == written


@given(st.integers(1, 40), st.lists(st.sampled_from(["", "a", "漢", "\n", "\r"]), max_size=60))
def test_the_tail_has_enough_and_begins_at_the_margin(least: int, parts: list[str]) -> None:
    """Where a line does not go back to the margin first, more is kept."""
    written = "\r\n".join(parts).encode()
    if flood.has_more(written, least):
        end = flood.tail(written, least)
        assert written.endswith(end)
        assert end.count(b"\n") >= least
        assert end == written or end.startswith(b"\r\n")
        assert b"\r\n" not in end[2:] or end[2 + end[2:].index(b"\r\n") :].count(b"\n") <= least


def test_lines_that_never_go_back_are_all_drawn() -> None:
    """A terminal in raw mode: the next line begins where the last one ended."""
    screen = Screen(20, 8, SCROLLBACK)
    screen.feed(b"y\n" * 100)
    assert screen.worth_drawing(b"y\n" * 1000) == b"y\n" * 1000
