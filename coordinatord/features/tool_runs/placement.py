"""Where a run goes: the idle pane of its label, after the run that is there, or a new pane. Pure.

Source: delegation-tools-loops.md §4.1 and §4.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from coordinatord.errors import Refused
from coordinatord.ids import PaneId
from coordinatord.prose import is_line
from coordinatord.terminals.port import Foreground, Sighting

LONGEST_LABEL: Final = 64
"""Characters of a label; hosts show pane labels in one short line."""
LONGEST_COMMAND: Final = 256 * 1024
"""Bytes of all words of a command together."""

LONGEST_FOLDER: Final = 4096
"""Bytes of a path that a kernel takes."""

Condition = Literal["idle", "in-time", "late", "other"]
"""Only the shell is in front · a run of ours within its limit · one past it · anything else."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A pane of ours that has the label now. ``seq`` orders: the newest holds the claim to be used."""

    pane: PaneId
    terminal: str
    seq: int
    condition: Condition
    run: str | None = None


class Reuse(msgspec.Struct, frozen=True):
    """Type into this pane."""

    pane: PaneId
    terminal: str


class Queue(msgspec.Struct, frozen=True):
    """Wait until this run has ended or is past its limit, then decide again."""

    run: str


class Split(msgspec.Struct, frozen=True):
    """Open a new pane."""


Decision: TypeAlias = Reuse | Queue | Split


def decide(candidates: Iterable[Candidate], *, new: bool) -> Decision:
    """The newest pane of the label that can serve, now or after the run that is there."""
    for each in sorted(candidates, key=lambda each: -each.seq) if not new else ():
        if each.condition == "idle":
            return Reuse(each.pane, each.terminal)
        if each.condition == "in-time" and each.run is not None:
            return Queue(each.run)
    return Split()


def is_candidate(seen: Sighting, label: str, workspace_id: str) -> bool:
    """Has the pane exactly this label, in the caller's host workspace, and no agent in it?"""
    return seen.label == label and seen.workspace_id == workspace_id and seen.agent is None


def only_shell(found: Foreground | None) -> bool:
    """Is the pane's shell the program in front?"""
    return bool(found and found.shell and found.group == found.shell.pid)


def runner_in_front(found: Foreground | None, run: str) -> bool:
    """Is our launcher, or our runner, in front for this run?"""
    return found is not None and any(run in program.argv for program in found.programs)


def check_label(label: str) -> str:
    """The label, if a pane can be found by it again.

    Raises:
        Refused: ``empty``, ``too-long``, ``bad-params``.
    """
    if not label.strip():
        raise Refused("empty", "The label is empty.", "Name the tool: tests, build, server")
    if len(label) > LONGEST_LABEL:
        raise Refused(
            "too-long",
            f"The label has more than {LONGEST_LABEL} characters.",
            "Take one printable word or two.",
        )
    if not is_line(label) or label != label.strip():
        raise Refused(
            "bad-params",
            "The label holds a control character, or a blank at an end.",
            "Take one printable word or two.",
        )
    return label


def check_command(command: Sequence[str]) -> Sequence[str]:
    """The command, if a process can be given it.

    Raises:
        Refused: ``empty``, ``too-long``, ``bad-params`` (NUL).
    """
    if not command or not any(word.strip() for word in command[:1]):
        raise Refused("empty", "The command is empty.", "coordctl tool run tests -- pytest -q")
    if any("\0" in word for word in command):
        raise Refused(
            "bad-params",
            "The command holds a NUL, which no process can be given.",
            "Put such bytes into a file and name the file.",
        )
    if sum(len(word.encode()) + 1 for word in command) > LONGEST_COMMAND:
        raise Refused(
            "too-long", f"The command has more than {LONGEST_COMMAND} bytes.", "Run a script."
        )
    return command


def check_folder(folder: str) -> str:
    """The folder to run in, if it is written like one.

    Raises:
        Refused: ``bad-params``.
    """
    if not folder.startswith("/") or "\0" in folder or len(folder.encode()) > LONGEST_FOLDER:
        raise Refused(
            "bad-params",
            f"The folder must be an absolute path of at most {LONGEST_FOLDER} bytes.",
            '--cwd "$PWD"',
        )
    return folder


_PLAIN: Final = re.compile(r"/[A-Za-z0-9_./+-]+")


def line(launcher: str, run: str) -> str:
    """What is typed: two plain words, the same in every shell. The blank in front keeps it out of
    the history of shells that are told so.

    Raises:
        Refused: ``not-here``: the launcher's path has signs that some shell would read.
    """
    if not _PLAIN.fullmatch(launcher):
        raise Refused(
            "not-here",
            f"The run-time folder's path cannot be typed as it is: {launcher}",
            "Start the daemon with a plain XDG_RUNTIME_DIR.",
        )
    return f" {launcher} {run}"
