"""Watches a command that runs in the pane's own shell: the one kind of run that is read off a screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import anyio
import anyio.to_thread
import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import HostRefused, Unreachable
from coordinatord.features.tool_runs import marker, placement
from coordinatord.features.tool_runs.run_lane import Live
from coordinatord.features.tool_runs.run_place import Placer
from coordinatord.ids import PaneId
from coordinatord.terminals.port import Foreground, Terminal

LOOK_EVERY_S: Final = 0.1
LINES: Final = 1000
"""As far back as a host reads (herdr-protocol.md §2.4)."""
BROKEN_OFF_AFTER: Final = 10
"""Looks at an unchanged screen until a line without a marker counts as dropped by its shell."""
_STOPPED: Final = 148
"""What most shells say of a command that ctrl+z stopped: 128 and SIGTSTP."""


class ShellEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended. ``exit_code`` is None if its shell dropped the line; ``whole``: all output is
    in ``text``."""

    exit_code: int | None
    text: str
    whole: bool
    detail: str | None = None


StoppedOf: TypeAlias = Callable[[int], frozenset[int]]
"""The stopped children of a process; may take a moment."""


async def stopped_jobs(stopped_of: StoppedOf, found: Foreground | None) -> frozenset[int]:
    """The commands that are stopped in this shell."""
    if found is None or found.shell is None:
        return frozenset()
    return await anyio.to_thread.run_sync(stopped_of, found.shell.pid)


async def until_over(
    terminal: Terminal,
    clock: Clock,
    placer: Placer,
    stopped_of: StoppedOf,
    live: Live,
    pane: PaneId,
) -> ShellEnd | None:
    """Until the shell tells the status; None if the run is over by other means.

    Raises:
        PaneMissing: the pane is gone.
    """
    run, still, before = live.record.id, 0, ""
    while not live.ended.is_set():
        try:
            shown = await terminal.read(pane, "recent_unwrapped", lines=LINES)
        except (Unreachable, HostRefused):
            await clock.sleep(10 * LOOK_EVERY_S)
            continue
        text, whole = marker.output(shown.text, run)
        code = marker.found(shown.text, run)
        if code is not None:
            now = await stopped_jobs(stopped_of, await placer.foreground(pane))
            is_stopped = live.stopped is not None and bool(now - live.stopped)
            return _told(code, text, whole, is_stopped=is_stopped)
        dropped = shown.text == before and marker.seems_broken_off(before, run)
        still, before = still + 1 if dropped else 0, shown.text
        if still >= BROKEN_OFF_AFTER and placement.only_shell(await placer.foreground(pane)):
            detail = "Its shell is at the prompt again and told no status: it was interrupted."
            return ShellEnd(exit_code=None, text=text, whole=whole, detail=detail)
        await clock.sleep(LOOK_EVERY_S)
    return None


def _told(code: int, text: str, whole: bool, *, is_stopped: bool) -> ShellEnd:
    """A command that is stopped has not ended, whatever its shell says of it (§4.3)."""
    if not is_stopped:
        return ShellEnd(exit_code=min(code, 255), text=text, whole=whole)
    detail = "It was stopped with ctrl+z and is still there: fg in its pane."
    return ShellEnd(exit_code=_STOPPED, text=text, whole=whole, detail=detail)
