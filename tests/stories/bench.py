"""The cases' bench on the embedded host: a workspace, and fake agents in its panes."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from coordctl.demo.stage import Stage
from tests.stories.told import attempts

AGENT = Path(__file__).parent.parent / "cases" / "fake_agent.py"


def wait_answering(stage: Stage, seconds: float) -> list[float]:
    """Ask for the status all the time; how long each answer took."""
    took, ends = [], time.monotonic() + seconds
    while time.monotonic() < ends:
        began = time.monotonic()
        stage.call("daemon.status")
        took.append(time.monotonic() - began)
        time.sleep(0.05)
    return sorted(took)


class Attached:
    """A person's terminal of some width at a pane of the embedded host."""

    def __init__(self, stage: Stage, pane: str, columns: int, rows: int = 30) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(stage.call("daemon.status")["terminal"]["socket"])
        params = {"pane_id": pane, "columns": columns, "rows": rows}
        self._write({"id": "1", "method": "coordinatord.pane.attach", "params": params})
        self.shown = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def resize(self, columns: int, rows: int = 30) -> None:
        """The person makes the window this big."""
        self._write({"resize": [columns, rows]})

    def type(self, keys: str) -> None:
        """The person presses keys."""
        self._write({"input": keys})

    def close(self) -> None:
        """The person goes away; the pane gets its usual size back."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(5)
        self._socket.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps(line).encode() + b"\n")

    def _read(self) -> None:
        while chunk := self._socket.recv(65536):
            self.shown = (self.shown + chunk)[-100_000:]


class Fake:
    """One fake agent: its pane, its orders, its log."""

    def __init__(self, stage: Stage, name: str = "a") -> None:
        self.stage = stage
        self.log = stage.props / f"{name}.log"
        self.orders = stage.props / f"{name}.ctl"
        self.orders.touch()
        command = ["env", "HERDR_AGENT=generic", sys.executable, str(AGENT)]
        opened = stage.act(
            "pane.open",
            label=name,
            command=[*command, str(self.log), str(self.orders)],
            cwd=str(stage.root),
        )
        self.pane = str(opened["pane_id"])
        stage.until(f"{name} is idle", lambda: self.notes("start") and self.status == "idle")

    @property
    def status(self) -> str | None:
        """The state that the host reports."""
        for pane in self.stage.call("pane.list")["items"]:
            if pane["pane_id"] == self.pane and pane.get("agent"):
                return str(pane["agent_status"])
        return None

    def order(self, do: str, **facts: Any) -> None:
        """Tell it to do something."""
        with open(self.orders, "a", encoding="utf-8") as file:
            file.write(json.dumps({"do": do, **facts}) + "\n")

    def notes(self, *kinds: str) -> list[dict[str, Any]]:
        """What it noted, of these kinds."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [note for note in map(json.loads, lines) if note["kind"] in kinds]

    def send(self, text: str) -> str:
        """A message of the operator, typed as it is; its id."""
        return str(self.stage.act("message.send", to=self.pane, text=text, inline=True)["id"])

    def state(self, message: str) -> dict[str, Any]:
        """The message's state."""
        state: dict[str, Any] = self.stage.call("record.show", id=message)["state"]
        return state

    def why(self, message: str) -> dict[str, Any]:
        """What `coordctl why` says."""
        answer: dict[str, Any] = self.stage.call("record.why", id=message)
        return answer

    def until_held(self, message: str, reason: str) -> dict[str, Any]:
        """Wait until the message is held for this reason; what `why` says then."""
        self.stage.until(f"held: {reason}", lambda: self.why(message).get("held") == reason)
        return self.why(message)

    def until_submitted(self, message: str, within_s: float = 10.0) -> dict[str, Any]:
        """Wait until the agent has the text and the record says so; the receipt. Its hash is right."""
        self.stage.until("submitted", lambda: self.state(message)["kind"] == "delivered", within_s)
        receipt = self.state(message)
        assert receipt["sha256"] in [note["sha256"] for note in self.notes("submit")]
        return receipt

    def wait_quietly(self, seconds: float) -> None:
        """Let time pass in which nothing may be typed."""
        typed = ("submit", "queued", "dialog_key", "lost_text", "swallowed", "empty_submit")
        before = self.notes(*typed)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.notes(*typed) == before
            time.sleep(0.1)

    def never(self, *kinds: str) -> None:
        """None of this was ever noted."""
        assert self.notes(*kinds) == []

    def attempts(self) -> list[dict[str, Any]]:
        """Every attempt there was."""
        return attempts(self.stage)
