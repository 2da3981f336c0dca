"""One daemon per workspace, decided by the kernel."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coordinatord import locate
from coordinatord.daemon import instance
from coordinatord.errors import Refused

HOLDER = """
import os, sys
from coordinatord import locate
from coordinatord.daemon import instance
from coordinatord.errors import Refused
workspace = locate.Workspace(sys.argv[1], os.environ)
try:
    held = instance.begin(workspace, os.environ, os.getpid())
except Refused as refusal:
    print(refusal.reason, refusal.message, flush=True)
    sys.exit(1)
print("holds", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def workspace(tmp_path: Path, runtime_base: Path) -> locate.Workspace:
    opened = locate.Workspace(str(tmp_path), {"XDG_RUNTIME_DIR": str(runtime_base)})
    locate.make(opened)
    return opened


def environ_of(workspace: locate.Workspace) -> dict[str, str]:
    return os.environ | {"XDG_RUNTIME_DIR": str(Path(workspace.runtime).parent)}


def start(workspace: locate.Workspace) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, workspace.root],
        env=environ_of(workspace), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def first_line(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline().strip()


@contextmanager
def another_daemon(workspace: locate.Workspace) -> Iterator[subprocess.Popen[str]]:
    with start(workspace) as program:
        try:
            assert first_line(program) == "holds"
            yield program
        finally:
            program.kill()


def begin(workspace: locate.Workspace) -> instance.Instance:
    return instance.begin(workspace, {}, os.getpid())


def test_it_listens_and_says_where(workspace: locate.Workspace) -> None:
    running = begin(workspace)
    try:
        assert locate.published_socket(workspace) == str(running.path)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(running.path))
        assert running.in_place
    finally:
        running.end()
    assert not running.path.exists()
    begin(workspace).end()


@pytest.mark.parametrize("stopped", [False, True])
def test_g5_a_second_one_is_refused_naming_the_first(
    workspace: locate.Workspace, stopped: bool
) -> None:
    """G-5: also while the first is stopped, and its socket is not touched."""
    with another_daemon(workspace) as first:
        before = os.stat(workspace.socket).st_ino
        if stopped:
            first.send_signal(signal.SIGSTOP)
        with pytest.raises(Refused, match=f"pid {first.pid}") as caught:
            begin(workspace)
        assert caught.value.reason == "already-running"
        assert os.stat(workspace.socket).st_ino == before


def test_g5_after_a_kill_the_next_one_starts(workspace: locate.Workspace) -> None:
    """G-5 (a): no removal by hand."""
    with another_daemon(workspace) as first:
        first.kill()
        first.wait(timeout=10)
        begin(workspace).end()


def test_g5_twenty_starts_at_one_instant_make_one_daemon(workspace: locate.Workspace) -> None:
    """G-5 (e): nineteen say cleanly who was first."""
    programs = [start(workspace) for _ in range(20)]
    try:
        said = [first_line(program) for program in programs]
    finally:
        for program in programs:
            program.kill()
            program.communicate()
    (first,) = [each for each, line in zip(programs, said, strict=True) if line == "holds"]
    refusals = [line for line in said if line != "holds"]
    assert len(refusals) == 19
    assert {line.split()[0] for line in refusals} == {"already-running"}
    assert all(str(first.pid) in line or "another process" in line for line in refusals)


def test_when_the_file_vanishes_it_is_bound_again(workspace: locate.Workspace) -> None:
    running = begin(workspace)
    running.path.unlink()
    assert not running.in_place
    again = running.bind_again()
    try:
        assert again.in_place
        assert again.path == running.path
    finally:
        running.api.close()
        again.end()


def test_a_foreign_file_at_the_path_is_left_and_the_lock_let_go(
    workspace: locate.Workspace,
) -> None:
    """G-5 (b): refused, byte for byte; once it is moved away the daemon starts."""
    path = Path(workspace.socket)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(Refused) as caught:
        begin(workspace)
    assert caught.value.reason == "socket-taken"
    assert path.read_text() == "mine"
    path.unlink()
    begin(workspace).end()


HANDED_OVER = """
import os, sys
from coordinatord import locate
from coordinatord.daemon import instance
from coordinatord.errors import Refused
workspace = locate.Workspace(sys.argv[1], os.environ)
os.dup2(int(sys.argv[2]), 3)
environ = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
try:
    held = instance.begin(workspace, environ, os.getpid())
    print(held.path, held.bound, environ)
    held.end()
except Refused as refusal:
    print(refusal.reason)
"""


@pytest.mark.parametrize("own", [True, False])
def test_a_handed_over_socket_is_used_and_stays(workspace: locate.Workspace, own: bool) -> None:
    """G-11: the service manager's socket survives the daemon; another workspace's is refused."""
    path = Path(workspace.socket if own else workspace.panes_socket)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        told = subprocess.run(
            [sys.executable, "-c", HANDED_OVER, workspace.root, str(listening.fileno())],
            env=environ_of(workspace),
            pass_fds=[listening.fileno()],
            capture_output=True, text=True, timeout=30, check=True,
        ).stdout.strip()  # fmt: skip
    assert told == (f"{path} None {{}}" if own else "bad-setting")
    assert path.exists()
    assert (locate.published_socket(workspace) == str(path)) is own
