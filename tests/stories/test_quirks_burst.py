"""A Herdr that loses and replays events, and far more of them at once than it keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordctl.demo.stage import Stage
from tests.stories.herdr_stand_in import Herdr

PANES = 12
EVENTS = 800
"""Of these the host keeps 512 and tells ten a second: a third is lost without a sign."""
BACKSTOP_S = 3
SHOWN = ("pane_id", "terminal_id", "label", "agent", "agent_status")


@pytest.fixture
def herdr(runtime_base: Path) -> Iterator[Herdr]:
    made = Herdr(runtime_base, "--quirks")
    yield made
    made.close()


@pytest.fixture
def stage(herdr: Herdr, runtime_base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A workspace beside it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime_base))
    made = Stage("herdr")
    made.environ |= {
        "COORDINATORD_HERDR_SOCKET": str(herdr.door.path),
        "COORDINATORD_BACKSTOP_S": str(BACKSTOP_S),
    }
    yield made
    made.close()


def _rows(panes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(each.get(name) or None for name in SHOWN) for each in panes)


def test_a_burst_leaves_no_lie(herdr: Herdr, stage: Stage) -> None:
    """T-7, T-10: true within a backstop interval, without a new subscription or a snapshot for each
    event. Labels change without any event."""
    first = herdr.ask("workspace.create", label="crowd", cwd="/")["root_pane"]["pane_id"]
    panes = [str(first)]
    while len(panes) < PANES:
        made = herdr.ask("pane.split", target_pane_id=first, direction="down")
        panes.append(str(made["pane"]["pane_id"]))
    snapshot = lambda: _rows(herdr.ask("session.snapshot")["snapshot"]["panes"])  # noqa: E731
    view = lambda: _rows(stage.call("pane.list")["items"])  # noqa: E731
    stage.until("everything is seen", lambda: view() == snapshot())
    asked = {"session.snapshot": 0, "agent.get": 0, "pane.get": 0, "events.subscribe": 0}
    before = {method: len(herdr.door.asked(method)) for method in asked}
    began = time.monotonic()
    for number in range(EVENTS):
        pane, report = panes[number % PANES], {"source": "test", "agent": "docs-bot"}
        herdr.ask("pane.report_metadata", pane_id=pane, source="t", tokens={"n": str(number)})
        if number % 10 == 0:
            state = ("working", "idle", "blocked")[number % 3]
            herdr.ask("pane.report_agent", pane_id=pane, state=state, **report)
            herdr.ask("pane.rename", pane_id=pane, label=f"n-{number}")
    # nothing announces this, and what the host still has to tell of the others takes a minute
    herdr.ask("pane.rename", pane_id=herdr.pane, label="quiet")
    stage.until("the view is true", lambda: view() == snapshot(), 5 * BACKSTOP_S)
    took = time.monotonic() - began
    for method in asked:
        asked[method] = len(herdr.door.asked(method)) - before[method]
    assert asked["events.subscribe"] == 0
    # the host tells ten events a second of each kind; what comes together is looked at together
    assert asked["session.snapshot"] <= took + 5
    assert asked["agent.get"] + asked["pane.get"] <= 60 * took
    assert sum(asked.values()) < EVENTS
