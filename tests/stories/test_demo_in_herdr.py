"""`coordctl demo --terminal herdr`: in a Herdr that runs already and that a person looks at.

An embedded host that does not say what it is stands in for the Herdr, once faithful and once with a
Herdr's losses and replays.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories.herdr_stand_in import Herdr, until_there

WITHIN_S = 120
UNFOCUSED = ("workspace.create", "tab.create", "pane.split")
ELSEWHERE = (".focus", "server.stop", "workspace.close", "tab.close", "workspace.rename")


@pytest.fixture(params=[(), ("--quirks",)], ids=["faithful", "quirks"])
def herdr(request: pytest.FixtureRequest, runtime_base: Path) -> Iterator[Herdr]:
    """A Herdr."""
    made = Herdr(runtime_base, *request.param)
    yield made
    made.close()


def nothing_else_was_touched(herdr: Herdr, before: dict[str, Any]) -> None:
    """Everything is as before, and no request could have moved the focus or ended anything else."""
    assert herdr.seen() == before
    for method in UNFOCUSED:
        assert not any(asked.get("focus") for asked in herdr.door.asked(method)), method
    methods = {each["method"] for each in herdr.door.requests}
    assert not [method for method in methods if method.endswith(ELSEWHERE)]
    for asked in herdr.door.asked("pane.close"):
        assert asked["pane_id"] != herdr.pane


def test_from_outside(herdr: Herdr) -> None:
    """Started in an ordinary terminal; the way to the Herdr is in the environment."""
    before = herdr.seen()
    done = subprocess.run(
        [sys.executable, "-m", "coordctl", "demo", "--terminal", "herdr"],
        env=herdr.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in your Herdr" in done.stdout
    assert done.stderr == ""
    assert len(herdr.door.asked("workspace.create")) == 1
    nothing_else_was_touched(herdr, before)


def test_from_a_pane(herdr: Herdr) -> None:
    """Started by a person in a pane of that Herdr: its panes stand apart all the same."""
    done = herdr.folder / "done"
    words = f"{sys.executable} -m coordctl demo --terminal herdr > {herdr.folder}/out 2>&1"
    line = (
        f"HERDR_SOCKET_PATH={herdr.door.path} {words}; echo $? > {done}.part; mv {done}.part {done}"
    )
    before = herdr.seen()
    herdr.ask("pane.send_input", pane_id=herdr.pane, text=line, keys=["Enter"])
    until_there(done, WITHIN_S)
    assert done.read_text().strip() == "0", (herdr.folder / "out").read_text()
    assert len(herdr.door.asked("workspace.create")) == 1
    nothing_else_was_touched(herdr, before)


def test_no_herdr_there(runtime_base: Path) -> None:
    """It says so, and does not take another host instead."""
    environ = {
        **os.environ,
        "XDG_RUNTIME_DIR": str(runtime_base),
        "HERDR_SOCKET_PATH": str(runtime_base / "none.sock"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "coordctl", "demo", "--terminal", "herdr"],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 1
    assert "a running Herdr answers" in done.stdout
    assert "without --terminal" in done.stdout
