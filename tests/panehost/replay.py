"""Replays a recorded scenario against a real embedded host process, and compares what comes back.

Times are scaled by the stage's pace at both ends: the host and the stand-in agent are told it,
waits between requests and every ``timeout_ms`` and ``ttl_ms`` are multiplied here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[1] / "recordings" / "herdr-0.8.2"
STAND_IN = Path(__file__).parent / "codex_stand_in.py"
PATIENCE = 30.0
COLUMNS, ROWS = 93, 39


@dataclass
class Line:
    at: float
    conn: int
    dir: str
    line: Any


def read(name: str) -> list[Line]:
    """One recording."""
    [path] = RECORDINGS.glob(f"{name}-*.ndjson")
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(text)
        lines.append(Line(entry["at_ms"] / 1000, entry["conn"], entry["dir"], entry["line"]))
    return lines


@dataclass
class Client:
    """One connection: what was sent on it, and what came back line by line."""

    sock: socket.socket
    answers: list[Any] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    came: threading.Condition = field(default_factory=threading.Condition)

    def listen(self) -> None:
        with self.sock.makefile("rb") as file:
            try:
                for line in file:
                    with self.came:
                        self.answers.append(json.loads(line))
                        self.came.notify_all()
            except OSError:
                pass  # reset: something was never read, as with a second request
        with self.came:
            self.ended.set()
            self.came.notify_all()

    def wait_for(self, count: int) -> None:
        with self.came:
            self.came.wait_for(lambda: len(self.answers) >= count or self.ended.is_set(), PATIENCE)


class Stage:
    """The folders of one scenario, the host process in them, and all connections made to it."""

    def __init__(self, root: Path, pace: float) -> None:
        self.root = root
        self.pace = pace
        self.clients: dict[int, Client] = {}
        for folder in ("work/api", "work/web", "home", "bin", "orders", "run"):
            (root / folder).mkdir(parents=True)
        (root / "run").chmod(0o700)
        (root / "home/.bashrc").write_text("PS1='$ '\nunset PROMPT_COMMAND HISTFILE\n")
        text = "".join(f"demo line {n}\n" for n in range(1, 101))
        (root / "work/api/demo.txt").write_text(text)
        script = root / "bin/codex"
        body = STAND_IN.read_text(encoding="utf-8").partition("\n")[2]
        script.write_text(f"#!{os.path.realpath(sys.executable)}\n{body}", encoding="utf-8")
        script.chmod(0o755)
        # on the socket's own path: temporary folders of tests are too deep for 107 bytes
        self.socket = root / "run/s"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {
            "HOME": str(self.root / "home"),
            "PATH": f"{self.root / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "DEMO_ORDERS": str(self.root / "orders"),
            "DEMO_PACE": str(self.pace),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        flags = ["--socket", str(self.socket), "--state", str(self.root / "run/panehost.json")]
        flags += ["--log", str(self.root / "run/log"), "--cwd", str(self.root / "home")]
        flags += [
            "--pace",
            str(self.pace),
            "--resume-delay-ms",
            "2300",
            "--columns",
            str(COLUMNS),
            "--rows",
            str(ROWS),
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "coordinatord.panehost", *flags, "--quirks"],
            env=environment,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
        )
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(self.socket))
                    return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def wait_until_it_ended(self) -> None:
        assert self.process is not None
        self.process.wait(PATIENCE)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)
        for client in self.clients.values():
            client.sock.close()

    def order(self, pane: str, *words: object) -> None:
        with (self.root / "orders" / pane).open("a", encoding="utf-8") as file:
            file.write(" ".join(map(str, words)) + "\n")

    def heard(self, pane: str) -> list[dict[str, Any]]:
        path = self.root / "orders" / f"{pane}.log"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def send(self, conn: int, line: bytes) -> Client:
        client = self.clients.get(conn)
        if client is None:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(60)
            sock.connect(str(self.socket))
            client = self.clients[conn] = Client(sock)
            threading.Thread(target=client.listen, daemon=True).start()
        with contextlib.suppress(
            OSError
        ):  # the server may have closed already, as in the recording
            client.sock.sendall(line)
        return client

    def ask(self, method: str, **params: object) -> Any:
        """An unrecorded request of the test's own."""
        conn = -1 - len(self.clients)
        request = {"id": "own", "method": method, "params": params}
        client = self.send(conn, json.dumps(request).encode() + b"\n")
        client.wait_for(1)
        return client.answers[0]

    def here(self, value: Any) -> Any:
        """A recorded value with this stage's paths and pace."""
        if isinstance(value, dict):
            return {key: self._scaled(key, self.here(item)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.here(item) for item in value]
        return value.replace("/demo/", f"{self.root}/") if isinstance(value, str) else value

    def _scaled(self, key: str, value: Any) -> Any:
        outside = isinstance(value, int) and (value < 2 or value > 80_000_000 or value == 1000)
        if key == "ttl_ms" and isinstance(value, int) and not outside:
            return int(value * self.pace)
        return value

    def wire(self, request: Any) -> bytes:
        """A recorded request as bytes; a string is what was no JSON."""
        if isinstance(request, str):
            return request.encode() + b"\n"
        here = self.here(request)
        if here.get("method") not in ("agent.start", "agent.prompt") and isinstance(
            here.get("params"), dict
        ):
            timeout = here["params"].get("timeout_ms")
            if isinstance(timeout, int):
                here["params"]["timeout_ms"] = int(timeout * self.pace)
        wait = here["params"].get("wait") if isinstance(here.get("params"), dict) else None
        if isinstance(wait, dict) and "timeout_ms" in wait:
            wait["timeout_ms"] = int(wait["timeout_ms"] * self.pace)
        return json.dumps(here).encode() + b"\n"


Action = Any


def replay(stage: Stage, lines: list[Line], actions: list[tuple[float, Action]]) -> None:
    """Send what was sent, at its (scaled) distance; do what was done outside the socket."""
    pending = sorted(actions, key=lambda action: action[0])
    clock = _Clock(stage.pace, lines[0].at)
    for index, line in enumerate(lines):
        while pending and pending[0][0] <= line.at:
            at, action = pending.pop(0)
            clock.wait_until(at)
            action(stage)
        if line.dir == "request" or line.dir == "note":
            clock.wait_until(line.at)
        if line.dir == "note":
            _act_on_note(stage, line)
        elif line.dir == "request":
            before = len(stage.clients[line.conn].answers) if line.conn in stage.clients else 0
            client = stage.send(line.conn, _raw(stage, line))
            acts_at = pending[0][0] if pending else float("inf")
            if _answered_next(lines, index, acts_at):
                client.wait_for(before + 1)
        elif line.dir in ("response", "eof") and line.conn in stage.clients:
            expected = sum(
                1 for one in lines[: index + 1] if one.conn == line.conn and one.dir == "response"
            )
            stage.clients[line.conn].wait_for(expected)
    for _, action in pending:
        action(stage)
    time.sleep(0.3)


class _Clock:
    """Recorded time, scaled: distances are kept, and what came late is not made up for."""

    def __init__(self, pace: float, begins: float) -> None:
        self._pace = pace
        self._recorded = begins
        self._here = time.monotonic()

    def wait_until(self, recorded: float) -> None:
        target = self._here + max(0.0, recorded - self._recorded) * self._pace
        time.sleep(max(0.0, target - time.monotonic()))
        self._here = time.monotonic()
        self._recorded = max(self._recorded, recorded)


def _raw(stage: Stage, line: Line) -> bytes:
    special = _ODD_LINES.get(line.conn) if isinstance(line.line, str) else None
    return special if special is not None else stage.wire(line.line)


_ODD_LINES = {
    73: b'{"id":"slow","me',
    74: b'{"id":"slow","me',
    75: b'{"id":"noeol","method":"ping","params":{}}',
}


def _act_on_note(stage: Stage, line: Line) -> None:
    client = stage.clients.get(line.conn)
    if client is None:
        return
    if "half-closed" in line.line:
        client.sock.shutdown(socket.SHUT_WR)
    elif "client closed" in line.line:
        with contextlib.suppress(OSError):  # closed by the server already
            client.sock.shutdown(socket.SHUT_RDWR)


def _answered_next(lines: list[Line], index: int, acts_at: float) -> bool:
    """Was the answer there before anything else was done?"""
    conn = lines[index].conn
    for line in lines[index + 1 :]:
        if line.dir in ("request", "note") or line.at >= acts_at:
            return False
        if line.conn == conn and line.dir in ("response", "eof"):
            return True
    return False


# comparing

_TYPE_ONLY = {
    "version", "message", "pid", "shell_pid", "foreground_process_group_id", "rect", "area",
    "scroll", "explain",
}  # fmt: skip
"""Keys whose values cannot be the same: their presence and type count."""


class Comparison:
    """Differences between what was recorded and what came, as lines of text."""

    def __init__(self, root: str) -> None:
        self.found: list[str] = []
        self._root = root
        self._terminals: dict[str, str] = {}

    def compare(self, where: str, recorded: Any, came: Any, key: str = "") -> None:
        if key in _TYPE_ONLY:
            if type(recorded) is not type(came):
                self._note(where, recorded, came)
        elif isinstance(recorded, dict) and isinstance(came, dict):
            self._fields(where, recorded, came)
        elif isinstance(recorded, list) and isinstance(came, list):
            if len(recorded) != len(came):
                self._note(f"{where}.length", len(recorded), len(came))
            for index, (one, other) in enumerate(zip(recorded, came, strict=False)):
                self.compare(f"{where}[{index}]", one, other, key)
        elif not self._same(key, recorded, came):
            self._note(where, recorded, came)

    def _fields(self, where: str, recorded: dict[str, Any], came: dict[str, Any]) -> None:
        for name in sorted(recorded.keys() | came.keys()):
            if name not in came:
                self._note(f"{where}.{name}", recorded[name], "<absent>")
            elif name not in recorded:
                self._note(f"{where}.{name}", "<absent>", came[name])
            else:
                self.compare(f"{where}.{name}", recorded[name], came[name], name)

    def _same(self, key: str, recorded: Any, came: Any) -> bool:
        if key == "terminal_id":
            return self._terminals.setdefault(recorded, came) == came
        if isinstance(recorded, float) and isinstance(came, float):
            return abs(recorded - came) < 0.001
        return bool(recorded == self._there(came)) and type(recorded) is type(came)

    def _there(self, came: Any) -> Any:
        if not isinstance(came, str):
            return came
        came = came.replace(os.path.realpath(sys.executable), "/usr/bin/python3")
        return came.replace(self._root, "/demo")

    def _note(self, where: str, recorded: Any, came: Any) -> None:
        self.found.append(f"{where}: recorded {short(recorded)}, came {short(came)}")


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 160 else f"{text[:110]}…{text[-45:]}"


def by_connection(lines: list[Line]) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """Each connection with its recorded answers and its recorded events."""
    for conn in sorted({line.conn for line in lines if line.dir in ("response", "event")}):
        mine = [line for line in lines if line.conn == conn]
        yield (
            conn,
            [line.line for line in mine if line.dir == "response"],
            [line.line for line in mine if line.dir == "event"],
        )


def compared(stage: Stage, lines: list[Line]) -> list[str]:
    """All differences of one scenario: answers in order, events in order within their kind."""
    comparison = Comparison(str(stage.root))
    for conn, answers, events in by_connection(lines):
        client = stage.clients.get(conn)
        came = list(client.answers) if client else []
        came_answers = [one for one in came if "event" not in one]
        comparison.compare(f"{conn}", answers, came_answers)
        for name in sorted({event["event"] for event in [*events, *came] if "event" in event}):
            comparison.compare(
                f"{conn}*{name}",
                [event["data"] for event in events if event["event"] == name],
                [event["data"] for event in came if event.get("event") == name],
            )
    return comparison.found


def kill_shell(pane: str) -> Action:
    """The shell of a pane is killed, as the recording's script did."""

    def act(stage: Stage) -> None:
        answer = stage.ask("pane.process_info", pane_id=pane)
        os.kill(answer["result"]["process_info"]["shell_pid"], signal.SIGKILL)

    return act
