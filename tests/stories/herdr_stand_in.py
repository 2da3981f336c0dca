"""A stand-in for a Herdr that a person uses: an embedded host that does not say what it is."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.stories.door import Door


def until_there(path: Path, within_s: float) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + within_s
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.02)


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
        until_there(Path(self._socket), 20)
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
