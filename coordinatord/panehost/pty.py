"""A pseudo-terminal and the process that lives in it.

The child is made with ``posix_spawn``: nothing of ours runs between fork and exec, so threads do no
harm. It leads a session of its own and opens the terminal as its first act there, which makes that
its controlling terminal (job control works). Signals that this process ignores or blocks are put
back to their defaults.
Invariant: a child gets the terminal as descriptors 0, 1 and 2 and no other descriptor.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Mapping, Sequence
from typing import Final

import anyio
import anyio.to_thread

READ_SIZE: Final = 65536
"""What one read may return; the kernel gives at most 4 KiB of a terminal's output at a time."""

_HIGHEST_INHERITED: Final = 1024
"""Where the search for inherited descriptors ends: asking for each costs half a microsecond."""

_SHIM: Final = 'cd -- "$0" 2>/dev/null || cd; unset OLDPWD; exec "$@"'
"""posix_spawn knows no working directory. A folder that is gone is no error: home is taken."""

_DEFAULTED: Final = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGTERM,
    signal.SIGCHLD,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXFSZ,
    signal.SIGWINCH,
)


class Pty:
    """The master side of a pseudo-terminal, and its child."""

    def __init__(self, master: int, pid: int) -> None:
        self.pid = pid
        self._master: int | None = master
        self._status: int | None = None
        self._reaped = False
        self.at_end = False
        """All output was read: the last of the other side is closed."""
        self.drained = False
        """The last read found nothing."""

    @classmethod
    def spawn(
        cls, argv: Sequence[str], cwd: str, env: Mapping[str, str], columns: int, rows: int
    ) -> Pty:
        """Open a terminal of the given size and start ``argv`` in it.

        Raises:
            OSError: no terminal or process could be made. A program that does not exist is no
                error here: the child says so on its terminal and ends with 127.
        """
        master, slave = os.openpty()
        try:
            set_size(master, columns, rows)
            os.set_blocking(master, False)
            pid = os.posix_spawn(
                "/bin/sh",
                ["/bin/sh", "-c", _SHIM, cwd, *argv],
                dict(env),
                file_actions=_descriptors(os.ttyname(slave)),
                setsid=True,
                setsigmask=(),
                setsigdef=_DEFAULTED,
            )
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        return cls(master, pid)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._master is None

    @property
    def descriptor(self) -> int:
        """The master's descriptor, -1 once closed."""
        return -1 if self._master is None else self._master

    def read_nowait(self) -> bytes | None:
        """What the child wrote: None if there is nothing now, ``b""`` at the end."""
        self.drained = False
        try:
            data = os.read(self.descriptor, READ_SIZE)
        except BlockingIOError:
            self.drained = True
            return None
        except OSError as error:
            if error.errno in (
                errno.EIO,
                errno.EBADF,
            ):  # Linux: the last slave descriptor was closed
                self.at_end = True
                return b""
            raise
        self.at_end = not data
        return data

    def write_nowait(self, data: bytes) -> int:
        """How many bytes the terminal took; 0 if it takes none now.

        Raises:
            OSError: the other side is gone.
        """
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:
            return 0

    async def wait_readable(self) -> None:
        """Until there is something to read, or the end."""
        await anyio.wait_readable(self.descriptor)

    async def wait_writable(self) -> None:
        """Until the terminal takes input again."""
        await anyio.wait_writable(self.descriptor)

    async def wait_exit(self) -> int | None:
        """Until the child has ended; its status as `status` gives it. One waiter at a time."""
        if self._reaped:
            return self._status
        if hasattr(os, "pidfd_open"):
            await _ended_by_descriptor(self.pid)
        else:
            await anyio.to_thread.run_sync(_ended_by_waiting, self.pid, abandon_on_cancel=True)
        self.reap()
        return self._status

    @property
    def status(self) -> int | None:
        """Exit status, negative for a signal; None while it lives or if another collected it."""
        return self._status

    def reap(self) -> bool:
        """Collect the child if it has ended; whether it has."""
        if not self._reaped:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._reaped = True
            else:
                if pid:
                    self._reaped = True
                    self._status = os.waitstatus_to_exitcode(status)
        return self._reaped

    def resize(self, columns: int, rows: int) -> None:
        """Tell the terminal its size; the foreground group gets SIGWINCH."""
        if self._master is not None:
            set_size(self._master, columns, rows)

    def close(self) -> None:
        """Close the master: the session's foreground group is hung up. Idempotent."""
        master, self._master = self._master, None
        if master is not None:
            os.close(master)


def set_size(terminal: int, columns: int, rows: int) -> None:
    """Set the window size of a terminal in characters."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _descriptors(terminal: str) -> list[tuple[int, ...] | tuple[int, int, str, int, int]]:
    """The terminal on 0, 1 and 2; everything else that would be inherited is closed."""
    return [
        (os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
        *((os.POSIX_SPAWN_CLOSE, number) for number in _inheritable()),
    ]


def _inheritable() -> list[int]:
    """Descriptors that came to this process from outside and would go on to a child.

    Python's own are never inherited; those that a shell or a service manager hands down are low.
    """
    return [number for number in range(3, _HIGHEST_INHERITED) if _goes_on(number)]


def _goes_on(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


async def _ended_by_descriptor(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _ended_by_waiting(pid: int) -> None:
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return
