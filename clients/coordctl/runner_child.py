"""The command of a tool run: a process that leads a session on a terminal of its own."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import struct
import sys
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Final

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_PANES_OWN: Final = frozenset(
    b"TERM COLORTERM TERM_PROGRAM TERM_PROGRAM_VERSION VTE_VERSION WINDOWID"
    b" TMUX TMUX_PANE STY COORDINATORD_TOKEN".split()
)
"""What tells of the terminal, or of who sits in it: the pane's value counts, not the caller's."""
_NEVER: Final = frozenset((b"LINES", b"COLUMNS"))


class CannotStart(Exception):
    """The command could not be started, with a sentence."""


class Child:
    """The running command and the master side of its terminal, which does not block.

    The other side stays open as long as the command runs: one that closes its own and opens
    ``/dev/tty`` later finds its terminal as it was.
    """

    def __init__(self, pid: int, master: int, slave: int) -> None:
        self.pid = pid
        self.master = master
        self._slave = slave
        self.exit_code: int | None = None
        """128 + N for signal N, as shells say it."""

    def collect(self) -> bool:
        """Take the exit status if it has ended; whether it has."""
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self.exit_code = code if code >= 0 else 128 - code
                os.close(self._slave)
        return self.exit_code is not None

    def signal(self, number: int) -> None:
        """Send a signal to what is in front and to the command itself."""
        groups = {self.pid}
        with contextlib.suppress(OSError):  # its terminal may be closed
            groups.add(os.tcgetpgrp(self.master))
        for group in groups:
            try:
                if group > 1:
                    os.killpg(group, number)
            except OSError:
                pass  # ended meanwhile

    def resize(self, terminal: int) -> None:
        """Take over the size of the pane's terminal."""
        try:
            size = fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        except OSError:
            pass  # one of them is closed


def environment(given: bytes | None, own: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The caller's environment, with what belongs to the pane taken from the pane."""
    if given is None:
        return dict(own)
    pairs = (entry.partition(b"=") for entry in given.split(b"\0") if b"=" in entry)
    chosen = {name: value for name, _, value in pairs if name and not _is_panes(name)}
    return chosen | {name: value for name, value in own.items() if _is_panes(name)}


def _is_panes(name: bytes) -> bool:
    return name in _PANES_OWN or name in _NEVER or name.startswith(b"HERDR_")


def start(
    command: Sequence[str], cwd: str, env: dict[bytes, bytes], modes: list[Any], terminal: int
) -> Child:
    """Start it: one word is a line for ``/bin/sh``, several are a program and its arguments.

    Args:
        modes: the settings its terminal begins with.
        terminal: the pane's own, for the size.

    Raises:
        CannotStart: its folder cannot be entered, or there is no process or terminal to be had.
    """
    words = [word.encode() for word in command]
    argv = [b"/bin/sh", b"-c", words[0]] if len(words) == 1 else words
    env = {name: value for name, value in env.items() if name not in _NEVER}
    try:
        master, slave = os.openpty()
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        told, tell = os.pipe()
        pid = os.fork()
    except OSError as error:
        raise CannotStart(f"No process can be started: {error.strerror}.") from None
    if pid == 0:
        _become(argv, cwd, env, slave, tell, master)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        trouble = pipe.read()
    child = Child(pid, master, slave)
    if trouble:
        os.waitpid(pid, 0)
        reason = os.strerror(struct.unpack("i", trouble)[0])
        raise CannotStart(f"The folder {cwd} cannot be entered: {reason}.")
    os.set_blocking(master, False)
    child.resize(terminal)
    return child


def _become(
    argv: list[bytes], cwd: str, env: dict[bytes, bytes], slave: int, tell: int, master: int
) -> None:
    """In the new process: its session, its terminal, its folder, the program. Never returns."""
    try:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        # the size stands before the program asks for it
        size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
    except OSError:
        pass  # the pane is closing: the program will be hung up
    for number in (0, 1, 2):
        os.dup2(slave, number)
    signal.set_wakeup_fd(-1)
    for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(each, signal.SIG_DFL)
        except (OSError, ValueError):
            continue  # reserved by the C library
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.chdir(cwd)
    except OSError as error:
        os.write(tell, struct.pack("i", error.errno))
        os._exit(NOT_EXECUTABLE)
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        name = argv[0].decode("utf-8", "backslashreplace")
        os.write(2, f"{name}: {os.strerror(error.errno or 0)}\n".encode())
        os._exit(NOT_FOUND if missing else NOT_EXECUTABLE)
    except BaseException:  # noqa: BLE001 - nothing of the runner may go on in this process
        os._exit(NOT_EXECUTABLE)
    sys.exit()
