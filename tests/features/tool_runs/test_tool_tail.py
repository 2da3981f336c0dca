"""From a terminal's bytes to text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.features.tool_runs import tail


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain\r\n", "plain\n"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        (b"\x1b(Ba\x1b=b\x1bPq#0\x1b\\c", "abc"),
        (b"10%\r 50%\r100%\r\n", "100%\n"),
        (b"10%\r50%", "50%"),
        (b"working\r\r\n", "working\n"),
        (b"ab\x08c\x08\x08xy", "xy"),
        (b"a\x07\x00b\tc", "ab\tc"),
        ("ä→😀".encode(), "ä→😀"),
        ("😀".encode()[1:] + b"a" + "ä".encode()[:1], "a"),
        (b"\xff\xfea", "��a"),
        (b"a\x1b[3", "a"),
        (b"a\x1b]0;open", "a"),
        (b"", ""),
    ],
)
def test_text_as_it_is_read(raw: bytes, text: str) -> None:
    """§4.3: escapes stripped, overwritten lines collapsed, cut at characters."""
    assert tail.clean(raw) == text


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"a\x1b[?1049hFULL\x1b[?1049lb", b"ab"),
        (b"FULL\x1b[?1049lb", b"b"),
        (b"a\x1b[?1049hFULL", b"a"),
        (b"a\x1b[?47hF\x1b[?47lb\x1b[?1047hF\x1b[?1047lc", b"abc"),
        (b"a\x1b[?25hb", b"a\x1b[?25hb"),
        (b"a\x1b[?1;1049hF\x1b[?1049lb", b"ab"),
    ],
)
def test_what_is_drawn_on_the_other_screen_is_left_out(raw: bytes, kept: bytes) -> None:
    assert tail.primary(raw) == kept


@given(st.binary(max_size=400))
def test_any_bytes_give_printable_text(raw: bytes) -> None:
    text = tail.clean(tail.primary(raw))
    assert all(sign in "\n\t" or ord(sign) >= 0x20 for sign in text)


@given(st.text(max_size=300), st.integers(1, 64), st.integers(1, 9))
def test_the_end_is_an_end_within_its_bounds(text: str, limit: int, lines: int) -> None:
    text = text.encode("utf-8", "replace").decode()
    kept, cut = tail.last(text, lines, limit)
    assert text.endswith(kept)
    assert len(kept.encode()) <= limit
    assert kept.removesuffix("\n").count("\n") < lines
    assert cut is (kept != text)


def test_the_limit_is_64_kib() -> None:
    kept, cut = tail.last("ä" * 40_000)
    assert (len(kept.encode()), cut) == (64 << 10, True)


def test_the_last_line_for_progress() -> None:
    assert tail.last_line(b"a\r\n\x1b[32m 50%\r 60%\x1b[0m\r\n\r\n") == "60%"
    assert tail.last_line(b"\r\n") == ""


@pytest.mark.parametrize(
    "raw",
    [
        b"a" * (1 << 17) + b"\b" * (1 << 17),
        b"a\b" * (1 << 17),
        b"\x1b[?" + b"1049;" * 52_000,
        b"\x1b[?" + b"47;" * 87_000,
        b"\x1b[" * (1 << 17),
        b"\x1b[" + b"0" * (1 << 18),
        b"\x1b]" * (1 << 17),
        b"\x1b" + b" " * (1 << 18),
        b"a\r" * (1 << 17),
    ],
    ids=lambda raw: repr(raw[:6]),
)
def test_no_output_takes_long_to_read(raw: bytes) -> None:
    """Each of these took minutes, or would, if the work grew with more than the length."""
    before = time.process_time()
    tail.clean(tail.primary(raw))
    assert time.process_time() - before < 20


def test_a_line_that_does_not_end_is_shown_in_pieces() -> None:
    """Who follows output without line ends keeps no more than a piece of it in memory."""
    assert tail.whole_lines(b"a\nb") == (b"a\n", b"b")
    assert tail.whole_lines(b"b") == (b"", b"b")
    long = b"x" * (tail.LIMIT + 1)
    assert tail.whole_lines(b"a\n" + long) == (b"a\n" + long, b"")
