"""Cleaning text before it is typed, and what an agent would do with it (G-10, agents.md §1.1)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.kinds import AgentKind, Cleaned, sanitise, unsafe_start


@pytest.mark.parametrize(
    ("text", "clean", "removed"),
    [
        ("a\r\nb", "a\nb", ()),
        ("a\rb", "a\nb", ("CR",)),
        ("a\tb", "a    b", ()),
        ("a\x1bb", "ab", ("ESC",)),
        ("\x1b[31mred", "[31mred", ("ESC",)),
        ("x\x1b[201~\rrm -rf x", "x\nrm -rf x", ("paste-end", "CR")),
        ("x\x9b201~y\x1b[200~z", "xyz", ("paste-end", "paste-start")),
        ("a\x00b\x7f\x9b\x85\x08", "ab", ("NUL", "DEL", "U+009B", "U+0085", "U+0008")),
        ("\x1b\x1b\x1b", "", ("ESC",)),
        ("\ud800x", "x", ("U+D800",)),
        ("\n" * 1000, "\n" * 1000, ()),
        ("trailing \\", "trailing \\", ()),
    ],
)
def test_controls_go_by_name(text: str, clean: str, removed: tuple[str, ...]) -> None:
    """G-10: one submit with the same visible text; what was removed is named."""
    assert sanitise(text) == Cleaned(clean, removed)


@pytest.mark.parametrize(
    "text", ["👨‍👩‍👧‍👦 family", "‏שלום עולם‏", "é à ȩ̃", "‪mixed‬ ⁦marks⁩", "数据 ✅️"]
)
def test_text_that_is_only_odd_stays(text: str) -> None:
    """G-10: joiners, right-to-left marks and combining marks."""
    assert sanitise(text) == Cleaned(text, ())


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[20\x1b[201~1~",
        "\x1b\x00[201~",
        "\x1b\x1b[201~[201~",
        "\x9b2\x1b[200~01~",
        "\x1b[2\ud80001~",
    ],
)
def test_no_sequence_forms_out_of_the_pieces(text: str) -> None:
    """T-10: the host wraps what it gets in a paste; nothing may end it early."""
    clean = sanitise(text).text
    assert not any(char in clean for char in "\x1b\x9b")


@given(st.text(st.characters(categories=["Cc", "Cs", "Cf", "L", "N", "P"])))
def test_cleaning_never_fails_and_twice_is_once(text: str) -> None:
    once = sanitise(text)
    assert sanitise(once.text) == Cleaned(once.text, ())
    assert not any(char < " " and char != "\n" for char in once.text)
    once.text.encode("utf-8")


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_clean_text_is_left_alone(text: str) -> None:
    assert sanitise(text) == Cleaned(text, ())


@pytest.mark.parametrize("kind", ["claude", "codex", "opencode", "pi", "generic"])
@pytest.mark.parametrize(
    ("text", "hazard"),
    [
        ("/help me", "command"),
        (" \n /help", "command"),
        ("!ls", "shell"),
        ("# note", "memory"),
        ("see @README", "completion"),
        ("@README", "completion"),
        ("see @READ me", None),
        ("mail a@b.example", None),
        ("use $skill", "completion"),
        ("costs $5", None),
        ("ends in \\", "continuation"),
        ("ends in \\ \n", "continuation"),
        ("a / b ! c # d", None),
        ("-x is no option", None),
        ("[msg m-4k7q2m1x] /help [/msg]", None),
        ("[coord d-4k7q2m1x: question q-9f3t8b2c is open. Read it: coordctl inbox]", None),
    ],
)
def test_what_a_text_would_cause(
    kinds: Mapping[str, AgentKind], kind: str, text: str, hazard: str | None
) -> None:
    """G-10: no command runs unless the sender asked for it; a notice is always safe."""
    assert unsafe_start(kinds[kind], text) == hazard
