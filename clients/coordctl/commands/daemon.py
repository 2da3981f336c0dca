"""``up``, ``down``, ``version``: the daemon itself."""

from __future__ import annotations

import os
import sys
import time

from coordctl import calling, transport
from coordctl.failures import Failure
from coordinatord import __version__, locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from coordctl.grammar import Invocation

_ENDS_S: Final = 10.0
"""How long in seconds a daemon may take to end after it answered ``daemon.stop``."""


def up(invocation: Invocation) -> int:
    """Make the workspace if there is none, start the daemon if none answers, show its status."""
    if invocation.socket is None and not os.environ.get("COORDINATORD_SOCKET"):
        locate.make(locate.find_or_place(os.environ, invocation.directory))
    target = calling.target_of(invocation)
    wanted = invocation.params.get("terminal")
    if wanted is not None:
        target.flags = ("--terminal", wanted)
    status = transport.call(target, "daemon.status", {})
    _check_terminal(status, wanted)
    calling.show(invocation, status)
    return 0


def _check_terminal(status: dict[str, Any], wanted: str | None) -> None:
    kind = status.get("terminal", {}).get("kind")
    if wanted not in (None, "auto", kind) and kind is not None:
        raise Failure(
            "wrong-state",
            f"The daemon runs already, with the terminal host {kind}.",
            f"To change it: coordctl down && coordctl up --terminal {wanted}",
        )


def down(invocation: Invocation) -> int:
    """Stop the daemon and wait until its process has ended. None running is no error."""
    target = calling.target_of(invocation)
    workspace = target.address.workspace
    # without a daemon, only one that is started for it can end the pane host that outlived it
    leftover = workspace is not None and os.path.exists(workspace.file("panehost.json"))
    target.start = target.start and leftover and bool(invocation.params.get("panes"))
    try:
        pid = transport.call(target, "daemon.status", {}).get("pid")
        result = calling.call(invocation, target)
    except Failure as failure:
        if failure.reason != "no-daemon" or target.address.explicit or failure.unanswered:
            raise
        pid, result = None, {"done": True}
    if pid is not None:
        _wait_for_end(pid)
    calling.show(invocation, result)
    return 0


def _wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + _ENDS_S
    while not _has_ended(pid):
        if time.monotonic() > deadline:
            raise _still_runs(pid)
        time.sleep(0.02)


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            # a container's first process may never collect it: then it stays as a zombie
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (ProcessLookupError, PermissionError):
        return True
    except OSError:
        return False  # no /proc here: the signal has found it


def _still_runs(pid: int) -> Failure:
    return Failure(
        "time-limit",
        f"The daemon (pid {pid}) still runs {_ENDS_S:.0f} s after it was asked to stop.",
        "Its log says what it waits for: .coordinatord/daemon.log",
    )


def version(invocation: Invocation) -> int:
    """Print this client's version."""
    if invocation.as_json:
        calling.print_json({"version": __version__})
    else:
        sys.stdout.write(f"coordctl {__version__}\n")
    return 0
