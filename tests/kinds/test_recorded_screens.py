"""Every recorded screen of a real agent is read as what it shows (agents.md §1 to §5)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from coordinatord.kinds import (
    AgentKind,
    Blank,
    Busy,
    Composer,
    Dialog,
    Menu,
    Reading,
    Unclear,
    composer_holds,
    read_screen,
    shows,
)
from tests.kinds.drawn import RECORDED, recorded

EMPTY = Composer()
QUEUE_HINT = Composer("Press up to edit queued messages", placeholder=True)
CODEX_EMPTY = Composer("Ask Codex to do anything", placeholder=True)
DRAFT = Composer("half typed draft")

EXPECTED: dict[str, Reading] = {
    "claude-apikey": Dialog("api-key"),
    "claude-draft": DRAFT,
    "claude-exited": Unclear(),
    "claude-firstrun": Dialog("theme"),
    "claude-firstrun-2": Dialog("security-notes"),
    "claude-firstrun-3": Dialog("trust"),
    "claude-idle": EMPTY,
    # recorded after a prompt's Enter had answered the menu: the composer is back
    "claude-menu": EMPTY,
    "claude-pasted": Composer("[Pasted text #1 +59 lines]", chip=True),
    "claude-permission": Dialog("permission"),
    "claude-queued": Busy(QUEUE_HINT),
    "claude-working": Busy(EMPTY),
    "codex-draft": DRAFT,
    "codex-exited": Unclear(),
    "codex-firstrun": Dialog("trust"),
    "codex-hooks-list": Menu("hooks"),
    "codex-hooks-review": Dialog("hooks-review"),
    "codex-idle": CODEX_EMPTY,
    "codex-menu": Menu("picker"),
    "codex-pasted": Composer("[Pasted Content 1559 chars]", chip=True),
    "codex-permission": Dialog("permission"),
    "codex-queued": CODEX_EMPTY,
    # this agent's screen does not tell that it works, only its title does
    "codex-working": CODEX_EMPTY,
    "opencode-draft": DRAFT,
    "opencode-exited": Unclear(),
    "opencode-firstrun": Composer(
        'Ask anything… "What is the tech stack of this project?"', placeholder=True
    ),
    "opencode-idle": Composer('Ask anything… "Fix a TODO in the codebase"', placeholder=True),
    "opencode-menu": Menu("overlay"),
    "opencode-pasted": Composer("[Pasted ~60 lines]", chip=True),
    "opencode-permission": Dialog("permission"),
    "opencode-queued": Busy(EMPTY),
    "opencode-working": Busy(EMPTY),
    "pi-draft": DRAFT,
    "pi-exited": Unclear(),
    "pi-firstrun": Dialog("trust"),
    "pi-idle": EMPTY,
    "pi-menu": Menu("picker"),
    "pi-pasted": Composer("[paste #1 +60 lines]", chip=True),
    "pi-queued": Busy(EMPTY),
    "pi-working": Busy(EMPTY),
}


def test_no_recording_is_left_out() -> None:
    assert {file.stem for file in RECORDED.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_screen_is_read_as_what_it_shows(
    kinds: Mapping[str, AgentKind], name: str
) -> None:
    assert read_screen(kinds[name.partition("-")[0]], recorded(name)) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_another_kind_never_takes_it_for_an_empty_composer(
    kinds: Mapping[str, AgentKind], name: str
) -> None:
    """A pane whose kind is wrongly known is not typed into (`generic` has their layout)."""
    for kind in kinds.values():
        if kind.name not in (name.partition("-")[0], "generic"):
            reading = read_screen(kind, recorded(name))
            assert not (isinstance(reading, Composer) and reading.draft == ""), kind.name


@pytest.mark.parametrize("kind", ["claude", "codex", "opencode", "pi", "generic"])
@pytest.mark.parametrize("screen", ["", "\n\n  \n", "\x1b[0m\x1b[2m  \x1b[0m\r\n"])
def test_a_screen_with_nothing_drawn_is_blank(
    kinds: Mapping[str, AgentKind], kind: str, screen: str
) -> None:
    assert read_screen(kinds[kind], screen) == Blank()


@pytest.mark.parametrize("kind", ["claude", "codex", "opencode", "pi", "generic"])
@pytest.mark.parametrize("screen", ["$ ", "~/proj $ vim notes", "lines\n$ codex\n", "❯ \n› \n┃"])
def test_a_shell_and_other_programs_are_not_clear(
    kinds: Mapping[str, AgentKind], kind: str, screen: str
) -> None:
    assert read_screen(kinds[kind], screen) == Unclear()


SIXTY = "\n".join(f"row {n}" for n in range(60))


@pytest.mark.parametrize(
    ("kind", "text"),
    [("claude", SIXTY), ("pi", SIXTY), ("opencode", SIXTY), ("codex", "x" * 1559)],
)
def test_a_chip_is_compared_by_what_it_counts(
    kinds: Mapping[str, AgentKind], kind: str, text: str
) -> None:
    """G-4: a long paste collapses into a chip, which is no reason to call it lost."""
    reading = read_screen(kinds[kind], recorded(f"{kind}-pasted"))
    assert composer_holds(kinds[kind], reading, text)
    assert not composer_holds(kinds[kind], reading, text + "\nz")
    assert not composer_holds(kinds[kind], reading, text[:-8])


@pytest.mark.parametrize("kind", ["claude", "codex", "opencode", "pi"])
def test_a_draft_is_held_only_as_a_whole(kinds: Mapping[str, AgentKind], kind: str) -> None:
    """Leftover or foreign text beside ours means that it is not ours alone (agents.md §1)."""
    reading = read_screen(kinds[kind], recorded(f"{kind}-draft"))
    assert composer_holds(kinds[kind], reading, "half typed draft")
    assert composer_holds(kinds[kind], reading, "half  typed\ndraft ")
    for other in ("half typed", "half typed draft, more", "", " "):
        assert not composer_holds(kinds[kind], reading, other)


def test_an_id_is_found_wherever_it_stands() -> None:
    assert shows(recorded("claude-queued"), "[cd:n-0031]")
    assert not shows(recorded("claude-queued"), "[cd:n-0099]")
    assert not shows(recorded("claude-queued"), "")


CODEX_FOOT = "\n\n  stub-1 default · ~/proj\n"


def test_codex_dim_text_is_a_suggestion_and_typed_text_is_not(
    kinds: Mapping[str, AgentKind],
) -> None:
    """The attribute decides, also for words that no list knows (agents.md §4.4)."""
    dim = f"• OK\n\n\x1b[1m›\x1b[0m \x1b[2mTry to fix a bug\x1b[0m{CODEX_FOOT}"
    under_cursor = f"› \x1b[7mT\x1b[0;2mry to fix a bug\x1b[0m{CODEX_FOOT}"
    one_letter = f"› \x1b[7mT\x1b[0m{CODEX_FOOT}"
    coloured = f"› \x1b[38;2;2;2;2mTry\x1b[0m \x1b[48;5;2mit\x1b[0m{CODEX_FOOT}"
    completed = f"› fix\x1b[2m the bug\x1b[0m{CODEX_FOOT}"
    drafts = [read_screen(kinds["codex"], s) for s in (dim, under_cursor, one_letter, coloured)]
    assert drafts[0] == drafts[1] == Composer("Try to fix a bug", placeholder=True)
    assert drafts[2:] == [Composer("T"), Composer("Try it")]
    assert read_screen(kinds["codex"], completed) == Composer("fix")


STAND_IN = ">_ Codex stand-in (demo)\n\n> first task\n"
STAND_IN_FOOT = "\n  demo-model · 100% context left\n"


@pytest.mark.parametrize(
    ("composer", "reading"),
    [
        ("›", EMPTY),
        ("› my half written", Composer("my half written")),
        ("› first task\n  second line", Composer("first task\nsecond line")),
        ("\n• Working (0s • esc to interrupt)\n›", Busy(EMPTY)),
        ("› \x1b[2mAsk for anything\x1b[0m", Composer("Ask for anything", placeholder=True)),
    ],
)
def test_codex_stand_ins_are_read_like_the_real_one(
    kinds: Mapping[str, AgentKind], composer: str, reading: Reading
) -> None:
    """A real host's recordings show such a stand-in: its status row follows without a blank row."""
    assert read_screen(kinds["codex"], f"{STAND_IN}{composer}{STAND_IN_FOOT}") == reading


@pytest.mark.parametrize(("kind", "glyph"), [("codex", "›"), ("claude", "❯")])
def test_a_numbered_choice_without_a_known_foot(
    kinds: Mapping[str, AgentKind], kind: str, glyph: str
) -> None:
    screen = f"• OK\n\n  Something new?\n\n{glyph} 1. Yes, proceed (y)\n  2. No (esc)\n"
    assert read_screen(kinds[kind], screen) == Dialog("choice")


def test_pi_shows_that_it_hides_rows_or_works_in_its_rules(
    kinds: Mapping[str, AgentKind],
) -> None:
    foot = "~/proj\n0.0%/128k (auto)   (stub) stub-1"
    plain = "─" * 30
    hiding = f"─── ↑ 3 more {'─' * 17}\nrow\n{plain}\n{foot}"
    working = f"── ⠧ Compacting {'─' * 14}\n\n{plain}\n{foot}"
    assert read_screen(kinds["pi"], hiding) == Composer("row", cut=True)
    assert not composer_holds(kinds["pi"], Composer("row", cut=True), "row")
    assert read_screen(kinds["pi"], working) == Busy(EMPTY)


def test_opencode_beside_a_side_bar(kinds: Mapping[str, AgentKind]) -> None:
    """What stands to the right of the composer's block is not in it."""
    side = "   Context\n"
    rows = [
        "  ┃           ",
        "  ┃  文字 hi  ",
        "  ┃           ",
        "  ┃  Build · x ",
        "  ╹▀▀▀▀▀▀▀▀▀▀▀",
    ]
    screen = "".join(f"{row}{side}" for row in rows) + "   ~/proj   ctrl+p commands"
    assert read_screen(kinds["opencode"], screen) == Composer("文字 hi")


@pytest.mark.parametrize("blank", [0, 3, 12, 60])
def test_opencode_start_page_in_a_terminal_of_any_height(
    kinds: Mapping[str, AgentKind], blank: int
) -> None:
    """Its composer stands in the middle; the rest down to the last row is blank."""
    *above, last = recorded("opencode-idle").splitlines()
    screen = "\n".join([*above, *[""] * blank, last])
    assert read_screen(kinds["opencode"], screen) == EXPECTED["opencode-idle"]
    written = "\n".join([*above, *["text"] * 7, last])
    assert read_screen(kinds["opencode"], written) == Unclear()


def test_codex_composer_with_a_status_row_right_below_it(kinds: Mapping[str, AgentKind]) -> None:
    screen = "• OK\n› first row\n  second row\n  stub-1 · ~/proj"
    assert read_screen(kinds["codex"], screen) == Composer("first row\nsecond row")


@pytest.mark.parametrize(
    "foot",
    [
        "\n\n  esc again to edit previous message",
        "\n\n  stub-1 default · ~/proj\n  esc again to edit previous message",
        "\n\n  stub-1 default · ~/proj\n  ctrl+c again to quit",
        "\n\n  stub-1 default · ~/proj\n  one\n  two\n  three",
        "\n\n• Something else\n\n  stub-1 default · ~/proj",
        "\n\n  no status",
        "\n\n  no status\n  stub-1 default · ~/proj",
        "",
    ],
)
def test_codex_without_its_own_status_row_is_not_clear(
    kinds: Mapping[str, AgentKind], foot: str
) -> None:
    reading = read_screen(kinds["codex"], f"› Ask Codex to do anything{foot}")
    assert isinstance(reading, Unclear | Menu)


RULE = "─" * 30


@pytest.mark.parametrize(
    ("kind", "below", "reading"),
    [
        ("claude", "  Enter to select · Esc to cancel", Menu("below-composer")),
        ("claude", "Resume this session with:\nclaude --resume x", Unclear()),
        ("claude", "  auto mode on\n  a\n  status line\n  of one's own", EMPTY),
        ("claude", "  one\n  two\n  three\n  four\n  five\n  six", Unclear()),
        ("pi", "~/proj\n0.0%/128k (auto)  stub-1", EMPTY),
        ("pi", "~/proj", Unclear()),
        ("pi", "0.0%/128k (auto)  stub-1\npi --session x", Unclear()),
    ],
)
def test_what_stands_below_a_composer_tells_whether_it_is_one(
    kinds: Mapping[str, AgentKind], kind: str, below: str, reading: Reading
) -> None:
    glyph = "❯" if kind == "claude" else ""
    screen = f"{RULE}\n{glyph}\n{RULE}\n{below}"
    assert read_screen(kinds[kind], screen) == reading


@pytest.mark.parametrize(
    ("row", "reading"),
    [
        ("\x1b[39m❯\xa0\x1b[0;7m \x1b[0m", EMPTY),
        ("❯\xa0\x1b[7mP\x1b[0;2mress up to edit queued messages\x1b[0m", QUEUE_HINT),
        ('❯\xa0\x1b[7mT\x1b[0;2mry "fix it"\x1b[0m', Composer('Try "fix it"', placeholder=True)),
        ("❯\xa0fix it\x1b[7m \x1b[0m", Composer("fix it")),
    ],
)
def test_claude_composer_with_attributes(
    kinds: Mapping[str, AgentKind], row: str, reading: Reading
) -> None:
    """agents.md §3.3: an empty composer is a no-break blank and a reversed one."""
    screen = f"\x1b[2m{RULE}\x1b[0m\r\n{row}\r\n\x1b[2m{RULE}\x1b[0m\r\n  auto mode on"
    assert read_screen(kinds["claude"], screen) == reading


def test_a_rule_needs_its_body_near_its_foot(kinds: Mapping[str, AgentKind]) -> None:
    """Words far up the scroll area do not name a page."""
    foot = "\n" * 20 + "  enter confirm · esc skip"
    assert read_screen(kinds["codex"], f"  Hooks need review{foot}") == Menu("picker")
    assert read_screen(kinds["codex"], f"  Hooks need review{foot[10:]}") == Dialog("hooks-review")


def test_quoted_screens_above_a_composer_change_nothing(kinds: Mapping[str, AgentKind]) -> None:
    """An agent that talks about dialogs, menus and work is not in one."""
    quoted = "".join(
        recorded(name)
        for name in (
            "claude-permission",
            "codex-permission",
            "codex-menu",
            "pi-firstrun",
            "pi-menu",
        )
    )
    for kind in ("claude", "codex", "pi", "opencode"):
        expected = EXPECTED[f"{kind}-idle"]
        assert read_screen(kinds[kind], f"{quoted}\n\n{recorded(f'{kind}-idle')}") == expected
