"""What really runs in a pane: the foreground process group of its terminal, and its programs.

Facts at one moment, nothing remembered. psutil reads them on Linux and macOS alike.
Source of the shape: herdr-protocol.md §2.4 (pane.process_info).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import psutil

from coordinatord.lineage import environment

AGENT_VARIABLE: Final = "HERDR_AGENT"
"""A program started with this variable names its agent kind itself (agents.md)."""


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """One process of the foreground group. What could not be read is empty or None."""

    pid: int
    name: str
    argv0: str | None = None
    argv: tuple[str, ...] = ()
    cmdline: str | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class ForegroundFacts:
    """The shell of a pane, its terminal's foreground group, and that group's programs by pid."""

    shell_pid: int
    group: int | None = None
    programs: tuple[ProgramFacts, ...] = ()


def foreground_of(terminal: int, shell_pid: int) -> ForegroundFacts:
    """Look at the terminal behind the descriptor ``terminal``; a closed one has no group."""
    group = _foreground_group(terminal)
    if group is None:
        return ForegroundFacts(shell_pid)
    programs = (program_facts(pid) for pid in group_members(group))
    return ForegroundFacts(shell_pid, group, tuple(facts for facts in programs if facts))


def program_facts(pid: int) -> ProgramFacts | None:
    """One process, or None if it is gone or a zombie."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            argv = tuple(process.cmdline())
            return ProgramFacts(
                pid=pid,
                name=process.name(),
                argv0=argv[0] if argv else None,
                argv=argv,
                cmdline=shlex.join(argv) if argv else None,
                cwd=_cwd(process),
            )
    except psutil.Error:
        return None


def agent_variable(pid: int) -> str | None:
    """The agent kind that a process was started with in its environment, or None."""
    return environment(pid).get(AGENT_VARIABLE) or None


def group_members(group: int) -> list[int]:
    """Pids of a process group, ascending."""
    return [pid for pid in sorted(psutil.pids()) if _asked(os.getpgid, pid) == group]


def session_members(session: int) -> list[int]:
    """Pids of a process session that are alive (zombies are not), ascending."""
    return [
        pid
        for pid in sorted(psutil.pids())
        if _asked(os.getsid, pid) == session and not is_zombie(pid)
    ]


def is_zombie(pid: int) -> bool:
    """Whether the process has ended and nobody has collected it yet; True too if it is gone."""
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return True


def _foreground_group(terminal: int) -> int | None:
    try:
        group = os.tcgetpgrp(terminal)
    except OSError:
        return None
    return group if group > 0 else None


def _asked(question: Callable[[int], int], pid: int) -> int | None:
    try:
        return question(pid)
    except OSError:
        return None


def _cwd(process: psutil.Process) -> str | None:
    try:
        return process.cwd() or None
    except psutil.Error:
        return None
