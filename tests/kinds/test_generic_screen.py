"""The generic kind, on the stand-in agent's layout at several widths."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinatord.kinds import (
    AgentKind,
    Busy,
    Composer,
    Dialog,
    Reading,
    Unclear,
    composer_holds,
    load,
    read_screen,
    shows,
)
from tests.kinds.drawn import FakeAgent

WIDTHS = (38, 40, 100)
KINDS = load()
GENERIC = KINDS["generic"]


@pytest.fixture(params=WIDTHS)
def columns(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("ansi", [True, False])
def test_its_four_screens(generic: AgentKind, columns: int, ansi: bool) -> None:
    """G-1, G-2: idle, draft, dialog and busy are told apart, with and without attributes."""
    said = ["> earlier", "done"]
    screens = [
        FakeAgent(said=said),
        FakeAgent(said=said, draft="could you look at the inv"),
        FakeAgent(said=said, dialog=True),
        FakeAgent(said=said, busy=True),
        FakeAgent(said=said, busy=True, dialog=True),
    ]
    assert [read_screen(generic, agent.drawn(columns, ansi=ansi)) for agent in screens] == [
        Composer(),
        Composer("could you look at the inv"),
        Dialog("permission"),
        Busy(Composer()),
        Dialog("permission"),
    ]


def test_a_dim_suggestion_is_not_a_draft(generic: AgentKind, columns: int) -> None:
    """G-2: grey text in an otherwise empty composer."""
    reading = read_screen(generic, FakeAgent(ghost="write a test for x").drawn(columns))
    assert reading == Composer("write a test for x", placeholder=True)
    assert isinstance(reading, Composer)
    assert reading.draft == ""


def test_a_suggestion_read_without_attributes_holds(generic: AgentKind, columns: int) -> None:
    """What cannot be told from a draft counts as one."""
    reading = read_screen(generic, FakeAgent(ghost="write a test").drawn(columns, ansi=False))
    assert reading == Composer("write a test")


LONG_LINE = "note " * 130 + "and the end of one long line, 700 characters it is"
PARAGRAPHS = "- first  mark\n\n* second,  doubled  blanks\n\n1. third"


@pytest.mark.parametrize(
    "text", [LONG_LINE[:600] + "\n" + PARAGRAPHS, LONG_LINE + "\n" + PARAGRAPHS]
)
def test_wrapped_text_is_known_again(generic: AgentKind, columns: int, text: str) -> None:
    """G-4: wrapping, trimmed blanks, and the chip of a longer one."""
    reading = read_screen(generic, FakeAgent(said=["x"], draft=text).drawn(columns))
    assert composer_holds(generic, reading, text)
    assert not composer_holds(generic, reading, text + "!")
    assert not composer_holds(generic, reading, text[1:])


def test_the_chip_counts_what_the_agent_shows(generic: AgentKind) -> None:
    """G-4: the stand-in counts a line break as it draws it."""
    text = "y" * 900 + "\nz\nz"
    reading = read_screen(generic, FakeAgent(draft=text).drawn(100))
    assert reading == Composer("[Pasted text 910 chars]", chip=True)
    assert composer_holds(generic, reading, text)
    assert not composer_holds(generic, reading, text + "z")


def test_a_busy_composer_proves_nothing(generic: AgentKind) -> None:
    """Enter may be pressed again only on a settled agent."""
    reading = read_screen(generic, FakeAgent(draft="ours", busy=True).drawn(60))
    assert reading == Busy(Composer("ours"))
    assert not composer_holds(generic, reading, "ours")


@pytest.mark.parametrize(
    "quoted",
    [
        "Allow this command?\n❯ 1. Yes\n  2. No",
        "press esc to interrupt the agent",
        "> (esc to interrupt)",
        "───────────────────────\n❯ \n─────────────",
        "? for shortcuts",
    ],
)
def test_quoted_text_fakes_no_state(generic: AgentKind, columns: int, quoted: str) -> None:
    """Only what is drawn at the bottom counts."""
    said = quoted.split("\n")
    assert read_screen(generic, FakeAgent(said=said).drawn(columns)) == Composer()
    drafting = FakeAgent(said=said, draft="mine")
    assert read_screen(generic, drafting.drawn(columns)) == Composer("mine")
    dialog = FakeAgent(said=[*said, "────────────────", "❯ "], dialog=True)
    assert read_screen(generic, dialog.drawn(columns)) == Dialog("permission")


def test_a_numbered_draft_is_taken_for_a_choice(generic: AgentKind) -> None:
    """The two look the same: both hold."""
    assert read_screen(generic, FakeAgent(draft="1. Yes").drawn(60)) == Dialog("numbered")


@pytest.mark.parametrize(
    "screen",
    [
        "──────────\n❯ hi\n─────────\n  foot",  # two widths
        "❯ hi\n──────────\n  foot",  # the upper rule has scrolled away
        "──────────\nhi\n──────────\n  foot",  # no glyph
        "──────────\n❯ hi\n──────────\n1\n2\n3\n4",  # somebody else wrote below
        "──────────\n❯ hi\n──────────\n  ? for shortcuts\nuser@host:~$",  # a shell is back
        "──────────\n❯ hi\n──────────\nroot #",
    ],
)
def test_a_composer_that_is_not_whole_is_none(generic: AgentKind, screen: str) -> None:
    assert read_screen(generic, screen) == Unclear()


def test_an_id_broken_over_rows_is_seen(columns: int) -> None:
    """G-4: ids are looked for without the wrapping."""
    for before in range(columns):
        screen = FakeAgent(draft="." * before + "[coord d-4k7q2m1x]").drawn(columns)
        assert shows(screen, "d-4k7q2m1x")
        assert not shows(screen, "d-4k7q2m1y")


SAFE_TEXT = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Cf", "Mn", "Me", "Mc", "Cn", "Co", "Zl", "Zp")),
    min_size=1,
    max_size=120,
).filter(lambda text: text.strip() and not set(text) & set("─❯│"))


@settings(max_examples=60, deadline=None)
@given(text=SAFE_TEXT, columns=st.sampled_from(WIDTHS))
def test_any_text_is_known_again_at_any_width(text: str, columns: int) -> None:
    """G-4, G-10: wide characters and emoji too, unless it looks like a choice."""
    reading = read_screen(GENERIC, FakeAgent(draft=f"[msg] {text}").drawn(columns))
    assert composer_holds(GENERIC, reading, f"[msg] {text}")


@settings(max_examples=200, deadline=None)
@given(screen=st.text(max_size=300))
def test_no_screen_makes_it_fail(screen: str) -> None:
    for kind in KINDS.values():
        assert isinstance(read_screen(kind, screen), Reading)
