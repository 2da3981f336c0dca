"""What people see: `coordctl.output`."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import Any

import pytest

from coordctl import output, showing
from tests.clients.toy import environment

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("at", "spoken"),
    [
        (NOW, "now"),
        (NOW - 0.9, "now"),
        (NOW - 59, "59 s ago"),
        (NOW - 60, "1 min ago"),
        (NOW - 7199, "1 h ago"),
        (NOW - 200_000, "2 d ago"),
        (NOW + 120, "in 2 min"),
    ],
)
def test_times_are_spoken(at: float, spoken: str) -> None:
    assert showing.ago(at, NOW) == spoken


def test_lengths_of_time_are_spoken() -> None:
    assert [showing.lasting(s) for s in (0.2, 1, 90, 7200)] == [
        "less than 1 s",
        "1 s",
        "1 min",
        "2 h",
    ]


def test_text_of_agents_cannot_drive_the_terminal() -> None:
    """G-10: control characters are shown, not obeyed."""
    odd = "a\x1b[2Jb\x07c\x9b1md\ud800e\u202ef\r"
    shown = showing.visible(odd, lines=True)
    assert shown == "a\\x1b[2Jb\\x07c\\x9b1md\\ud800e\\u202ef\\r"
    assert showing.visible("é 中 😀\n\tx", lines=True) == "é 中 😀\n\tx"
    text = "全角\u3000空白 ❯\u00a0x 👩\u200d👧"
    assert showing.visible(text) == text
    assert showing.visible("\u202e\u2066\u200b\x9b") == r"\u202e\u2066\u200b\x9b"


def shown(words: str, result: Any, capsys: pytest.CaptureFixture[str]) -> str:
    output.show(words, result, now=NOW)
    return capsys.readouterr().out


def test_the_inbox_shows_texts_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    item = {
        "id": "q-9f3t8b2c",
        "kind": "question",
        "seq": 3,
        "since": NOW - 180,
        "task": "t-1h6v5w0z",
        "by": "worker:t-1h6v5w0z",
        "text": "Which port?\n\x1b[31mred",
        "state": "submitted",
        "settling": "coordctl answer q-9f3t8b2c -",
    }
    text = shown("inbox", {"seat": "coordinator", "items": [item], "incomplete": True}, capsys)
    assert text.splitlines() == [
        "coordinator owes 1:",
        "q-9f3t8b2c  question, on t-1h6v5w0z, from worker:t-1h6v5w0z, 3 min ago  (submitted)",
        "    Which port?",
        "    \\x1b[31mred",
        "    → coordctl answer q-9f3t8b2c -",
        "Some stored records cannot be read and are missing here.",
    ]
    empty = {"seat": "coordinator", "items": [], "incomplete": False}
    assert shown("inbox", empty, capsys) == "Nothing is owed by coordinator.\n"


def test_why_is_its_sentence_first(capsys: pytest.CaptureFixture[str]) -> None:
    attempt = {
        "id": "d-4k7q2m1x",
        "seat": "coordinator",
        "transport": "prompt",
        "trail": [{"stage": "claimed", "at": NOW - 5, "evidence": "settled"}],
        "sha256": "0f" * 32,
        "removed": ["ESC"],
    }
    result = {
        "id": "q-9f3t8b2c",
        "sentence": "It waits: the agent is busy.",
        "state": "pending",
        "held": "busy",
        "since": NOW - 61,
        "attempts": [attempt],
    }
    sentence = ["q-9f3t8b2c: It waits: the agent is busy.", "  held (busy) for 1 min"]
    assert shown("why", result, capsys).splitlines() == sentence
    seen = {"pane": "w1:p2", "agent": "codex", "status": "working"}
    assert shown("why", result | {"evidence": {"seen": seen}}, capsys).splitlines() == [
        *sentence,
        "  d-4k7q2m1x to coordinator by prompt",
        "         5 s ago  claimed: settled",
        f"          sha256  {'0f' * 32}",
        "         removed  ESC",
        "  w1:p2: codex, working",
    ]


def test_any_record_is_readable(capsys: pytest.CaptureFixture[str]) -> None:
    record = {
        "id": "m-7d2k9x4p",
        "seq": 9,
        "at": NOW - 3600,
        "text": "one\ntwo",
        "state": {"kind": "acknowledged", "at": NOW - 1, "by": "coordinator"},
        "nothing": None,
        "done": False,
        "names": ["a", "b"],
        "parts": [{"id": "x-1", "at": NOW}],
    }
    assert shown("show", record, capsys).splitlines() == [
        "id: m-7d2k9x4p",
        "at: 1 h ago",
        "text:",
        "  one",
        "  two",
        "state:",
        "  kind: acknowledged",
        "  at: 1 s ago",
        "  by: coordinator",
        "done: no",
        "names: a, b",
        "parts:",
        "  - x-1, at now",
    ]
    assert shown("down", {"done": True}, capsys) == "Done.\n"


@pytest.mark.parametrize("words", sorted(output._RENDERERS))
@pytest.mark.parametrize("result", [{}, {"newer": 1}, {"items": [{"id": "x"}]}, [], None, 7])
def test_an_answer_of_another_version_is_shown_anyhow(
    words: str, result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    output.show(words, result, now=NOW)
    capsys.readouterr()


def test_lists_are_columns_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    panes = [
        {"pane_id": "w1:p1", "label": "tests", "agent_status": "unknown", "cwd": "/a"},
        {"pane_id": "w1:p10", "agent": "claude", "agent_status": "idle", "seat": "coordinator"},
    ]
    assert shown("pane list", {"items": panes, "incomplete": False}, capsys).splitlines() == [
        "PANE    LABEL  AGENT   STATUS   SEAT         CWD",
        "w1:p1   tests          unknown               /a",
        "w1:p10         claude  idle     coordinator",
    ]
    assert shown("pane list", {"items": []}, capsys) == "No panes.\n"


def _on_a_terminal(**variables: str) -> str:
    """What a table looks like on a terminal."""
    code = (
        "from coordctl import output\n"
        "items = [{'id': 't-1h6v5w0z', 'title': '[bold]x[/bold]'}]\n"
        "output.show('task list', {'items': items})"
    )
    parent, child = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", code],
        env=environment(TERM="xterm-256color", COLUMNS="80", **variables),
        stdout=child,
        check=True,
    )
    os.close(child)
    text = os.read(parent, 65536).decode()
    os.close(parent)
    return text


def test_tables_are_coloured_on_a_terminal_only_and_never_read_markup() -> None:
    coloured, plain = _on_a_terminal(), _on_a_terminal(NO_COLOR="1")
    assert "\x1b[36m" in coloured
    assert "\x1b[36m" not in plain
    for text in (coloured, plain):
        assert "[bold]x[/bold]" in text


def test_a_rundown_on_a_terminal_is_bold_and_not_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Emphasis is ours and obeyed; a title's control characters are neither."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    item = {"id": "t-1h6v5w0z", "title": "a\x1bb", "status": "waiting", "worker_pane": "w1:p2"}
    text = shown("rundown", {"items": [item], "decisions": 1, "owed": 1}, capsys)
    assert text.splitlines() == [
        "\x1b[1mt-1h6v5w0z\x1b[0m  a\\x1bb  (waiting, w1:p2)",
        "1 decision waits; 1 thing is owed.",
    ]


def test_a_wait_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    waited = {"id": "coordinator", "until": "settled", "over": False, "state": "working"}
    assert shown("wait", waited, capsys) == "coordinator is not settled yet: working.\n"
    gone = waited | {"over": True, "state": "gone"}
    assert shown("wait", gone, capsys) == "coordinator is gone: no agent is in front in its pane.\n"
    applied = {"id": "q-9f3t8b2c", "until": "answered", "over": True, "state": "applied"}
    assert shown("wait", applied, capsys) == "q-9f3t8b2c: applied.\n"


def test_an_alert_says_what_was_seen_and_what_settles_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    alert = {
        "id": "a-4r4g1xy2",
        "task": "t-1h6v5w0z",
        "kind": "exited",
        "at": NOW - 120,
        "reading": "coordctl pane read w1:p2",
        "state": {"kind": "open"},
    }
    assert shown("attention list", {"items": [alert]}, capsys).splitlines() == [
        "a-4r4g1xy2  worker of t-1h6v5w0z: its agent has exited, 2 min ago  (open)",
        "    look: coordctl pane read w1:p2",
        "    → attention seen a-4r4g1xy2",
    ]
