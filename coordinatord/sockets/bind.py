"""Binds a Unix socket that is private from its first instant, and takes nobody else's place.

Invariant: only a socket of ours that nobody listens on is ever replaced, and only by the holder of
a lock; everything else at the path is refused and left byte for byte. anyio's
``create_unix_listener`` is not used: it unlinks whatever socket is there, and sets the mode after
binding.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coordinatord.errors import Refused
from coordinatord.sockets.folder import ensure_private
from coordinatord.sockets.lock import Lock

LONGEST_PATH: Final = 103 if sys.platform == "darwin" else 107
"""Bytes of a socket path that the kernel takes, its closing NUL not counted."""

_BACKLOG: Final = 1024
_PROBE_LIMIT: Final = 0.5
"""Seconds in which a listening program's kernel queue takes a connection; it need not accept it."""
_TURN_LIMIT: Final = 5.0
"""Seconds to wait while others bind in the same folder, each for about a millisecond."""
_TURN_PAUSE: Final = 0.002
_UMASK_GUARD: Final = threading.Lock()

_KINDS: Final = {
    stat.S_IFREG: "a regular file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class BoundSocket:
    """A listening socket and the file by which it is found."""

    sock: socket.socket
    path: Path
    device: int
    inode: int

    def in_place(self) -> bool:
        """Is the file at the path still ours? If not, nobody finds us: bind again."""
        try:
            facts = os.lstat(self.path)
        except OSError:
            return False
        return (facts.st_dev, facts.st_ino) == (self.device, self.inode)

    def remove(self) -> None:
        """Remove the file if it is still ours; whoever listens on the socket closes it."""
        if self.in_place():
            with contextlib.suppress(FileNotFoundError):
                self.path.unlink()


def bind(path: Path, lock: Lock) -> BoundSocket:
    """Bind and listen at ``path``: mode 0600, in a new folder of mode 0700, at every instant.

    Blocks for about a millisecond. ``lock`` shows that the caller may replace a dead daemon's
    socket.

    Raises:
        Refused: ``socket-taken`` (something else is there), ``folder-unsafe``, ``bad-setting`` (the
            path is too long).
    """
    _check_length(path)
    if not lock.in_place():
        raise Refused("already-running", f"the lock {lock.path} was taken away")
    ensure_private(path.parent)
    with _turn_in(path.parent):
        _make_room(path)
        return _bind_at(path)


def _check_length(path: Path) -> None:
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        message = f"the socket path {path} has {length} bytes; {LONGEST_PATH} are possible"
        raise Refused("bad-setting", message, "set XDG_RUNTIME_DIR or --socket to a shorter one")


@contextlib.contextmanager
def _turn_in(folder: Path) -> Iterator[None]:
    """One at a time in a folder, lest a socket about to listen be taken for dead."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + _TURN_LIMIT
        while not _locked(descriptor):
            if time.monotonic() > deadline:
                raise Refused("socket-taken", f"another program keeps the folder {folder} locked")
            time.sleep(_TURN_PAUSE)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make_room(path: Path) -> None:
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(facts.st_mode):
        raise _taken(path, _KINDS.get(stat.S_IFMT(facts.st_mode), "something else"))
    if facts.st_uid != os.geteuid():
        raise _taken(path, f"a socket of uid {facts.st_uid}")
    if _is_listened_on(path):
        raise _taken(path, "a socket on which another program listens")
    if os.path.samestat(facts, os.lstat(path)):
        path.unlink()


def _is_listened_on(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_LIMIT)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # not a stream socket, not permitted, its queue is full: taken
        return True


def _bind_at(path: Path) -> BoundSocket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind_privately(sock, path)
        sock.setblocking(False)
        sock.listen(_BACKLOG)
        facts = os.lstat(path)
        return BoundSocket(sock, path, facts.st_dev, facts.st_ino)
    except OSError as problem:
        sock.close()
        if problem.errno == errno.EADDRINUSE:
            raise _taken(path, "something new") from None
        raise
    except BaseException:
        sock.close()
        raise


def _bind_privately(sock: socket.socket, path: Path) -> None:
    """Linux gives the file the mode of the unbound socket; elsewhere only the umask decides it."""
    if sys.platform == "linux":
        os.fchmod(sock.fileno(), 0o600)
        sock.bind(os.fspath(path))
        return
    with _UMASK_GUARD:
        before = os.umask(0o177)
        try:
            sock.bind(os.fspath(path))
        finally:
            os.umask(before)


def _taken(path: Path, what: str) -> Refused:
    message = f"at the socket path {path} stands {what}; it was left as it is"
    return Refused("socket-taken", message, "move it away, or name another path with --socket")
