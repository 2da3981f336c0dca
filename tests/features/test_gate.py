"""May it be typed now? Every reason that a look can give (coordination.md §3.3, §3.9)."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from coordinatord import kinds
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.panes.records import Outcome
from coordinatord.features.typing import gate
from coordinatord.features.typing.records import Clear, Held
from coordinatord.kinds import Blank, Busy, Composer, Dialog, Menu, Reading, Unclear
from coordinatord.terminals.port import Foreground, Program, Sighting
from tests.features.made import SHELL, sighting

KINDS = kinds.load(None)


def reason(held: Held | None) -> str | None:
    return held.reason if held else None


@pytest.mark.parametrize(
    ("outcome", "held"),
    [
        ("same", None),
        ("new-conversation", None),
        ("handoff", None),
        ("restored", None),
        ("replaced", "replaced"),
        ("absent", "absent"),
        ("unrecorded", "unbound"),
        ("unobservable", "unobservable"),
    ],
)
def test_the_occupant_must_stand(outcome: Outcome, held: str | None) -> None:
    """C-25."""
    assert reason(gate.occupant_stands(sighting(), outcome)) == held


def test_every_outcome_is_decided() -> None:
    for outcome in get_args(Outcome):
        gate.occupant_stands(sighting(), outcome)


def test_what_is_not_seen_is_not_typed_to() -> None:
    assert reason(gate.occupant_stands(Unseen(), "same")) == "host-unreachable"
    assert reason(gate.occupant_stands(Gone(), "same")) == "absent"


@pytest.mark.parametrize(
    ("facts", "held"),
    [
        ({"status": "idle"}, None),
        ({"status": "done"}, None),
        ({"status": "working"}, "busy"),
        ({"status": "blocked"}, "blocked"),
        ({"status": "unknown"}, "unknown"),
        ({"agent": None}, "not-agent"),
        ({"live": False}, "launching"),
        ({"launch_pending": True}, "launching"),
        ({"launch_pending": True, "agent": None}, "launching"),
    ],
)
def test_the_agent_must_be_settled(facts: dict[str, Any], held: str | None) -> None:
    """C-1: and `idle` and `done` mean the same."""
    assert reason(gate.agent_settled(sighting(**facts))) == held


def front(name: str, *, group: int = 7, declared: str | None = None) -> Foreground:
    program = Program(pid=group, name=name, argv=(name,), declared=declared)
    return Foreground(shell=SHELL, group=group, programs=(program,))


@pytest.mark.parametrize(
    ("foreground", "held"),
    [
        (front("codex"), None),
        (front("node", declared="codex"), None),
        (front("vim"), "not-agent"),
        (front("claude"), "not-agent"),
        (front("codex", group=SHELL.pid), "not-agent"),
        (Foreground(shell=SHELL, group=7), "not-agent"),
        (Foreground(shell=None), "unobservable"),
        (None, "unobservable"),
    ],
    ids=["agent", "wrapper", "editor", "other agent", "bare shell", "nobody", "no shell", "unseen"],
)
def test_the_agent_must_be_in_front(foreground: Foreground | None, held: str | None) -> None:
    """A label of the host proves nothing: in a bare shell the text would be a command."""
    assert reason(gate.agent_in_front(sighting(), foreground, KINDS)) == held


@pytest.mark.parametrize(
    ("reading", "held"),
    [
        (Composer(""), None),
        (Composer("Ask anything", placeholder=True), None),
        (Composer("half a thought"), "draft"),
        (Composer("[Pasted 3 lines]", chip=True), "draft"),
        (Dialog("permission"), "dialog"),
        (Menu("palette"), "dialog"),
        (Busy(Composer("")), "busy"),
        (Blank(), "no-composer"),
        (Unclear(), "no-composer"),
    ],
)
def test_the_composer_must_be_drawn_and_empty(reading: Reading, held: str | None) -> None:
    """C-28: what waits for a person's answer gets no text; what no rule explains neither."""
    assert reason(gate.composer_empty(reading)) == held


def test_the_detail_carries_no_text_of_the_pane() -> None:
    held = gate.composer_empty(Composer("my secret"))
    assert held == Held("draft", "a draft of 9 characters")


def test_all_looks_together() -> None:
    """The first that forbids it says why; a kind without rules is no agent that could be typed to."""

    def verdict(seen: Sighting, outcome: Outcome, reading: Reading | None) -> str:
        found = gate.verdict(seen, outcome, front("codex"), reading, KINDS)
        return found.reason if isinstance(found, Held) else f"{found}"

    assert verdict(sighting(), "same", Composer()) == f"{Clear('codex', 7)}"
    assert verdict(sighting(), "same", Composer("a draft")) == "draft"
    assert verdict(sighting(), "same", None) == "no-composer"
    assert verdict(sighting(status="working"), "same", Composer()) == "busy"
    assert verdict(sighting(), "replaced", Composer()) == "replaced"
    assert verdict(sighting(agent="strange"), "same", Composer()) == "not-agent"
