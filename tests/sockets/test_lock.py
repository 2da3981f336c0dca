"""The kernel lock: who holds it, and what may stand at its path."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.sockets import lock as locks

HOLDER = """
import sys, pathlib
from coordinatord.sockets import lock
held = lock.acquire(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_taker_learns_who_holds_it(short: Path) -> None:
    path = short / "lock"
    held = locks.acquire(path)
    with pytest.raises(locks.Held) as caught:
        locks.acquire(path)
    assert caught.value.pid == os.getpid() == locks.holder(path)
    held.release()
    assert locks.holder(path) is None
    assert path.read_bytes() == b""
    locks.acquire(path).release()


def test_a_killed_holder_leaves_the_lock_free(short: Path) -> None:
    """G-5 (a): SIGKILL needs no manual removal."""
    path = short / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        assert locks.holder(path) == child.pid
        child.send_signal(signal.SIGKILL)
    inode = path.stat().st_ino
    held = locks.acquire(path)
    assert path.stat().st_ino == inode
    assert path.read_text() == f"{os.getpid()}\n"
    held.release()


def test_nobody_holds_a_lock_that_is_not_there(short: Path) -> None:
    assert locks.holder(short / "lock") is None
    assert not (short / "lock").exists()


def test_a_lock_file_that_was_replaced_is_noticed(short: Path) -> None:
    held = locks.acquire(short / "lock")
    assert held.in_place()
    (short / "lock").unlink()
    assert not held.in_place()
    (short / "lock").write_text("")
    assert not held.in_place()
    held.release()


@pytest.mark.parametrize("kind", ["symlink", "dangling", "fifo", "folder"])
def test_only_a_regular_file_is_taken_for_a_lock(short: Path, kind: str) -> None:
    path, other = short / "lock", short / "other"
    other.write_text("keep")
    match kind:
        case "symlink":
            path.symlink_to(other)
        case "dangling":
            path.symlink_to(short / "nothing")
        case "fifo":
            os.mkfifo(path)
        case _:
            path.mkdir()
    with pytest.raises(Refused) as caught:
        locks.acquire(path)
    assert caught.value.reason == "folder-unsafe"
    assert str(path) in caught.value.message
    assert other.read_text() == "keep"
    assert not (short / "nothing").exists()
