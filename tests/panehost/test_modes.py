"""What the scanner hears in an application's output: modes, title, folder, questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.panehost.modes import Mark, Modes, Scanner


def heard(*pieces: bytes) -> Modes:
    scanner = Scanner()
    for piece in pieces:
        scanner.scan(piece)
    return scanner.modes


def test_plain_text_says_nothing() -> None:
    scanner = Scanner()
    assert scanner.scan(b"ordinary [?2004h text \x07\r\n") == []
    assert scanner.modes == Modes()


def test_bracketed_paste_is_what_was_said_last() -> None:
    assert heard(b"x\x1b[?2004h").bracketed_paste
    assert not heard(b"\x1b[?2004h$ cat\r\n\x1b[?2004l").bracketed_paste


@pytest.mark.parametrize("mode", [b"9", b"1000", b"1002", b"1003"])
def test_mouse_reports_of_every_kind_count(mode: bytes) -> None:
    assert heard(b"\x1b[?" + mode + b"h").mouse
    assert not heard(b"\x1b[?" + mode + b"h\x1b[?" + mode + b"l").mouse


def test_the_encoding_of_mouse_reports_alone_is_no_mouse() -> None:
    assert not heard(b"\x1b[?1006h").mouse


def test_one_sequence_can_switch_many_modes() -> None:
    modes = heard(b"\x1b[?1;1003;1049;2004h")
    assert (modes.application_cursor, modes.mouse, modes.alternate, modes.bracketed_paste) == (
        (True,) * 4
    )


def test_modes_of_other_families_are_not_taken_for_private_ones() -> None:
    assert heard(b"\x1b[2004h\x1b[>2004h\x1b[=1049h\x1b[?2004$h") == Modes()


def test_full_reset_switches_everything_off_and_soft_reset_keeps_the_buffer() -> None:
    on = b"\x1b]2;title\x07\x1b[?2004;1000;1049h"
    assert heard(on, b"\x1bc") == Modes(title="title")
    assert heard(on, b"\x1b[!p") == Modes(title="title", alternate=True)


def test_modes_can_be_said_again_to_another_terminal() -> None:
    modes = heard(b"\x1b[?2004;1003;1006;1h\x1b=\x1b[5 q\x1b[>4;2m\x1b[>1u\x1b[=3u")
    assert (modes.cursor_shape, modes.other_keys, modes.keyboards) == (5, 2, [3])
    assert heard(modes.sequences()) == modes
    assert heard(Modes().sequences()) == Modes()


def test_extended_keys_are_asked_for_on_top_of_each_other() -> None:
    """The last one counts; who leaves gives the keys back."""
    assert heard(b"\x1b[>1u\x1b[>31u").keyboards == [1, 31]
    assert heard(b"\x1b[>1u\x1b[>31u\x1b[<u").keyboards == [1]
    assert heard(b"\x1b[>1u\x1b[<9u\x1b[<u").keyboards == []
    assert heard(b"\x1b[?u\x1b[u\x1b[s") == Modes()
    assert len(heard(b"\x1b[>1u" * 100).keyboards) == 16


@pytest.mark.parametrize(
    ("written", "title"),
    [
        (b"\x1b]0;both\x07", "both"),
        (b"\x1b]2;window\x1b\\", "window"),
        (b"\x1b]1;icon only\x07", None),
        (b"\x1b]2;semi;colons\x07", "semi;colons"),
        ("\x1b]2;✳ Claude\x07".encode(), "✳ Claude"),
        (b"\x1b]2;bad \xff utf\x07", "bad � utf"),
        ("\x1b]2;a\nb\x9bc\x07".encode(), "abc"),
        (b"\x1b]2;first\x07\x1b]2;\x07", None),
        (b"\x1b]2;aborted\x18\x1b]2;next\x07", "next"),
        (b"\x1b]2;aborted\x1b[31m", None),
        (b"\x1b]2;" + b"x" * 1000 + b"\x07", "x" * 256),
        (b"\x1b]2;kept\x07\x1b]2;" + b"x" * 9000 + b"\x07", "kept"),
    ],
)
def test_titles(written: bytes, title: str | None) -> None:
    pieces = [written[at : at + 4096] for at in range(0, len(written), 4096)]
    assert heard(*pieces).title == title


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (b"file:///demo/api", "/demo/api"),
        (b"file://host.example/demo/with%20blank", "/demo/with blank"),
        ("file://h/tmp/é".encode(), "/tmp/é"),
        (b"file://host", None),
        (b"http://host/path", None),
        (b"/plain/path", None),
        (b"file:///a%0ab", None),
    ],
)
def test_reported_folders(url: bytes, path: str | None) -> None:
    assert heard(b"\x1b]7;" + url + b"\x1b\\").reported_cwd == path


def test_a_folder_that_cannot_be_read_leaves_the_last_one() -> None:
    assert heard(b"\x1b]7;file:///good\x07\x1b]7;nonsense\x07").reported_cwd == "/good"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[0c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>1;10;0c"),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"\x1b[>q", b"\x1bP>|coordinatord\x1b\\"),
        (b"\x1b]11;?\x07", b"\x1b]11;rgb:0000/0000/0000\x07"),
        (b"\x1b]10;?\x1b\\", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
        (b"\x1b[?2026$p", b"\x1b[?2026;0$y"),
        (b"\x1b[?2004$p", b"\x1b[?2004;2$y"),
        (b"\x1b[?1049$p", b"\x1b[?1049;2$y"),
    ],
)
def test_questions_have_answers(question: bytes, answer: bytes) -> None:
    assert Scanner().scan(b"ab" + question + b"cd") == [Mark(2 + len(question), "answer", answer)]


def test_mode_reports_tell_the_state_now() -> None:
    scanner = Scanner()
    assert scanner.scan(b"\x1b[?2004h\x1b[?2004$p")[0].answer == b"\x1b[?2004;1$y"


@pytest.mark.parametrize(
    "secret",
    [
        b"\x1b[21t",  # the title, which another program may have set
        b"\x1b]52;c;?\x07",  # the clipboard
        b"\x1b]0;?\x07",
    ],
)
def test_questions_that_would_type_foreign_text_have_no_answer(secret: bytes) -> None:
    assert Scanner().scan(secret) == []


def test_placed_questions_say_where_they_stand() -> None:
    assert Scanner().scan(b"ab\x1b[6n\x1b[?6n..\x1b[18t\x1b[3J") == [
        Mark(6, "cursor"),
        Mark(11, "private-cursor"),
        Mark(18, "size"),
        Mark(22, "erase-scrollback"),
    ]


def test_what_looks_like_a_sequence_inside_a_string_is_none() -> None:
    for string in (b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX", b"\x1b]52;c;"):
        scanner = Scanner()
        assert scanner.scan(string + b"[?2004h ]0;x" + b"A" * 20000) == []
        assert scanner.scan(b"[6n\x1b\\\x1b[?1h") == []
        assert scanner.modes == Modes(private={1})


def test_a_title_cut_anywhere_is_one_title() -> None:
    whole = b"\x1b[?2004h\x1b]0;a title\x1b\\\x1b[?1h"
    for cut in range(len(whole)):
        assert heard(whole[:cut], whole[cut:]) == heard(whole)


def test_a_question_cut_in_two_is_placed_in_the_second_piece() -> None:
    scanner = Scanner()
    assert scanner.scan(b"abc\x1b[") == []
    assert scanner.scan(b"6nxyz") == [Mark(2, "cursor")]


def test_an_endless_sequence_is_forgotten() -> None:
    scanner = Scanner()
    scanner.scan(b"\x1b[" + b"1;" * 500)
    scanner.scan(b"h\x1b[?2004h")
    assert len(scanner._unfinished) == 0
    assert scanner.modes.bracketed_paste


@given(
    pieces=st.lists(
        st.one_of(
            st.binary(max_size=8),
            st.sampled_from(
                [
                    *(b"\x1b", b"\x1b[", b"\x1b[?", b"\x1b]0;", b"\x1b]7;file:///a", b"\x07"),
                    *(b"\x1b\\", b"\x1bP", b"\x1bc", b"2004", b"h", b"l", b"\x1b[6n", b"\x18"),
                ]
            ),
        ),
        max_size=25,
    )
)
def test_nothing_depends_on_how_the_stream_was_cut(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    whole, parts = Scanner(), Scanner()
    marks = whole.scan(stream)
    placed = [
        Mark(at + mark.end, mark.kind, mark.answer, mark.length)
        for at in range(len(stream))
        for mark in parts.scan(stream[at : at + 1])
    ]
    assert (placed, parts.modes) == (marks, whole.modes)
