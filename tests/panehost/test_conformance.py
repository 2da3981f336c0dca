"""The embedded host against every recorded scenario of a real Herdr 0.8.2.

Scenarios run beside each other, each with a host process of its own; what differs is listed with
its reason in ``docs/decisions/0001-embedded-host-differences.md``, and nothing else may differ.
"""

from __future__ import annotations

import functools
import json
import re
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.panehost.replay import (
    Action,
    Line,
    Stage,
    compared,
    kill_shell,
    read,
    replay,
)

pytestmark = pytest.mark.xdist_group("conformance")
"""One worker runs them all: every scenario is begun at once, with the first test."""


def order(pane: str, *words: object) -> Action:
    return lambda stage: stage.order(pane, *words)


def restart(stage: Stage) -> None:
    stage.wait_until_it_ended()
    stage.start()


def kill_and_start(stage: Stage) -> None:
    stage.kill()
    stage.start()


def type_draft(stage: Stage) -> None:
    stage.ask("pane.send_text", pane_id="w1:p1", text="my half written ")


def odd_lines(stage: Stage) -> None:
    stage.send(69, b"{\xff}\n")


def oversize(stage: Stage) -> None:
    head = b'{"id":"big","method":"pane.send_text","params":{"pane_id":"w1:p1","text":"'
    stage.send(71, head + b"x" * (1 << 20) + b'"}}\n')


def large(stage: Stage) -> None:
    head = b'{"id":"large","method":"ping","params":{},"padding":"'
    stage.send(72, head + b"x" * (1_000_000 - len(head) - 2) + b'"}\n').wait_for(1)


def forty_sources(stage: Stage) -> None:
    for number in range(40):
        stage.ask(
            "pane.report_metadata",
            pane_id="w1:p1",
            source=f"run-{number}",
            tokens={"cd_q": "1"},
            seq=1,
        )


def six_hundred(stage: Stage) -> None:
    for number in range(2, 600):
        stage.ask("workspace.rename", workspace_id="w1", label=f"n-{number:03d}")


ACTIONS: dict[str, list[tuple[float, Action]]] = {
    "02": [(0.687, odd_lines), (0.8, oversize), (1.37, large)],
    "04": [
        (0.1, order("w1:p2", "turn", 2)),
        (7.9, order("w1:p2", "turn", 1)),
        (12.3, order("w1:p2", "swallow")),
        (19.51, order("w1:p2", "turn", 3)),
        (30.64, order("w1:p2", "dialog")),
        (31.9, order("w1:p2", "turn", 1)),
        (34.871, order("w1:p2", "exit")),
        (41.7, order("w1:p2", "exit")),
    ],
    "05": [
        (0.0, order("w1:p1", "turn", 0.8)),
        (9.23, type_draft),
        (14.43, order("w1:p1", "dialog")),
        (15.85, order("w1:p1", "turn", 1.45)),
    ],
    "06": [(13.39, restart)],
    "07": [(11.742, kill_and_start)],
    "09b": [(0.311, six_hundred)],
    "08": [(10.12, order("w1:p2", "work", 6))],
    "10": [(5.61, forty_sources), (13.66, order("w1:p1", "exit"))],
    "12": [
        (5.031, order("w1:p2", "work", 3)),
        (13.531, kill_shell("w1:p3")),
        (20.6, order("w1:p4", "turn", 6)),
        (22.139, order("w1:p4", "exit")),
    ],
    "14": [(0.0, order("w1:p1", "turn", 1.15))],
}
NAMES = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "09b", "10", "11", "12", "13", "14")
LONGEST_FIRST = sorted(NAMES, key=("09b", "04", "05", "12", "14", "06", "09").__contains__)[::-1]
HANDOFF_AT = 11.31

PACES = {"03": 1.0, "05": 1.0, "14": 0.8}
"""Where shells sleep by themselves, or 100 ms decide."""

DIFFERENCES: dict[str, list[str]] = {
    "E1 capabilities": [r"capabilities\.(coordinatord_panehost|live_handoff):"],
    "E2 methods for the eyes of a person": [
        r"^09:(39|40)\[0\]\.(id|error|result):",
        r"^09:(2|41)\*(layout_updated|(pane|tab|workspace)_focused)\.length:",
    ],
    "E3 agents are noticed sooner, and each time": [
        r"^04:[78]\[0\]\.result\.agent\.agent:",
        r"^(04:2|12:5)\*pane_agent_detected",
    ],
    "E4 the status goes with the agent": [
        r"^04:2\*pane_updated\[6\]\.pane\.agent_status:",
        r"^04:85\*pane.agent_status_changed\[2\]\.agent:",
        r"^10:2\*pane_updated\[25\]\.pane\.agent_status:",
        r"^10:3\*pane.agent_status_changed(\.length|\[10\]\.agent(_status)?):",
        r"^12:2[45]\[0\]\.result\.(pane|agent)\.agent_status:",
    ],
    "E5 a prompt to an agent that dies is not answered with success": [
        r"^12:22\[0\]\.(error|result):"
    ],
    "E6 who is counted first of two that start at once": [r"^0[678]:.*\.state_change_seq:"],
    "E7 which events of a burst are lost": [r"^09b:.*(workspace_renamed|\.label|\.length)"],
    "E8 made by the replay": [
        # the stand-in draws a dialog of the real codex
        r"^04:46\[0\]\.result\.read\.text:",
        # recorded in the millisecond before the client closed
        r"^12:5\*pane_closed\.length:",
    ],
}


def recorded(name: str) -> list[Line]:
    lines = read(name)
    if name == "08":
        lines = [line for line in lines if line.at < HANDOFF_AT]
    return lines


ONE_AT_A_TIME = threading.Lock()


def run(root: Path, name: str) -> tuple[Stage, list[str]]:
    """One scenario; at the recorded pace once more if the machine was too busy for the fast one.

    Repetitions come one at a time: a machine that could not keep up with all at once is not
    asked for the same again.
    """
    stage, found = run_once(root / name, name, PACES.get(name, 0.5))
    for again in (1, 2):
        if unexplained(name, found) or (name == "09b" and not missing(renamed(stage))):
            with ONE_AT_A_TIME:
                stage, found = run_once(root / f"{name}-{again}", name, 1.0)
    return stage, found


def renamed(stage: Stage) -> list[int]:
    """The numbers of the new names in scenario 09b, as they came."""
    told = (one for one in stage.clients[2].answers if one.get("event") == "workspace_renamed")
    return [int(event["data"]["label"].removeprefix("n-")) for event in told]


def missing(numbers: list[int]) -> set[int]:
    """What never came; nothing, where the machine was too slow for a burst."""
    return set(range(1, numbers[-1])) - set(numbers)


def unexplained(name: str, found: list[str]) -> list[str]:
    allowed = [re.compile(pattern) for patterns in DIFFERENCES.values() for pattern in patterns]
    return [line for line in found if not any(p.search(f"{name}:{line}") for p in allowed)]


def run_once(root: Path, name: str, pace: float) -> tuple[Stage, list[str]]:
    stage = Stage(root, pace)
    lines = recorded(name)
    try:
        stage.start()
        replay(stage, lines, ACTIONS.get(name, []))
        if name == "04":
            _drop_idle_at_start(stage)
        return stage, compared(stage, lines)
    finally:
        stage.stop()


def _drop_idle_at_start(stage: Stage) -> None:
    """E9: Herdr left out the event ``idle`` at the end of this start, and sent it in 10 and 14."""
    events = stage.clients[6].answers
    index = next(i for i, one in enumerate(events) if "event" in one)
    assert events.pop(index)["data"]["agent_status"] == "idle"


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[str, Future[tuple[Stage, list[str]]]]]:
    with tempfile.TemporaryDirectory(prefix="ph") as root, ThreadPoolExecutor(8) as pool:
        yield {
            name: pool.submit(functools.partial(run, Path(root), name)) for name in LONGEST_FIRST
        }


@pytest.mark.parametrize("name", NAMES)
def test_answers_and_events_are_those_recorded(
    outcomes: dict[str, Future[tuple[Stage, list[str]]]], name: str
) -> None:
    _, found = outcomes[name].result()
    assert unexplained(name, found) == []


def test_a_burst_loses_events_in_order_and_without_a_sign(
    outcomes: dict[str, Future[tuple[Stage, list[str]]]],
) -> None:
    """T-7: with quirks some of 600 renames never come, and those that come keep their order."""
    stage, _ = outcomes["09b"].result()
    came = renamed(stage)
    assert came == sorted(set(came))
    assert (
        len(came) > 100
    )  # one comes with each tick: how many, before all is over, is the machine's
    assert missing(came)


def test_what_an_agent_received_is_what_was_recorded(
    outcomes: dict[str, Future[tuple[Stage, list[str]]]],
) -> None:
    """T-19, T-20: merged prompts, a swallowed Enter and an escaped paste, as in the real host."""
    stage, _ = outcomes["05"].result()
    told = [re.search(r"log at \d+ ms: (\w+) (\{.*)?", line.line) for line in read("05")
            if line.dir == "note"]  # fmt: skip
    recorded_log = [(m[1], json.loads(m[2] or "{}")) for m in told if m]
    heard = [(entry.pop("what"), entry) for entry in stage.heard("w1:p1")]
    assert [one for one in heard if one[0] != "clear"] == [
        one for one in recorded_log if one[0] != "clear"
    ]


def test_every_difference_is_explained() -> None:
    page = Path(__file__).parents[2] / "docs/decisions/0001-embedded-host-differences.md"
    text = page.read_text(encoding="utf-8")
    assert all(name.partition(" ")[0] in text for name in [*DIFFERENCES, "E9 start"])
