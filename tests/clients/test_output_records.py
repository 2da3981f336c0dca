"""What people see of tasks, records and the workspace's state."""

from __future__ import annotations

import pytest

from coordctl import output, output_records

NOW = 1_000_000.0
ANSWERS = {
    "rundown": {
        "items": [
            {
                "id": "t-00000001", "seq": 1, "at": NOW, "title": "one \x1b[31m", "status": "waiting",
                "worker_pane": "w1:p2", "parent": "coordinator",
                "owed": [
                    {"id": "q-00000001", "kind": "question", "to": "coordinator", "seq": 2,
                     "since": NOW - 120, "age_s": 120.0, "state": "pending"},
                ],
            },
        ],
        "decisions": 1, "owed": 1, "oldest_decision_s": 120.0, "more": 3, "incomplete": True,
    },
    "log": {
        "items": [
            {"id": "q-00000001", "seq": 7, "at": NOW - 60, "kind": "question",
             "actor": "worker:t-00000001", "proof": "token", "task": "t-00000001"},
        ]
    },
    "status": {
        "version": "0.1.0", "pid": 7, "workspace": "/p", "socket": "/r/p.sock", "held": {},
        "terminal": {
            "kind": "herdr", "socket": "/h.sock", "connected": True, "version": "0.8.2",
            "protocol": 99, "events_seen": 12, "gaps_found": 1, "last_snapshot": NOW - 3,
            "trouble": "its protocol 99 is not known: panes are read, nothing is typed",
        },
    },
    "doctor": {
        "items": [
            {"id": "clock", "level": "good", "subject": "", "reason": "", "remedy": ""},
            {"id": "seats", "level": "bad", "subject": "coordinator", "reason": "replaced",
             "remedy": "coordctl init --reclaim"},
        ]
    },
    "config": {
        "items": [
            {"key": "backstop_s", "value": 15.0, "unit": "s", "source": "built-in", "doc": "…"},
        ]
    },
    "prune": {
        "tasks": ["t-00000001"], "kept": 2, "removed": True, "others": {"tool_runs": 3}, "more": True,
    },
    "backup": {"path": "/p/b.db", "tasks": 1, "seq": 9},
    "trace replay": {
        "version": "0.1.0", "lines": 20, "decisions": 9, "gaps": 1, "skipped": 0, "unlike": 2,
        "kinds": ["pi", "mine"], "diverged": 2,
        "first": {"number": 7, "at": NOW, "what": "look", "recorded": "draft", "now": "clear",
                  "seen": {"screen": "› xxx \x1b[2m"}},
        "broken": [{"number": 9, "at": NOW, "what": "coordinator was due, and nothing came of it"}],
    },
    "brief show": {"id": "t-00000001.r1", "state": "active", "text": "# one\n\nDo it."},
}  # fmt: skip
SEEN = {
    "rundown": (
        "waiting, w1:p2",
        "owes question q-00000001, 2 min ago",
        "3 more",
        "cannot be read",
    ),
    "log": ("worker:t-00000001  token", "1 min ago"),
    "status": (
        "terminal  herdr, connected (/h.sock)",
        "host      version 0.8.2, protocol 99; 12 events seen, 1 gaps found; looked at 3 s ago",
        "trouble   its protocol 99",
    ),
    "doctor": ("good  clock", "bad  seats  replaced  coordinator", "→ coordctl init --reclaim"),
    "config": ("backstop_s  15.0   s     built-in",),
    "prune": (
        "Removed: 1 archived task, tool runs: 3.",
        "  t-00000001",
        "kept for now: 2 tasks.",
        "There is more",
    ),
    "backup": ("/p/b.db holds 1 task, up to line 9.",),
    "trace replay": (
        "9 decisions on 20 lines, recorded by 0.1.0: 2 come out otherwise.",
        "Other screen rules there than here: pi, mine.",
        "Gaps, before and after which things need not fit: 1.",
        "First: line 7, ",
        "recorded  draft",
        "now       clear",
        "› xxx",
        "line 9: coordinator was due",
    ),
    "brief show": ("t-00000001.r1 (active)", "Do it."),
}


@pytest.mark.parametrize("words", sorted(ANSWERS))
def test_the_answer_tells_what_matters(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.show(words, ANSWERS[words], now=NOW)
    shown = capsys.readouterr().out
    for part in SEEN[words]:
        assert part in shown
    assert "\x1b" not in shown


def test_nothing_is_said_in_words_too(capsys: pytest.CaptureFixture[str]) -> None:
    output.show("rundown", {"items": []}, now=NOW)
    output.show("log", {"items": []}, now=NOW)
    assert capsys.readouterr().out == "No active task.\nNothing.\n"


@pytest.mark.parametrize("words", sorted(output_records.RENDERERS))
def test_an_answer_of_another_version_is_shown_as_it_is(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output.show(words, {"strange": "value"}, now=NOW)
    assert "strange: value" in capsys.readouterr().out
