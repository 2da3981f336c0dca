"""No word gets into a trace, and a masked screen is taken for what the real one was taken for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord import kinds
from coordinatord.features.trace import masking
from coordinatord.features.trace.masking import mask_screen, mask_text, reading_word
from coordinatord.kinds import AgentKind, read_screen, sgr

KINDS = kinds.load(None)
AGENTS = Path(__file__).parents[2] / "recordings" / "agents"
WORD = re.compile(r"[^\W_]+")
MASK = re.compile(r"[xX0口]+")


def allowed(kind: AgentKind) -> set[str]:
    """Words that stand in the kind's own rules."""
    return {word for pattern in masking._patterns(kind) for word in masking._words(pattern)}


def words_left(text: str, kind: AgentKind) -> list[str]:
    """Words that are neither masked nor the kind's."""
    mine = allowed(kind)
    return [
        word
        for word in WORD.findall(text)
        if not MASK.fullmatch(word) and word.casefold() not in mine
    ]


def screens() -> list[Path]:
    return sorted(AGENTS.glob("*.txt"))


def kind_of(path: Path) -> AgentKind:
    return KINDS[path.stem.partition("-")[0]]


@pytest.mark.parametrize("path", screens(), ids=lambda path: path.stem)
def test_a_recorded_screen_is_taken_for_the_same_without_its_words(path: Path) -> None:
    """The rules of the agents' kinds see in the masked screen what they saw in the real one."""
    kind, ansi = kind_of(path), path.read_text("utf-8", "replace")
    reading = read_screen(kind, ansi)
    masked = mask_screen(kind, ansi, reading)
    assert not masked.unlike
    assert masked.reading == reading_word(reading)
    assert words_left(sgr.plain(masked.text), kind) == []
    assert [len(row.text) for row in sgr.rows(masked.text)] == [
        len(row.text) for row in sgr.rows(ansi)
    ]


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
SAID = st.lists(
    st.one_of(
        TEXT,
        st.sampled_from(
            ["› ", "❯ ", "  fake default · /home/me", "─" * 20, "esc to interrupt my boss", "1. Yes",
             "\x1b[2mtry it\x1b[0m", "\x1b]0;my title\x07", "Press enter to confirm or esc to cancel"]
        ),
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


@given(SAID, st.sampled_from(sorted(KINDS)))
def test_no_word_of_any_screen_is_left(ansi: str, name: str) -> None:
    """Whatever stands on it: only the words of the kind's own rules stay, where these match."""
    kind = KINDS[name]
    masked = mask_screen(kind, ansi, read_screen(kind, ansi))
    assert words_left(sgr.plain(masked.text), kind) == []
    if not masked.unlike:
        assert reading_word(read_screen(kind, masked.text)) == masked.reading


@given(TEXT)
def test_without_rules_nothing_is_left_at_all(text: str) -> None:
    """And the length stays, so that shapes do."""
    masked = mask_text(text)
    assert len(masked) == len(text)
    assert all(MASK.fullmatch(word) for word in WORD.findall(masked))


def test_a_kind_of_the_users_own_keeps_no_secret() -> None:
    """A rule that matches everything keeps its own literal words and nothing else."""
    kind = msgspec.structs.replace(
        KINDS["generic"],
        screen=msgspec.structs.replace(KINDS["generic"].screen, overlay=".*ready.*"),
    )
    masked = mask_screen(
        kind, "my secret is ready 42\n", read_screen(kind, "my secret is ready 42\n")
    )
    assert masked.text == "xx xxxxxx xx ready 00"


def test_what_is_masked_is_json_again() -> None:
    """The line survives its way through a file."""
    masked = mask_screen(KINDS["claude"], "❯ \x1b[7mh\x1b[0;2mello\x1b[0m", kinds.Unclear())
    assert json.loads(json.dumps(masked.text)) == masked.text
