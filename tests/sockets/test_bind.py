"""What may stand at the socket path, and the modes it has at every instant."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.sockets import lock as locks
from coordinatord.sockets.bind import LONGEST_PATH, BoundSocket, bind
from coordinatord.sockets.lock import Lock


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    os.umask(before)
    yield os.umask
    os.umask(before)


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(os.fspath(path))
        except OSError:
            return False
        return True


def close(bound: BoundSocket) -> None:
    bound.remove()
    bound.sock.close()


def refusal(path: Path, lock: Lock) -> Refused:
    with pytest.raises(Refused) as caught:
        bind(path, lock)
    assert str(path.parent) in caught.value.message
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_modes_are_private_whatever_the_umask(
    short: Path, lock: Lock, umask: Callable[[int], int], mask: int
) -> None:
    """G-6 (b)."""
    umask(mask)
    path = short / "run" / "a.sock"
    bound = bind(path, lock)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert connects(path)
    close(bound)
    assert not path.exists()


def test_no_instant_shows_another_mode(
    short: Path, lock: Lock, umask: Callable[[int], int]
) -> None:
    """G-6 (b): watched by a loop of stat calls under umask 000."""
    umask(0o000)
    seen: set[tuple[str, int]] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            for number in range(40):
                for name in (f"run{number}", f"run{number}/a.sock"):
                    try:
                        facts = os.lstat(short / name)
                    except OSError:
                        continue
                    kind = "socket" if stat.S_ISSOCK(facts.st_mode) else "folder"
                    seen.add((kind, stat.S_IMODE(facts.st_mode)))

    with ThreadPoolExecutor(2) as pool:
        watchers = [pool.submit(watch) for _ in range(2)]
        for number in range(40):
            bind(short / f"run{number}" / "a.sock", lock).sock.close()
        done.set()
        for watcher in watchers:
            watcher.result(timeout=5)
    assert seen == {("socket", 0o600), ("folder", 0o700)}


def test_the_socket_of_a_dead_program_is_replaced(short: Path, lock: Lock) -> None:
    """G-5 (a)."""
    path = short / "a.sock"
    bind(path, lock).sock.close()
    assert path.exists()
    assert not connects(path)
    bound = bind(path, lock)
    assert connects(path)
    close(bound)


def test_a_regular_file_is_left_byte_for_byte(short: Path, lock: Lock) -> None:
    """G-5 (b)."""
    path = short / "a.sock"
    path.write_bytes(b"precious")
    inode = path.stat().st_ino
    assert refusal(path, lock).reason == "socket-taken"
    assert (path.read_bytes(), path.stat().st_ino) == (b"precious", inode)


@pytest.mark.parametrize("backlog", [0, 16])
def test_a_program_that_listens_and_never_accepts_keeps_its_socket(
    short: Path, lock: Lock, backlog: int
) -> None:
    """G-5 (c): also with its queue full."""
    path = short / "a.sock"
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as waiting:
        other.bind(os.fspath(path))
        other.listen(backlog)
        waiting.connect(os.fspath(path))
        inode = path.stat().st_ino
        assert refusal(path, lock).reason == "socket-taken"
        assert path.stat().st_ino == inode


def test_a_datagram_socket_is_somebodys(short: Path, lock: Lock) -> None:
    path = short / "a.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(os.fspath(path))
        assert refusal(path, lock).reason == "socket-taken"
        assert path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket away")
def test_a_dead_socket_of_another_user_is_refused(short: Path, lock: Lock) -> None:
    path = short / "a.sock"
    bind(path, lock).sock.close()
    os.chown(path, 4242, -1)
    refused = refusal(path, lock)
    assert refused.reason == "socket-taken"
    assert "uid 4242" in refused.message
    assert path.exists()


@pytest.mark.parametrize("target", ["missing", "file", "socket"])
def test_a_symbolic_link_is_refused_and_its_target_untouched(
    short: Path, lock: Lock, target: str
) -> None:
    """G-5 (d): dangling, to a file elsewhere, and to a dead socket."""
    path, elsewhere = short / "a.sock", short / "elsewhere"
    if target == "file":
        elsewhere.write_bytes(b"precious")
    if target == "socket":
        bind(elsewhere, lock).sock.close()
    path.symlink_to(elsewhere)
    assert refusal(path, lock).reason == "socket-taken"
    assert path.readlink() == elsewhere
    assert elsewhere.exists() == (target != "missing")
    if target == "file":
        assert elsewhere.read_bytes() == b"precious"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_anything_else_is_refused(short: Path, lock: Lock, make: Callable[[Path], None]) -> None:
    path = short / "a.sock"
    make(path)
    mode = path.stat().st_mode
    assert refusal(path, lock).reason == "socket-taken"
    assert path.stat().st_mode == mode


def test_twenty_binds_at_one_instant_have_one_winner(short: Path) -> None:
    """G-5 (e), without even a common lock: the folder makes them take turns."""
    path = short / "run" / "a.sock"
    ready = threading.Barrier(20)

    def one(number: int) -> BoundSocket | str:
        own = locks.acquire(short / f"lock{number}")
        ready.wait(timeout=10)
        try:
            return bind(path, own)
        except Refused as refused:
            return refused.reason
        finally:
            own.release()

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(one, range(20)))
    winners = [outcome for outcome in outcomes if isinstance(outcome, BoundSocket)]
    assert len(winners) == 1
    assert outcomes.count("socket-taken") == 19
    assert winners[0].in_place()
    assert connects(path)
    close(winners[0])


def test_twenty_takers_of_one_lock_have_one_winner(short: Path) -> None:
    """G-5 (e): nineteen learn that it runs already."""
    ready = threading.Barrier(20)

    def one(_: int) -> locks.Lock | int | None:
        ready.wait(timeout=10)
        try:
            return locks.acquire(short / "lock")
        except locks.Held as held:
            return held.pid

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(one, range(20)))
    winners = [outcome for outcome in outcomes if isinstance(outcome, locks.Lock)]
    assert len(winners) == 1
    winners[0].release()


def padded(short: Path, length: int) -> Path:
    """A path of ``length`` bytes whose folder's parent exists."""
    folder = short / "d"
    folder.mkdir(mode=0o700)
    return folder / ("s" * (length - len(os.fsencode(folder)) - 1))


@pytest.mark.parametrize("length", [90, 103, 104, 107, 108, 200])
def test_a_path_is_used_up_to_the_limit_and_refused_above(
    short: Path, lock: Lock, length: int
) -> None:
    """G-6 (a): up to 107 bytes on Linux; the error names path, length and limit."""
    path = padded(short, length)
    if length <= LONGEST_PATH:
        bound = bind(path, lock)
        assert connects(path)
        close(bound)
        return
    refused = refusal(path, lock)
    assert refused.reason == "bad-setting"
    assert str(path) in refused.message
    assert f"{length} bytes" in refused.message
    assert str(LONGEST_PATH) in refused.message
    assert list(path.parent.iterdir()) == []


def test_the_limit_is_the_kernels() -> None:
    assert (103 if sys.platform == "darwin" else 107) == LONGEST_PATH


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777, 0o1777])
def test_a_folder_others_can_write_to_is_refused_with_advice(
    short: Path, lock: Lock, mode: int
) -> None:
    """G-6 (c)."""
    folder = short / "run"
    folder.mkdir()
    folder.chmod(mode)
    refused = refusal(folder / "a.sock", lock)
    assert refused.reason == "folder-unsafe"
    assert refused.hint == f"take that from them: chmod 700 {folder}"
    assert stat.S_IMODE(folder.stat().st_mode) == mode
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused_with_advice(short: Path, lock: Lock) -> None:
    """G-6 (c)."""
    folder = short / "run"
    folder.mkdir(mode=0o700)
    os.chown(folder, 4242, -1)
    refused = refusal(folder / "a.sock", lock)
    assert refused.reason == "folder-unsafe"
    assert "uid 4242" in refused.message


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_a_folder_that_others_may_only_read_is_taken(short: Path, lock: Lock, mode: int) -> None:
    """G-6 (d): too strict is a fault too; the socket's own mode keeps others out."""
    folder = short / "run"
    folder.mkdir()
    folder.chmod(mode)
    close(bind(folder / "a.sock", lock))


def test_a_linked_or_missing_place_is_refused(short: Path, lock: Lock) -> None:
    (short / "real").mkdir(mode=0o700)
    (short / "link").symlink_to(short / "real")
    assert refusal(short / "link" / "a.sock", lock).reason == "folder-unsafe"
    assert refusal(short / "no" / "no" / "a.sock", lock).reason == "folder-unsafe"


def test_a_vanished_or_replaced_file_is_noticed_and_bound_again(short: Path, lock: Lock) -> None:
    path = short / "a.sock"
    first = bind(path, lock)
    assert first.in_place()
    path.unlink()
    assert not first.in_place()
    second = bind(path, lock)
    assert second.in_place()
    assert not first.in_place()
    first.remove()
    assert connects(path)
    first.sock.close()
    close(second)


def test_nothing_is_bound_under_a_lock_that_was_taken_away(short: Path, lock: Lock) -> None:
    lock.path.unlink()
    with pytest.raises(Refused) as caught:
        bind(short / "a.sock", lock)
    assert caught.value.reason == "already-running"
    assert not (short / "a.sock").exists()
