"""Run the demo apart from the pane that it was started in.

In a pane of the Herdr that it plays in, the demo would be a developer in that pane, and what it opens
would stand beside it. So it lets its parent go and forgets which pane it came from: to its daemon it is
the operator, who directs, and its panes stand in a workspace of their own. The terminal stays the same.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence

_PARENT = "COORDCTL_DEMO_PARENT"
_ORPHANED_WITHIN_S = 5.0


def needed(environ: Mapping[str, str]) -> bool:
    """Is this a pane, and not yet the process that is apart?"""
    return _PARENT not in environ and bool(environ.get("HERDR_PANE_ID"))


def run(arguments: Sequence[str]) -> int:
    """Run the demo in an orphaned process, and wait for it; its exit status."""
    reading, writing = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(reading)
        if os.fork() == 0:
            _become_the_demo(arguments, writing)
        os._exit(0)
    os.close(writing)
    # ctrl+c reaches the demo itself, which ends in order
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.waitpid(middle, 0)
    with os.fdopen(reading, "rb") as said:
        status = said.read(1)
    return status[0] if status else 1


def _become_the_demo(arguments: Sequence[str], writing: int) -> None:
    environ = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HERDR_PANE_ID", "HERDR_TAB_ID", "HERDR_WORKSPACE_ID", "COORDINATORD_TOKEN")
    }
    environ[_PARENT] = f"{os.getppid()}:{writing}"
    os.set_inheritable(writing, True)
    try:
        program = [sys.executable, "-m", "coordctl", "demo", *arguments]
        os.execve(sys.executable, program, environ)
    finally:
        os._exit(1)


def begin(environ: Mapping[str, str]) -> int | None:
    """In the process that is apart: wait until its parent is gone; where to say the status."""
    told = environ.get(_PARENT)
    if told is None:
        return None
    parent, _, writing = told.partition(":")
    deadline = time.monotonic() + _ORPHANED_WITHIN_S
    while os.getppid() == int(parent) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.set_inheritable(int(writing), False)
    return int(writing)


def end(writing: int | None, status: int) -> None:
    """Say the status to the process that waits."""
    if writing is not None:
        os.write(writing, bytes([status]))
        os.close(writing)
