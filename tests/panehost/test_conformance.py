"""The embedded host against every recorded scenario of a real Herdr 0.8.2.

All scenarios run at the same time, each with a host process of its own; what differs is listed with its
reason in ``docs/decisions/0001-embedded-host-differences.md``, and nothing else may differ.
"""

from __future__ import annotations

import functools
import json
import re
import tempfile
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
    ],
    "06": [(13.39, restart)],
    "07": [(11.742, kill_and_start)],
    "09b": [(0.311, six_hundred)],
    "08": [(11.29, order("w1:p2", "work", 6))],
    "10": [(5.61, forty_sources), (13.66, order("w1:p1", "exit"))],
    "12": [
        (5.031, order("w1:p2", "work", 3)),
        (13.531, kill_shell("w1:p3")),
        (20.6, order("w1:p4", "turn", 6)),
        (22.139, order("w1:p4", "exit")),
    ],
}
NAMES = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "09b", "10", "11", "12", "13", "14")
HANDOFF_AT = 11.3

PACES = {"03": 1.0, "05": 1.0}
"""Where shells sleep by themselves, or 100 ms decide."""

DIFFERENCES: dict[str, list[str]] = {}


def recorded(name: str) -> list[Line]:
    lines = read(name)
    if name == "08":
        lines = [line for line in lines if line.at < HANDOFF_AT]
    return lines


def run(root: Path, name: str) -> tuple[Stage, list[str]]:
    stage = Stage(root / name, PACES.get(name, 0.5))
    lines = recorded(name)
    try:
        stage.start()
        replay(stage, lines, ACTIONS.get(name, []))
        return stage, compared(stage, lines)
    finally:
        stage.stop()


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[str, Future[tuple[Stage, list[str]]]]]:
    with tempfile.TemporaryDirectory(prefix="ph") as root, ThreadPoolExecutor(len(NAMES)) as pool:
        yield {name: pool.submit(functools.partial(run, Path(root), name)) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_answers_and_events_are_those_recorded(
    outcomes: dict[str, Future[tuple[Stage, list[str]]]], name: str
) -> None:
    _, found = outcomes[name].result()
    allowed = [re.compile(pattern) for patterns in DIFFERENCES.values() for pattern in patterns]
    left = [line for line in found if not any(p.search(f"{name}:{line}") for p in allowed)]
    assert left == []
