"""`coordctl demo --terminal herdr`: in a Herdr that runs already and that a person looks at.

An embedded host that does not say what it is stands in for the Herdr, once faithful and once with a
Herdr's losses and replays.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories.door import Door

WITHIN_S = 120
UNFOCUSED = ("workspace.create", "tab.create", "pane.split")
ELSEWHERE = (".focus", "server.stop", "workspace.close", "tab.close", "workspace.rename")


class Herdr:
    """The stand-in, with a person's workspace in it."""

    def __init__(self, base: Path, *flags: str) -> None:
        self.folder = base / "herdr"
        self.folder.mkdir()
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HERDR_", "COORDINATORD_"))
        }
        self.environ |= {"XDG_RUNTIME_DIR": str(base), "SHELL": "/bin/sh"}
        self._socket = str(self.folder / "host.sock")
        command = [sys.executable, "-m", "coordinatord.panehost", *flags]
        places = {"socket": self._socket, "state": "state.json", "log": "log", "cwd": ""}
        for name, place in places.items():
            command += [f"--{name}", str(self.folder / place)]
        self._process = subprocess.Popen(command, env=self.environ, stdin=subprocess.DEVNULL)
        self._wait_for_socket()
        self.door = Door(base / "door.sock", self._socket)
        self.environ["HERDR_SOCKET_PATH"] = str(self.door.path)
        made = self.ask("workspace.create", label="mine", cwd=str(self.folder), focus=True)
        self.pane = str(made["root_pane"]["pane_id"])

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """One request, past the door."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._socket)
            line = json.dumps({"id": "t", "method": method, "params": params})
            connection.sendall(line.encode() + b"\n")
            result: dict[str, Any] = json.loads(connection.makefile().readline())["result"]
        return result

    def seen(self) -> dict[str, Any]:
        """All that a person would notice: what there is, and where the focus is."""
        snapshot = self.ask("session.snapshot")["snapshot"]
        changing = ("revision", "state_change_seq", "terminal_title", "terminal_title_stripped")
        return {
            kind: [
                {name: value for name, value in each.items() if name not in changing}
                for each in snapshot[kind]
            ]
            for kind in ("workspaces", "tabs", "panes")
        }

    def close(self) -> None:
        """End it."""
        self.door.close()
        self._process.terminate()
        self._process.wait(20)

    def _wait_for_socket(self) -> None:
        deadline = time.monotonic() + 20
        while not os.path.exists(self._socket):
            assert time.monotonic() < deadline
            time.sleep(0.02)


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
    deadline = time.monotonic() + WITHIN_S
    while not done.exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
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
    assert "the terminal host answers" in done.stdout
