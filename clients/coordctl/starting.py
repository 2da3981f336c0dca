"""Starting the daemon where none answers: a process of its own, with nothing of the caller's."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from coordctl.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from typing import Final

    from coordctl.transport import Target
    from coordinatord.locate import Workspace

_PAUSE_S: Final = 0.02
_LONGEST_REASON: Final = 300


def start(
    target: Target,
    deadline: float,
    connect: Callable[[], socket.socket | None],
) -> socket.socket:
    """Start a daemon for the target's workspace and connect to it once it answers.

    Args:
        deadline: monotonic seconds after which it counts as not answering.
        connect: one try to connect.

    Raises:
        Failure: ``no-daemon``, with the daemon's own last words.
    """
    workspace = target.address.workspace
    assert workspace is not None
    log = workspace.file("daemon.log")
    before = _size(log)
    child = _spawn(workspace, target.environ, log, target.flags)
    while time.monotonic() < deadline:
        stream = connect()
        if stream is not None:
            return stream
        # if somebody else's daemon won the race for the lock, it gets the time to answer
        if child.poll() is not None and not _somebody_holds(workspace.file("lock")):
            break
        time.sleep(_PAUSE_S)
    raise _failed(workspace, log, before)


def _spawn(
    workspace: Workspace, environ: Mapping[str, str], log: str, flags: tuple[str, ...]
) -> subprocess.Popen[bytes]:
    given = {
        name: value
        for name, value in environ.items()
        if name not in ("COORDINATORD_SOCKET", "COORDINATORD_TOKEN")
    }
    given["COORDINATORD_ROOT"] = workspace.root
    flags_of_log = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    output = os.open(log, flags_of_log, 0o600)
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


def _failed(workspace: Workspace, log: str, before: int) -> Failure:
    words = _last_words(log, before)
    reason = f" It said: {words}" if words else ""
    return Failure(
        "no-daemon",
        f"The daemon for {workspace.root} was started and does not answer.{reason}",
        f"Read {log}, or run it in the foreground: cd {workspace.root} && coordinatord",
    )


def _last_words(log: str, before: int) -> str:
    """The last plain line that came into the log after ``before`` bytes."""
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            file.seek(max(before, _size(log) - 65536))
            lines = [line.strip() for line in file]
    except OSError:
        return ""
    plain = [line for line in lines if line and not line.startswith(("{", "hint:"))]
    last = plain[-1] if plain else ""
    return "".join(each if each.isprintable() else "?" for each in last)[:_LONGEST_REASON]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
