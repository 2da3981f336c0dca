"""The workspace, the daemon and the panes around the scripted agents; used by the demo and by tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coordctl import transport
from coordctl.failures import Failure
from coordinatord import locate

WAIT_S = 30.0
LOOK_EVERY_S = 0.05


class NotAsTold(Exception):
    """A step did not happen as the demo says it does."""


class Actor:
    """One scripted agent: its pane, its orders, its log."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.pane = ""
        self.log = folder / f"{name}.log"
        self.orders = folder / f"{name}.orders"

    def order(self, do: str, **facts: str) -> None:
        """Tell it to do something."""
        with open(self.orders, "a", encoding="utf-8") as file:
            file.write(json.dumps({"do": do, **facts}) + "\n")

    def notes(self, kind: str) -> list[dict[str, Any]]:
        """What it wrote about itself, of one kind."""
        try:
            lines = self.log.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [note for note in map(json.loads, lines) if note["kind"] == kind]


class Stage:
    """A temporary workspace with a daemon of its own.

    Args:
        terminal: ``embedded`` for a pane host of its own, ``herdr`` for the one that runs already.
    """

    def __init__(self, terminal: str = "embedded", root: Path | None = None) -> None:
        self.root = root or Path(tempfile.mkdtemp(prefix="coord-demo-"))
        self.props = self.root / "props"
        self.props.mkdir(exist_ok=True)
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("COORDINATORD_", "HERDR_"))
        }
        # panes start a plain shell: what a person's own start-up files do is no part of the story
        self.environ |= {"SHELL": "/bin/sh", "HOME": str(self.props)}
        if terminal == "herdr":
            self.environ |= _way_to_herdr(os.environ)
        self._terminal = terminal
        locate.make(locate.Workspace(str(self.root), self.environ))
        self._up = False

    @classmethod
    def at(cls, root: Path) -> Stage:
        """The stage around a workspace that exists."""
        stage = cls(root=root)
        stage._up = True
        return stage

    @staticmethod
    def gone(pid: int) -> bool:
        """Has this process ended?"""
        return not _lives(pid)

    def call(self, method: str, **params: Any) -> Any:
        """One request as the operator; a daemon is started if none answers.

        Raises:
            Failure: what the daemon or the transport refused.
        """
        target = transport.Target(self.environ, directory=str(self.root))
        if self._terminal != "auto":
            target.flags = ("--terminal", self._terminal)
        self._up = True
        return transport.call(target, method, params)

    def act(self, method: str, **params: Any) -> Any:
        """A request that changes something: it has a key, so that it may be repeated."""
        return self.call(method, key=os.urandom(12).hex(), **params)

    def enter(self, name: str, *flags: str) -> Actor:
        """Open a pane and start a scripted agent in it; waits until the host shows it idle."""
        actor = Actor(self.props, name)
        files = ("--log", str(actor.log), "--orders", str(actor.orders), "--name", name)
        module = (sys.executable, "-m", "coordctl.demo.agent")
        command = ["env", "HERDR_AGENT=codex", *module, *files, *flags]
        opened = self.act("pane.open", label=name, command=command, cwd=str(self.root))
        actor.pane = opened["pane_id"]
        self.until(
            f"{name} is up", lambda: actor.notes("ready") and self.status_of(actor) == "idle"
        )
        return actor

    def connected(self) -> bool:
        """Does the terminal host answer the daemon?"""
        return bool(self.call("daemon.status")["terminal"]["connected"])

    def status_of(self, actor: Actor) -> str | None:
        """The agent's state as the terminal host reports it; None while it shows no agent."""
        for pane in self.call("pane.list")["items"]:
            if pane["pane_id"] == actor.pane and pane.get("agent"):
                return str(pane["agent_status"])
        return None

    def until(self, what: str, true: Callable[[], Any], within_s: float = WAIT_S) -> Any:
        """Wait for something that must happen; what it was.

        Raises:
            NotAsTold: it did not happen in time.
        """
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            found = true()
            if found:
                return found
            time.sleep(LOOK_EVERY_S)
        raise NotAsTold(f"waited {within_s:.0f} s in vain for this: {what}")

    def journal(self, since: int = 0) -> list[dict[str, Any]]:
        """Every journal line after a cursor."""
        target = transport.Target(self.environ, directory=str(self.root))
        lines: list[dict[str, Any]] = []
        with transport.connect(target) as connection:
            connection.send(
                transport.hello(self.environ),
                transport.request(1, "watch.subscribe", {"since": since}),
            )
            last = None
            for message in connection.messages():
                if message.get("id") == 1:
                    last = message["result"]["seq"]
                elif message.get("method") == "watch.line":
                    lines.append(message["params"])
                if last is not None and (last <= since or (lines and lines[-1]["seq"] >= last)):
                    break
        return lines

    def kill_daemon(self) -> int:
        """SIGKILL, without a warning; the pid that was killed, once it is gone."""
        pid = int(self.call("daemon.status")["pid"])
        os.kill(pid, signal.SIGKILL)
        self.until("the killed daemon is gone", lambda: not _lives(pid))
        return pid

    def close(self) -> None:
        """End daemon, host and panes, and remove the workspace."""
        try:
            if self._up:
                pid = int(self.call("daemon.status")["pid"])
                self.act("daemon.stop", panes=True)
                self.until("the daemon ended", lambda: not _lives(pid))
        except (Failure, NotAsTold, OSError) as error:
            print(f"coordctl demo: clean-up: {error}", file=sys.stderr)
        shutil.rmtree(self.root, ignore_errors=True)


def _way_to_herdr(environ: Mapping[str, str]) -> dict[str, str]:
    """What says where a Herdr listens: never which pane we are in."""
    names = ("HERDR_SOCKET_PATH", "HERDR_SESSION", "XDG_CONFIG_HOME")
    way = {name: environ[name] for name in names if environ.get(name)}
    if "HOME" in environ:  # ours is another one
        way.setdefault("XDG_CONFIG_HOME", os.path.join(environ["HOME"], ".config"))
    return way


def _lives(pid: int) -> bool:
    """Is it running? A daemon whose exit status nobody took yet is gone for everybody else."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
