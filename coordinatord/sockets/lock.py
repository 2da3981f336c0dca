"""The kernel lock that decides who serves a workspace; the socket file never does.

A lock file is made once and never deleted: a deleted one would leave its holder with a lock that
nobody else can see. A holder that is alive and slow still holds it; one that died, however it died,
does not.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Final

from coordinatord.errors import Refused

_TRIES: Final = 4
_PAUSE: Final = 0.002
"""Seconds between tries: `holder` itself takes the lock for microseconds."""


class Held(Exception):
    """Another process holds the lock. ``pid`` is None if it did not write it (yet)."""

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__(f"{path} is held by {'another process' if pid is None else f'pid {pid}'}")
        self.path = path
        self.pid = pid


class Lock:
    """A lock that is held until `release` or the end of this process. Made by `acquire`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def in_place(self) -> bool:
        """Is the file at the path still the locked one? If not, another daemon may start."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.lstat(self.path))
        except OSError:
            return False

    def release(self) -> None:
        """Let go; the file stays, empty."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def acquire(path: Path) -> Lock:
    """Take the lock and write our pid into the file, for the message that others show.

    Raises:
        Held: somebody else has it.
        Refused: ``folder-unsafe``: what stands at the path is not a file of ours.
        OSError: the file cannot be made.
    """
    descriptor = _open(path)
    try:
        if not _lock(descriptor):
            raise Held(path, _written_pid(descriptor))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        return Lock(path, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def holder(path: Path) -> int | None:
    """The pid of who holds the lock now; 0 if it did not write it; None if nobody does.

    Raises:
        Refused: ``folder-unsafe``: what stands at the path is not a file of ours.
    """
    try:
        descriptor = _open(path, create=False)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _written_pid(descriptor) or 0
    else:
        return None
    finally:
        os.close(descriptor)


def _open(path: Path, *, create: bool = True) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT if create else 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _unsafe(path, "is not a regular file") from None
        raise
    facts = os.fstat(descriptor)
    wrong = "is not a regular file" if not stat.S_ISREG(facts.st_mode) else ""
    if not wrong and facts.st_uid != os.geteuid():
        wrong = f"belongs to uid {facts.st_uid}"
    if wrong:
        os.close(descriptor)
        raise _unsafe(path, wrong)
    return descriptor


def _lock(descriptor: int) -> bool:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _written_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 20, 0).strip()
    return int(text) if text.isdigit() else None


def _unsafe(path: Path, wrong: str) -> Refused:
    return Refused("folder-unsafe", f"{path} {wrong}", "move it away and start again")
