"""What is true about a tool run, and the shape of its result (delegation-tools-loops.md §4)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from coordinatord.ids import PaneId, ProcessId, SeatId
from coordinatord.terminals.port import Direction

Flaw = Literal["not-started", "orphaned", "pane-closed", "cancelled"]
"""Why a run has no ordinary end: it never began; its runner is gone; its pane is gone; somebody
asked for its end."""


class Waiting(msgspec.Struct, frozen=True, tag="waiting", tag_field="kind"):
    """Accepted; nothing was typed for it yet."""


class Typing(msgspec.Struct, frozen=True, kw_only=True, tag="typing", tag_field="kind"):
    """Its line may have been typed into this pane; the runner has not reported yet."""

    pane: PaneId
    terminal: str
    reused: bool


class Running(msgspec.Struct, frozen=True, kw_only=True, tag="running", tag_field="kind"):
    """The command runs. ``runner`` is the process that waits for it; None where it cannot be seen,
    and for a command in the pane's own shell."""

    pane: PaneId
    terminal: str
    reused: bool
    at: float
    runner: ProcessId | None = None


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended", tag_field="kind"):
    """Over. ``exit_code`` is None exactly if nobody knows one; ``written`` is the output's length in
    bytes, whatever of it the log has kept; ``cut``: there was more before it."""

    at: float
    exit_code: int | None = None
    flaw: Flaw | None = None
    detail: str | None = None
    pane: PaneId | None = None
    reused: bool = False
    started_at: float | None = None
    alternate_screen: bool = False
    written: int = 0
    cut: bool = False


State: TypeAlias = Waiting | Typing | Running | Ended


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run. ``owed_to`` is the seat that is told of its end if nobody waits for it; ``late``: its
    limit has passed; ``taken``: somebody has been given the result."""

    id: str
    seq: int
    at: float
    by: SeatId
    pane: PaneId
    terminal: str
    label: str
    command: tuple[str, ...]
    cwd: str
    direction: Direction = "right"
    focus: bool = False
    new: bool = False
    in_shell: bool = False
    limit_ms: int | None = None
    owed_to: SeatId | None = None
    key: str | None = None
    late: bool = False
    taken: bool = False
    cancelled: bool = False
    state: State = Waiting()


class ToolPane(msgspec.Struct, frozen=True, kw_only=True):
    """A pane that was opened for tool runs; its id is the terminal's. ``stale``: a line typed there
    was not run, so it may be run at any later time."""

    id: str
    seq: int
    label: str
    stale: bool = False


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to, or where it stands. ``exit_code`` is the command's own; None: none is known
    (yet). ``signal`` is there for codes 129 to 192. ``log`` holds the output with its escapes."""

    label: str
    pane_id: PaneId | None
    reused: bool
    exit_code: int | None
    timed_out: bool
    output_tail: str
    run_id: str
    state: str
    signal: int | None = None
    duration_ms: int | None = None
    truncated: bool = False
    log: str | None = None
    error: Flaw | None = None
    detail: str | None = None
    alternate_screen: bool = False


class RunListed(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `tool list`."""

    id: str
    seq: int
    at: float
    label: str
    state: str
    pane_id: PaneId | None
    exit_code: int | None
    error: Flaw | None
    timed_out: bool
    by: SeatId
    command: tuple[str, ...]


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a run's output as text; with ``follow`` more comes as ``tool.output`` until the end."""

    run_id: str
    text: str
    state: str
    truncated: bool = False


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What the runner has to do. ``environment`` is NAME=value, each ended by NUL; None: the pane's.
    One word is a line for ``/bin/sh``; several are a program and its arguments."""

    run_id: str
    command: tuple[str, ...]
    cwd: str
    environment: bytes | None
    log: str
    cancelled: bool = False


def title(label: str) -> str:
    """The pane's label."""
    return f"Tool · {label}"


def signal_of(exit_code: int | None) -> int | None:
    """The signal that a shell's exit code tells of (§4.3)."""
    return exit_code - 128 if exit_code is not None and 129 <= exit_code <= 192 else None


def where(state: State) -> tuple[PaneId | None, bool]:
    """The pane of a run, and whether it was there before."""
    return (None, False) if isinstance(state, Waiting) else (state.pane, state.reused)


def begun(state: State) -> float | None:
    """When the command began."""
    match state:
        case Running():
            return state.at
        case Ended():
            return state.started_at
        case Waiting() | Typing():
            return None
