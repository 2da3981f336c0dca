"""What the screen shows after what an application wrote, and the shapes in which it is read."""

from __future__ import annotations

import random
from typing import Final

import pytest
from avt._avt import Vt
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinatord.panehost.screen import Screen, Source

SOURCES: Final[tuple[Source, ...]] = ("visible", "recent", "recent_unwrapped", "detection")
END_A1: Final = b"$ echo hello\r\nhello\r\n\r\n__END_a1__:3\r\n$ "


def drawn(data: bytes, columns: int = 20, rows: int = 6) -> Screen:
    screen = Screen(columns, rows)
    screen.feed(data)
    return screen


def visible(screen: Screen) -> list[str]:
    return screen.text("visible", None, False)[0].splitlines()


@pytest.mark.parametrize(
    ("source", "lines", "expected"),
    [
        ("visible", None, ("$ echo hello\nhello\n\n__END_a1__:3\n$\n", False)),
        ("recent", None, ("$ echo hello\nhello\n\n__END_a1__:3\n$\n", False)),
        ("recent_unwrapped", None, ("$ echo hello\nhello\n\n__END_a1__:3\n$", False)),
        ("detection", None, ("$ echo hello\nhello\n\n__END_a1__:3\n$\n", False)),
        ("visible", 3, ("\n__END_a1__:3\n$\n", True)),
        ("detection", 3, ("\n__END_a1__:3\n$\n", True)),
        ("recent", 3, ("", True)),
        ("recent_unwrapped", 3, ("", True)),
        ("recent", 40, ("$ echo hello\nhello\n\n__END_a1__:3\n$\n", False)),
        ("recent", 0, ("", True)),
    ],
)
def test_each_source_reads_a_mostly_empty_screen_as_herdr_does(
    source: Source, lines: int | None, expected: tuple[str, bool]
) -> None:
    """herdr-protocol.md §2.4: few ``lines`` of ``recent`` on a mostly empty screen give nothing."""
    screen = drawn(END_A1, 93, 39)
    assert screen.text(source, lines, False) == expected


def test_an_empty_screen_reads_as_nothing() -> None:
    for source in SOURCES:
        assert Screen(80, 24).text(source, None, False) == ("", False)


def test_styled_text_has_its_own_shape() -> None:
    """Rows joined by CR LF, no final newline, the blank after the prompt kept."""
    screen = drawn(b"\x1b[31mred\x1b[0m plain\r\n__END__:0\r\n$ ", 93, 39)
    assert screen.text("visible", None, True) == (
        "\x1b[0m\x1b[38;5;1mred\x1b[0m plain\r\n__END__:0\r\n$ ",
        False,
    )


def test_styled_text_tells_placeholders_from_drafts() -> None:
    """agents.md §3.3 and §4.4: an empty composer shows dim or reverse text, a draft does not."""
    screen = drawn("› \x1b[2mAsk\x1b[0m\r\n❯\xa0\x1b[7m \x1b[0m\r\n› draft".encode())
    assert screen.text("visible", None, True)[0].split("\r\n") == [
        "› \x1b[0m\x1b[2mAsk\x1b[0m",
        "❯\xa0\x1b[0m\x1b[7m \x1b[0m",
        "› draft",
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"1", "\x1b[1m"),
        (b"2", "\x1b[2m"),
        (b"3;4;5;9", "\x1b[3m\x1b[4m\x1b[5m\x1b[9m"),
        (b"7", "\x1b[7m"),
        (b"97", "\x1b[38;5;15m"),
        (b"44", "\x1b[48;5;4m"),
        (b"38;5;200", "\x1b[38;5;200m"),
        (b"38;2;1;2;3;48;2;4;5;6", "\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m"),
    ],
)
def test_styles_survive_reading(written: bytes, read: str) -> None:
    screen = drawn(b"\x1b[" + written + b"mX\x1b[0m")
    assert screen.text("visible", None, True)[0] == f"\x1b[0m{read}X\x1b[0m"


def test_styled_text_drawn_again_reads_the_same() -> None:
    first = drawn(b"a\x1b[1;2;3;4;7;38;2;9;8;7;48;5;3mb \x1b[0;7m c \x1b[0m d\r\n\x1b[5;9me")
    text = first.text("visible", None, True)[0]
    assert drawn(text.encode()).text("visible", None, True)[0] == text


def test_wrapped_rows_are_joined_only_where_asked() -> None:
    screen = drawn(b"ab-" * 9 + b"\r\nnext")
    assert screen.text("recent", None, False)[0] == "ab-ab-ab-ab-ab-ab-ab\n-ab-ab-\nnext\n"
    assert screen.text("recent_unwrapped", None, False)[0] == "ab-" * 9 + "\nnext"
    assert screen.text("recent_unwrapped", None, True)[0] == "ab-" * 9 + "\r\nnext"


def test_the_emulators_own_wrap_sign_in_the_text_is_no_wrap() -> None:
    full = "x" * 19 + "⏎"
    screen = drawn(f"{full}\r\nnext".encode())
    assert screen.text("recent_unwrapped", None, False)[0] == f"{full}\nnext"
    screen = drawn(f"{full}next".encode())
    assert screen.text("recent_unwrapped", None, False)[0] == f"{full}next"


def test_a_wide_character_that_did_not_fit_leaves_no_blank_behind() -> None:
    screen = drawn("abcd漢x".encode(), 5, 3)
    assert visible(screen) == ["abcd", "漢x"]
    assert screen.text("recent_unwrapped", None, False)[0] == "abcd漢x"
    assert screen.text("recent_unwrapped", None, True)[0] == "abcd漢x"


@pytest.mark.parametrize(
    "text",
    [
        "漢字かな",
        "e\u0301a\u0308 x",
        "👩‍👩‍👧 family",
        "☎️ tel",
        "🇩🇪 flag",
        "👍🏽 skin",
        "नमस्ते",
        "שלום",
    ],
)
def test_text_of_other_scripts_is_intact(text: str) -> None:
    assert visible(drawn(text.encode(), 40, 3)) == [text]
    assert drawn(text.encode(), 40, 3).text("visible", None, True)[0] == text


def test_no_break_space_at_the_end_stays() -> None:
    """The composer's prompt ends in one; a rule that looks for it must find it."""
    assert visible(drawn("❯\xa0".encode())) == ["❯\xa0"]


@pytest.mark.parametrize(
    ("written", "rows"),
    [
        (b"1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n", ["1", "3", "", "4"]),
        (b"1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2;1H\x1bM", ["1", "", "2", "4"]),
        (b"1\r\n2\r\n3\x1b[2;1H\x1b[L", ["1", "", "2", "3"]),
        (b"1\r\n2\r\n3\x1b[2;1H\x1b[M", ["1", "3"]),
        (b"abcdef\x1b[1;3H\x1b[2P", ["abef"]),
        (b"abcdef\x1b[1;3H\x1b[2@", ["ab  cdef"]),
        (b"abcdef\x1b[1;3H\x1b[2X", ["ab  ef"]),
        (b"abc\x1b[2Dx", ["axc"]),
        (b"a\tb", ["a       b"]),
        (b"x\x1b[4b", ["xxxxx"]),
        (b"\x1b(0lqk\x1b(B ok", ["┌─┐ ok"]),
        (b"\x1b[4habc\x1b[1;1Hx\x1b[4l", ["xabc"]),
        (b"\x1b[?7l" + b"0123456789" * 3 + b"\x1b[?7h", ["01234567890123456789"]),
        (b"ab\x1b7\x1b[3;5Hx\x1b8c", ["abc", "", "    x"]),
        (b"one\r\ntwo\x1b[H\x1b[K", ["", "two"]),
        (b"one\r\ntwo\x1b[1;2H\x1b[J", ["o"]),
        (b"12345\x08\x08x", ["123x5"]),
        (b"a\x1b[5Sb\x1b[H\x1b[2JX", ["X"]),
    ],
)
def test_control_sequences_draw_what_a_terminal_draws(written: bytes, rows: list[str]) -> None:
    assert visible(drawn(written)) == rows


def test_the_alternate_screen_hides_and_gives_back_the_first() -> None:
    screen = drawn(b"shell\r\n" * 8)
    assert not screen.alternate
    assert screen.max_offset > 0
    screen.feed(b"\x1b[?1049h\x1b[2J\x1b[Hpager")
    assert screen.alternate
    assert screen.max_offset == 0
    for source in SOURCES:
        assert screen.text(source, None, False)[0].rstrip("\n") == "pager"
    screen.feed(b"\x1b[?1049l")
    assert not screen.alternate
    assert visible(screen) == ["shell"] * 5


@pytest.mark.parametrize("mode", [b"47", b"1047", b"1049"])
def test_every_way_into_the_alternate_screen_is_seen(mode: bytes) -> None:
    screen = drawn(b"shell\x1b[?" + mode + b"h\x1b[2J\x1b[Hpager")
    assert (screen.alternate, visible(screen)) == (True, ["pager"])
    screen.feed(b"\x1b[?" + mode + b"l")
    assert (screen.alternate, visible(screen)) == (False, ["shell"])


def test_output_of_the_alternate_screen_is_not_counted_as_scrollback() -> None:
    screen = drawn(b"a\r\n\x1b[?1049h" + b"x\r\n" * 50 + b"\x1b[?1049l")
    assert screen.max_offset == 0


def test_scrollback_holds_five_thousand_rows_and_a_read_a_thousand() -> None:
    screen = drawn(b"".join(b"%d\r\n" % number for number in range(1, 6001)), 80, 24)
    assert screen.max_offset == 5000
    text, truncated = screen.text("recent", 5000, False)
    assert text.splitlines() == [str(number) for number in range(5002, 6001)]
    assert truncated
    assert screen.text("recent", None, False)[0].splitlines()[0] == "5922"
    assert screen.text("visible", None, False) == (
        "".join(f"{number}\n" for number in range(5978, 6001)),
        False,
    )


def test_a_wide_pane_keeps_fewer_rows_of_scrollback() -> None:
    """What a full pane takes in memory is bounded, however wide somebody's terminal is."""
    screen = Screen(100, 4, 1000)
    screen.feed((b"x" * 100 + b"\r\n") * 1200)
    assert screen.max_offset == 1000
    screen.resize(400, 4)
    assert screen.max_offset == 500
    screen.feed(b"y\r\n" * 1200)
    assert screen.max_offset == 500
    screen.resize(200, 4)
    screen.feed(b"y\r\n" * 1200)
    assert screen.max_offset == 1000


def test_scrollback_counts_while_it_grows() -> None:
    screen = Screen(80, 4)
    offsets = []
    for _ in range(6):
        screen.feed(b"x\r\n")
        offsets.append(screen.max_offset)
    assert offsets == [0, 0, 0, 1, 2, 3]


def test_clear_forgets_scrollback() -> None:
    """``clear`` sends ESC[3J, which the emulator itself ignores."""
    screen = drawn(b"old\r\n" * 50 + b"\x1b[31m")
    screen.feed(b"\x1b[H\x1b[2J\x1b[3Jnew")
    assert screen.max_offset == 0
    assert screen.text("recent", None, False) == ("new\n", False)
    assert "\x1b[38;5;1mnew" in screen.text("visible", None, True)[0]


def test_clearing_scrollback_from_the_alternate_screen_keeps_the_shells() -> None:
    screen = drawn(b"old\r\n" * 50 + b"\x1b[?1049h\x1b[3J\x1b[?1049l")
    assert screen.max_offset == 45


def test_many_clears_in_one_piece_end_like_one() -> None:
    screen = drawn(b"x\r\n\x1b[3J" * 500 + b"end")
    assert visible(screen)[-1] == "end"
    assert screen.max_offset == 0


def test_questions_are_answered_from_where_they_stand() -> None:
    screen = Screen(20, 6)
    assert screen.feed(b"abc\x1b[6n\r\n\x1b[6nxyz") == b"\x1b[1;4R\x1b[2;1R"
    assert screen.feed(b"\x1b[18t") == b"\x1b[8;6;20t"
    assert visible(screen) == ["abc", "xyz"]


def test_a_cursor_beyond_the_last_column_is_reported_in_it() -> None:
    assert drawn(b"x" * 20).feed(b"\x1b[6n") == b"\x1b[1;20R"


def test_text_is_decoded_across_pieces() -> None:
    screen = Screen(20, 4)
    for byte in "é漢👍".encode():
        screen.feed(bytes([byte]))
    assert visible(screen) == ["é漢👍"]


@pytest.mark.parametrize("size", [(1, 1), (0, 0), (-5, -5), (1, 50), (2, 1)])
def test_tiny_sizes_are_clamped(size: tuple[int, int]) -> None:
    screen = Screen(*size)
    screen.feed("漢字 wide\r\n\x1b[5;5H\x1b[6n👩‍👩‍👧".encode())
    screen.resize(*size)
    assert (screen.columns, screen.rows) == (max(2, size[0]), max(1, size[1]))
    assert screen.panics == 0


def test_two_hundred_resizes_lose_nothing_that_fits() -> None:
    chance = random.Random(7)
    screen = Screen(80, 24)
    for number in range(200):
        screen.feed(f"line {number} of e\u0301galite\u0301 {'=' * (number % 30)}\r\n".encode())
        screen.resize(chance.randint(1, 200), chance.randint(1, 60))
        screen.text("recent", None, True)
    screen.resize(80, 24)
    lines = screen.text("recent_unwrapped", 1000, False)[0].splitlines()
    assert lines == [
        f"line {number} of e\u0301galite\u0301 {'=' * (number % 30)}".rstrip()
        for number in range(200)
    ]
    assert screen.panics == 0


def test_resizes_keep_every_wide_character_in_order() -> None:
    """The emulator turns the column that a wide character left free into a blank for good."""
    chance = random.Random(9)
    screen = Screen(80, 24)
    for number in range(100):
        screen.feed(f"{number}漢字👩‍👩‍👧\r\n".encode())
        screen.resize(chance.randint(1, 200), chance.randint(1, 60))
    screen.resize(80, 24)
    lines = screen.text("recent_unwrapped", 1000, False)[0].splitlines()
    assert [line.replace(" ", "") for line in lines] == [
        f"{number}漢字👩‍👩‍👧" for number in range(100)
    ]
    assert screen.panics == 0


def test_resizes_in_the_alternate_screen_never_raise() -> None:
    chance = random.Random(8)
    screen = drawn(b"shell\r\n" * 100 + b"\x1b[?1049h", 80, 24)
    for _ in range(200):
        screen.resize(chance.randint(1, 200), chance.randint(1, 60))
        screen.feed(b"\x1b[2J\x1b[%d;%dHx" % (chance.randint(1, 70), chance.randint(1, 210)))
        assert visible(screen)[-1].endswith("x")


def test_a_panic_resets_that_screen_only() -> None:
    """A panic of the emulator is a BaseException: uncaught it would end the host with all panes."""
    other = drawn(b"other")
    screen = drawn(b"\x1b[?2004h\x1b[?1049hlost")
    screen._terminal = Vt(1, 3)  # one column is what the emulator cannot bear
    screen.feed("\x1b[?7l👩‍👩‍👧".encode())
    assert screen.panics == 1
    assert visible(screen) == []
    assert visible(other) == ["other"]
    screen.feed(b"again")
    assert visible(screen) == ["again"]
    assert screen.alternate
    assert screen.bracketed_paste


@pytest.mark.parametrize("count", [b"65535", b"1000", b"0065535", b"65535;2", b"9999:1", b"9" * 40])
@pytest.mark.parametrize("cut", range(8))
def test_a_character_repeated_without_end_comes_a_thousand_times(count: bytes, cut: int) -> None:
    """Two kilobytes of these would be drawn for seconds, and would take hundreds of megabytes."""
    written = b"x\x1b[" + count + b"b|"
    screen = Screen(20, 6)
    screen.feed(written[:cut])
    screen.feed(written[cut:])
    assert screen.text("recent_unwrapped", 1000, False)[0] == "x" * 1000 + "|"


def test_a_character_repeated_a_few_times_is_left_to_the_emulator() -> None:
    assert visible(drawn(b"ab\x1b[3b\x1b[0b\x1b[1;65535b|")) == ["abbbbbb|"]


def test_interrupts_are_not_taken_for_panics() -> None:
    screen = Screen(20, 4)

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        screen._guarded(interrupted, None)
    assert screen.panics == 0


def test_redraw_gives_somebody_who_attaches_the_same_screen() -> None:
    screen = drawn(
        b"shell\r\n$ \x1b[?2004h\x1b[?1h\x1b[?1002h\x1b[?1006h"
        b"\x1b[?1049h\x1b[2;4r\x1b[31mpager\x1b[3;2H"
    )
    viewer = drawn(b"what stood there before")
    viewer.feed(screen.redraw())
    assert viewer.text("visible", None, True) == screen.text("visible", None, True)
    assert viewer.cursor == screen.cursor
    assert (viewer.bracketed_paste, viewer.mouse, viewer.alternate) == (True, True, True)
    assert b"\x9b" not in screen.redraw()
    for one in (viewer, screen):
        one.feed(b"\x1b[?1049l\x1b[r")
    assert visible(viewer) == visible(screen)


pieces_of_terminals = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [
                *(
                    b"\x1b[",
                    b"\x1b]0;",
                    b"\x07",
                    b"\x1bP",
                    b"\x1b\\",
                    b"\x1bc",
                    b"\x9b",
                    b"\xc2\x9b",
                ),
                *(b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?6h", b"\x1b[?7l", b"\x1b[3J", b"\x1b[6n"),
                *(b"\x1b[999;999H", b"\x1b[2;3r", b"\r\n", b"\xe6\xbc"),
                *("漢".encode(), "👩‍👩‍👧".encode(), "\u0301".encode()),
            ]
        ),
        st.builds(
            lambda a, b, final: b"\x1b[%d;%d%c" % (a, b, final),
            st.integers(0, 70000),
            st.integers(0, 300),
            st.integers(0x40, 0x7E),
        ),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(pieces=pieces_of_terminals, size=st.tuples(st.integers(1, 30), st.integers(1, 8)))
def test_hostile_bytes_never_raise(pieces: list[bytes], size: tuple[int, int]) -> None:
    screen = Screen(*size, scrollback=20)
    for piece in pieces:
        screen.feed(piece)
        screen.text("recent", 5, True)
    screen.resize(size[1], size[0])
    screen.redraw()
    assert 0 <= screen.cursor[0] < screen.columns
    assert 0 <= screen.cursor[1] < screen.rows
    assert screen.max_offset >= 0


@settings(deadline=None)
@given(pieces=pieces_of_terminals, cut=st.integers(1, 7))
def test_the_picture_does_not_depend_on_how_the_stream_was_cut(
    pieces: list[bytes], cut: int
) -> None:
    stream = b"".join(pieces)
    whole, parts = Screen(20, 6, scrollback=20), Screen(20, 6, scrollback=20)
    answers = whole.feed(stream)
    assert answers == b"".join(
        parts.feed(stream[at : at + cut]) for at in range(0, len(stream), cut)
    )
    if whole.panics == parts.panics == 0:
        assert whole.text("visible", None, True) == parts.text("visible", None, True)
        assert whole.title == parts.title
        assert whole._scanner.modes == parts._scanner.modes


@settings(deadline=None)
@given(
    pieces=pieces_of_terminals,
    before=st.lists(
        st.sampled_from([b"\x1b[4h", b"\x1b[?6h\x1b[2;4r", b"\x1b(0", b"\x1b[?7l", b"\x1b)0\x0e"])
    ),
    more=pieces_of_terminals,
)
def test_whatever_stood_there_a_repaint_is_the_screen(
    pieces: list[bytes], before: list[bytes], more: list[bytes]
) -> None:
    """On a terminal that does not know the soft reset, too; and what comes then is drawn alike."""
    screen, viewer = Screen(30, 8, scrollback=20), Screen(30, 8, scrollback=20)
    screen.feed(b"".join(pieces) + b"\x18")
    viewer.feed(b"".join(before) + b"\x18")
    viewer.feed(screen.redraw().replace(b"\x1b[!p", b""))
    for written in (b"", b"ab\r\n\xe6\xbc\xa2cd\r\n", *more):
        screen.feed(written)
        viewer.feed(written)
        assert viewer.text("visible", None, True) == screen.text("visible", None, True)
        assert viewer.cursor == screen.cursor
