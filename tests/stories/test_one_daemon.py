"""One daemon per workspace, whatever is started, stopped or in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from coordctl import transport
from coordctl.demo.stage import Stage
from coordctl.failures import Failure
from coordinatord import locate


def _start(stage: Stage) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "coordinatord", "-C", str(stage.root), "--terminal", "embedded"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=stage.environ,
    )


def test_a_second_daemon_is_refused_at_once_and_names_the_first(stage: Stage) -> None:
    """G-5: also while the first one is stopped; its socket stays the same file."""
    status = stage.call("daemon.status")
    pid, inode = status["pid"], os.stat(status["socket"]).st_ino
    for stopped in (False, True):
        if stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            second = _start(stage)
            out, err = second.communicate(timeout=20)
            assert second.returncode == 1, out + err
            assert f"pid {pid}" in err
            assert os.stat(status["socket"]).st_ino == inode
        finally:
            os.kill(pid, signal.SIGCONT)
    assert stage.call("daemon.status")["pid"] == pid


def test_a_stopped_daemon_lets_clients_end_with_status_3(stage: Stage) -> None:
    """Interfaces, exit codes: no answer within 15 seconds of silence is 3, not for ever."""
    pid = stage.call("daemon.status")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "coordctl", "-C", str(stage.root), "status"],
            capture_output=True,
            text=True,
            env=stage.environ,
            timeout=40,
            check=False,
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 3
    assert "not answer" in done.stderr


def test_twenty_starts_at_one_instant_make_one_daemon(stage: Stage) -> None:
    """G-5 (e): nineteen say that one runs already."""
    started = [_start(stage) for _ in range(20)]
    pid = stage.until("one answers", lambda: _answering(stage), within_s=120)
    errors = []
    for each in started:
        if each.pid != pid:
            errors.append(each.communicate(timeout=120)[1])
            assert each.returncode == 1
    assert len(errors) == 19
    assert all("runs already" in error for error in errors)
    winner = next(each for each in started if each.pid == pid)
    stage.act("daemon.stop", panes=True)
    winner.communicate(timeout=20)
    assert winner.returncode == 0


def test_a_killed_daemon_is_replaced_without_help(stage: Stage) -> None:
    """G-5 (a): the stale socket of a dead daemon is no obstacle; the panes live on."""
    pane = stage.act("pane.open", label="kept")["pane_id"]
    before = {each["pane_id"]: each["terminal_id"] for each in stage.call("pane.list")["items"]}
    killed = stage.kill_daemon()
    assert stage.call("daemon.status")["pid"] != killed
    after = {each["pane_id"]: each["terminal_id"] for each in stage.call("pane.list")["items"]}
    assert after == before
    assert pane in after


def test_down_leaves_the_panes_and_down_with_panes_ends_them(stage: Stage) -> None:
    """Stopping the daemon never touches the pane host; ``--panes`` ends it, and leaves no launcher."""
    launcher = Path(locate.find(stage.environ, str(stage.root)).launcher)
    stage.act("pane.open", label="kept")
    launcher.touch(0o700)
    first = stage.call("daemon.status")["pid"]
    hosts = _hosts(stage)
    assert len(hosts) == 1
    stage.act("daemon.stop")
    stage.until("the daemon ended", lambda: not psutil.pid_exists(first) or stage.gone(first))
    assert _hosts(stage) == hosts
    assert launcher.exists()
    stage.act("daemon.stop", panes=True)
    stage.until("the host ended", lambda: not _hosts(stage))
    stage.until("the launcher is gone", lambda: not launcher.exists())


def _answering(stage: Stage) -> int | None:
    """The daemon that answers, without starting one more."""
    target = transport.Target(stage.environ, directory=str(stage.root), start=False)
    try:
        return int(transport.call(target, "daemon.status", {})["pid"])
    except Failure:
        return None


def _hosts(stage: Stage) -> list[int]:
    return [
        each.pid
        for each in psutil.process_iter(["cmdline"])
        if "coordinatord.panehost" in (each.info["cmdline"] or [])
        and any(str(stage.root) in word for word in each.info["cmdline"])
    ]
