"""Starting the daemon where none answers: a process of its own, with nothing of the caller's.

Used by all clients on their rare path; standard library only. Whoever starts one polls: connect,
look at `Start.failed`, pause, until a deadline of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Final

from coordinatord.locate import Workspace, service_managed

PAUSE_S: Final = 0.02
"""Seconds between two tries to connect."""

_LONGEST_REASON: Final = 300
_LOG_TAIL: Final = 65536
_HINT: Final = "hint: "


class Start:
    """One start of a daemon, from the spawn until it answers or fails."""

    def __init__(
        self, workspace: Workspace, environ: Mapping[str, str], flags: tuple[str, ...] = ()
    ) -> None:
        self._workspace = workspace
        self._log = workspace.file("daemon.log")
        self._before = _size(self._log)
        self._environ = environ
        self._flags = flags
        self._begin()

    def _begin(self) -> None:
        self._stood_behind = _somebody_holds(self._workspace.file("lock"))
        self._child = _spawn(self._workspace, self._environ, self._log, self._flags)
        # it outlives us; where we outlive it, somebody has to take its exit status
        threading.Thread(target=self._child.wait, daemon=True).start()

    @property
    def failed(self) -> bool:
        """It ended, and no other daemon won the race for the lock and needs time to answer.

        One that was refused because of a daemon that was just ending is begun again.
        """
        if self._child.returncode is None:
            return False
        if _somebody_holds(self._workspace.file("lock")):
            self._stood_behind = True
            return False
        if not self._stood_behind:
            return True
        self._begin()
        return False

    @property
    def refused(self) -> bool:
        """It ended by itself because something stood in its way, and said what in its log."""
        return self._child.returncode == 1

    @property
    def sentence(self) -> str:
        """What to say about a failed start, with the daemon's own last words."""
        words = self._last_words()
        root = self._workspace.root
        sentence = f"The daemon for {root} was started and does not answer."
        return f"{sentence} It said: {words}" if words else sentence

    @property
    def hint(self) -> str:
        """What the daemon itself advised, else where to look."""
        plain = self._plain_lines()
        if plain and plain[-1].startswith(_HINT):
            return _printable(plain[-1].removeprefix(_HINT))
        return f"Read {self._log}, or run it in front: cd {self._workspace.root} && coordinatord"

    def _last_words(self) -> str:
        """The last plain line that came into the log since the spawn, advice apart."""
        said = [line for line in self._plain_lines() if not line.startswith(_HINT)]
        return _printable(said[-1]) if said else ""

    def _plain_lines(self) -> list[str]:
        try:
            with open(self._log, encoding="utf-8", errors="replace") as file:
                file.seek(max(self._before, _size(self._log) - _LOG_TAIL))
                lines = [line.strip() for line in file]
        except OSError:
            return []
        return [line for line in lines if line and not line.startswith("{")]


def unanswered(
    path: str, workspace: Workspace | None, environ: Mapping[str, str]
) -> tuple[str, str]:
    """What to say where nothing listens and nothing may be started, and what to advise.

    ``workspace`` is None where only a socket was named.
    """
    if workspace is None:
        hint = "Nothing is started for a socket that is named. Check --socket, COORDINATORD_SOCKET."
    elif service_managed(workspace, environ):
        unit = f"coordinatord@{workspace.instance}"
        hint = f"A service manager starts it: systemctl --user start {unit}"
    else:
        hint = "Start it: coordctl up"
    return f"No daemon answers at {path}.", hint


def _printable(line: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in line)[:_LONGEST_REASON]


def open_log(path: str) -> int:
    """A descriptor that appends to a log of ours, for the output of a process that is started.

    A link is not followed: a project that was cloned may bring one that leads anywhere.

    Raises:
        OSError: the file cannot be opened.
    """
    mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, mode, 0o600)


def _spawn(
    workspace: Workspace, environ: Mapping[str, str], log: str, flags: tuple[str, ...]
) -> subprocess.Popen[bytes]:
    given = {
        name: value
        for name, value in environ.items()
        if name not in ("COORDINATORD_SOCKET", "COORDINATORD_TOKEN")
    }
    given["COORDINATORD_ROOT"] = workspace.root
    output = open_log(log)
    try:
        return subprocess.Popen(
            # -P: a module in the project's folder must not stand in for one of ours
            [sys.executable, "-P", "-m", "coordinatord", *flags],
            cwd=workspace.root,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    finally:
        os.close(output)


def _somebody_holds(lock: str) -> bool:
    """Does a living process stand in the lock file? Taking the lock would disturb a start."""
    try:
        with open(lock, encoding="ascii", errors="replace") as file:
            pid = int(file.readline(32).strip())
        os.kill(pid, 0)
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
