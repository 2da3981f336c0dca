"""The runner of tool panes on a terminal of its own, with a scripted daemon."""

from __future__ import annotations

import errno
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from coordctl.demo.stage import Stage

RUN = "x-4k7q2m1x"
WAIT_S = 20.0


class Daemon:
    """Gives one command out and takes its end; ``stop`` and ``start`` again as daemons do."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.path = str(folder / "d.sock")
        self.log = folder / f"{RUN}.log"
        self.reports: queue.Queue[dict[str, Any]] = queue.Queue()
        self.claims: queue.Queue[dict[str, Any]] = queue.Queue()
        self.refuse = False
        self._command = command
        self._links: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self.start()

    def start(self) -> None:
        """Listen."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen()
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Be gone."""
        if self._listener is not None:
            os.unlink(self.path)
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for link in self._links:
            link.shutdown(socket.SHUT_RDWR)
            link.close()
        self._links.clear()

    def say(self, method: str) -> None:
        """A notification."""
        self._links[-1].sendall(json.dumps({"method": method, "params": {}}).encode() + b"\n")

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            self._links.append(link)
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        try:
            with link.makefile("rb") as lines:
                for line in lines:
                    request = json.loads(line)
                    answer = self._outcome(request["method"], request["params"])
                    link.sendall(json.dumps({"id": request["id"], **answer}).encode() + b"\n")
        except OSError:
            return

    def _outcome(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self.refuse:
            return {"error": {"code": -32000, "message": "It is over."}}
        if method == "tool.runner-done":
            self.reports.put(params)
            return {"result": {"done": True}}
        self.claims.put(params)
        given = {"run_id": RUN, "command": self._command, "cwd": "/", "environment": None}
        return {"result": {**given, "log": str(self.log), "cancelled": False}}


class Screen:
    """The pane: reads what the runner shows, unless told not to."""

    def __init__(self, daemon: Daemon) -> None:
        self.master, slave = os.openpty()
        self.size(30, 100)
        words = [daemon.path, f"{daemon.path}.none", RUN]
        self.runner = subprocess.Popen(
            [sys.executable, "-c", "from coordctl.runner import main; main()", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        self.slave = slave
        self.shown = b""
        self._wanted = threading.Event()
        self._wanted.set()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def size(self, rows: int, columns: int) -> None:
        """The person makes the pane larger or smaller."""
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def freeze(self) -> None:
        """Read nothing from now on."""
        self._wanted.clear()

    def thaw(self) -> None:
        """Read again."""
        self._wanted.set()

    def type(self, text: bytes) -> None:
        """Keys."""
        os.write(self.master, text)

    def until(self, true: Callable[[], Any]) -> None:
        """Wait, bounded."""
        Stage.until(None, "the runner did it", true, WAIT_S)  # type: ignore[arg-type]

    def close(self) -> None:
        """Everything of it is gone."""
        self.thaw()
        if self.runner.poll() is None:
            self.runner.kill()
        self.runner.wait()
        os.close(self.slave)
        self._thread.join(5)
        os.close(self.master)

    def _read(self) -> None:
        while self._wanted.wait():
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                return
            if not piece:
                return
            self.shown += piece


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., tuple[Daemon, Screen]]]:
    """Start a runner with a command."""
    made: list[tuple[Daemon, Screen]] = []

    def start(*command: str, log: Path | None = None) -> tuple[Daemon, Screen]:
        daemon = Daemon(tmp_path, list(command))
        daemon.log = log or daemon.log
        made.append((daemon, Screen(daemon)))
        return made[-1]

    yield start
    for daemon, screen in made:
        screen.close()
        daemon.stop()


Begin = Callable[..., tuple[Daemon, Screen]]


def test_it_reports_and_leaves_with_the_same_status(begin: Begin) -> None:
    daemon, screen = begin("echo out; exit 7")
    report = daemon.reports.get(timeout=WAIT_S)
    assert (report["exit_code"], report["written"]) == (7, 5)
    assert (report["hung_up"], report["alternate_screen"]) == (False, False)
    assert screen.runner.wait(WAIT_S) == 7
    screen.until(lambda: b"out\r\n" in screen.shown)
    assert daemon.log.read_bytes() == b"out\r\n"


def test_the_terminal_is_left_as_it_was(begin: Begin) -> None:
    daemon, screen = begin("stty -echo raw; kill -9 $$")
    before = termios.tcgetattr(screen.master)
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 137
    screen.runner.wait(WAIT_S)
    assert termios.tcgetattr(screen.master)[3] == before[3]
    assert termios.tcgetattr(screen.master)[3] & termios.ECHO


def test_a_new_size_reaches_the_command(begin: Begin) -> None:
    wait = "trap 'stty size; exit 0' WINCH; stty size; while :; do sleep 0.05; done"
    daemon, screen = begin(wait)
    screen.until(lambda: b"30 100" in screen.shown)
    screen.size(41, 77)
    screen.runner.send_signal(signal.SIGWINCH)  # no terminal of ours controls it
    screen.until(lambda: b"41 77" in screen.shown)
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 0


def test_a_pane_that_reads_nothing_holds_up_nothing(begin: Begin) -> None:
    """The display skips ahead when it is over 1 MB behind; log and result are whole."""
    daemon, screen = begin("read go; head -c 6000000 /dev/zero | tr '\\0' x | fold -w 79; echo end")
    daemon.claims.get(timeout=WAIT_S)
    screen.until(lambda: daemon.log.exists())
    screen.freeze()
    screen.type(b"go\r")
    report = daemon.reports.get(timeout=WAIT_S)
    assert report["exit_code"] == 0
    assert report["written"] > 6_000_000
    screen.thaw()
    screen.runner.wait(WAIT_S)
    assert daemon.log.read_bytes().endswith(b"end\r\n")
    assert b"output is not shown here" in screen.shown
    assert screen.shown.count(b"x") < 2_000_000


def test_keys_go_through_as_they_are(begin: Begin) -> None:
    """ctrl+z stops nothing, ctrl+c ends what is in front; every other byte arrives."""
    daemon, screen = begin(
        "stty raw; echo ready; head -c 5 | od -An -tx1; stty sane; echo on; sleep 99"
    )
    screen.until(lambda: b"ready" in screen.shown)
    screen.type(b"\x1a\x03\x1b\xff\x00")
    screen.until(lambda: b"1a 03 1b ff 00" in screen.shown)
    screen.until(lambda: b"on" in screen.shown)
    screen.type(b"\x1a")
    screen.until(lambda: b"^Z" in screen.shown)
    assert daemon.reports.empty()
    screen.type(b"\x03")
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 130


def test_a_cancelled_command_is_terminated(begin: Begin) -> None:
    daemon, screen = begin("trap 'exit 21' TERM; echo up; while :; do sleep 0.05; done")
    screen.until(lambda: b"up" in screen.shown)
    daemon.say("tool.cancel")
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 21


def test_it_finds_a_daemon_again_while_the_command_runs(begin: Begin) -> None:
    daemon, screen = begin("echo up; read x; exit 3")
    assert "resume" not in daemon.claims.get(timeout=WAIT_S)
    screen.until(lambda: b"up" in screen.shown)
    daemon.stop()
    daemon.start()
    assert daemon.claims.get(timeout=WAIT_S)["resume"] is True
    screen.type(b"go\r")
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 3


def test_the_status_is_held_until_somebody_took_it(begin: Begin, tmp_path: Path) -> None:
    daemon, screen = begin("echo up; read x; exit 3")
    screen.until(lambda: b"up" in screen.shown)
    daemon.stop()
    screen.type(b"go\r")
    status = tmp_path / f"{RUN}.status"
    screen.until(status.exists)
    assert json.loads(status.read_text())["exit_code"] == 3
    assert screen.runner.poll() is None
    daemon.start()
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 3
    assert screen.runner.wait(WAIT_S) == 3
    assert not status.exists()


def test_a_command_may_let_go_of_its_terminal_and_open_it_again(begin: Begin) -> None:
    """Nothing of what it writes then is lost, and it never waits for a reader."""
    again = (
        "exec </dev/null >/dev/null 2>&1; sleep 0.2; exec 3<>/dev/tty; seq 20000 >&3; echo end >&3"
    )
    daemon, screen = begin(f"{again}; read word <&3; echo $word >&3; exit 3")
    screen.until(lambda: b"end" in screen.shown)
    screen.type(b"heard\r")
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 3
    assert b"20000\r\nend\r\nheard\r\n" in daemon.log.read_bytes()


def test_no_output_holds_the_runner_up(begin: Begin) -> None:
    """Searching for full-screen drawings takes no longer for output that is made to."""
    daemon, _ = begin("printf '\\033[?'; yes '1049;' | head -200000 | tr -d '\\n'; exit 4")
    assert daemon.reports.get(timeout=WAIT_S)["exit_code"] == 4


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_who_waits_with_a_status_leaves_it_in_a_file(
    begin: Begin, tmp_path: Path, number: signal.Signals
) -> None:
    """The pane closes, or somebody has enough of it, while no daemon takes the status."""
    daemon, screen = begin("echo up; read x; exit 0")
    screen.until(lambda: b"up" in screen.shown)
    daemon.stop()
    screen.type(b"go\r")
    screen.until(lambda: b"waits here" in screen.shown)
    screen.runner.send_signal(number)
    assert screen.runner.wait(WAIT_S) == 0
    assert json.loads((tmp_path / f"{RUN}.status").read_text())["exit_code"] == 0


def test_output_that_cannot_be_kept_is_told_of(begin: Begin) -> None:
    """The log cannot be written: the code counts, and the report says why there is no output."""
    daemon, screen = begin("echo out; exit 7", log=Path("/dev/null/none.log"))
    report = daemon.reports.get(timeout=WAIT_S)
    assert (report["exit_code"], report["written"]) == (7, 5)
    assert os.strerror(errno.ENOTDIR) in report["detail"]
    screen.until(lambda: b"out" in screen.shown)


def test_a_pane_that_closes_takes_the_command_along(begin: Begin) -> None:
    daemon, screen = begin("echo $$; sleep 300")
    screen.until(lambda: b"\n" in screen.shown)
    pid = int(screen.shown.split()[0])
    screen.runner.send_signal(signal.SIGHUP)
    assert daemon.reports.get(timeout=WAIT_S)["hung_up"] is True
    screen.until(lambda: Stage.gone(pid))


def test_a_refusal_runs_nothing(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, ["touch", str(tmp_path / "victim")])
    daemon.refuse = True
    screen = Screen(daemon)
    try:
        assert screen.runner.wait(WAIT_S) == 125
        screen.until(lambda: b"It is over." in screen.shown)
        assert not (tmp_path / "victim").exists()
    finally:
        screen.close()
        daemon.stop()
