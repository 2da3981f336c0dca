"""Which process is which, and who started it: boot id, start ticks, ancestors, environment.

Facts only; `features/panes/proof.py` decides what they prove. A process is (boot id, pid, start ticks):
psutil's ``create_time()`` moves when the wall clock is stepped, the kernel's tick count does not. Where
there is no ``/proc`` (macOS) the start time is taken against the boot time and stands in for ticks.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Final

import psutil

from coordinatord.ids import ProcessId

_DEEPEST: Final = 64
"""Longest ancestry that is followed, in processes: a guard against a loop seen while pids are reused."""


@functools.cache
def boot_id() -> str:
    """One value per boot of this machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"boot-{int(psutil.boot_time())}"


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now, or None if there is none or it is not to be seen."""
    start = _start_and_parent(pid)
    return None if start is None else ProcessId(boot_id(), pid, start[0])


def ancestry(pid: int) -> tuple[ProcessId, ...]:
    """The process and its ancestors, nearest first, ending below pid 1. Empty if it is gone."""
    line: list[ProcessId] = []
    facts = _start_and_parent(pid)
    while pid > 1 and facts is not None and len(line) < _DEEPEST:
        start, parent = facts
        line.append(ProcessId(boot_id(), pid, start))
        facts = _start_and_parent(parent)
        if facts is None and parent > 1:  # it may have ended since: then the child has another
            again = _start_and_parent(pid)
            parent = again[1] if again else parent
            facts = _start_and_parent(parent)
        pid = parent
    return tuple(line)


def arguments(process: ProcessId) -> tuple[str, ...]:
    """The command line of exactly this process; empty if it is gone or not ours to read."""
    try:
        found = tuple(psutil.Process(process.pid).cmdline())
    except (psutil.Error, OSError):
        return ()
    return found if identify(process.pid) == process else ()


def stopped_children(pid: int) -> frozenset[int]:
    """The children of a process that a signal has stopped: in a shell, what ctrl+z put aside."""
    try:
        children = psutil.Process(pid).children()
        return frozenset(each.pid for each in children if each.status() == psutil.STATUS_STOPPED)
    except (psutil.Error, OSError):
        return frozenset()


def environment(pid: int) -> dict[str, str]:
    """The environment the process was started with; empty if it is gone or not ours to read."""
    try:
        return dict(psutil.Process(pid).environ())
    except (psutil.Error, OSError):
        return {}


def _start_and_parent(pid: int) -> tuple[int, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the command name stands in parentheses and may hold blanks and parentheses itself
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[19]), int(fields[1])
    except OSError:
        return None if os.path.isdir("/proc/self") else _start_and_parent_by_psutil(pid)


def _start_and_parent_by_psutil(pid: int) -> tuple[int, int] | None:
    try:
        process = psutil.Process(pid)
        return int((process.create_time() - psutil.boot_time()) * 100), process.ppid()
    except psutil.Error:
        return None
