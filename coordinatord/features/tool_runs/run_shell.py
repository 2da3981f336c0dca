"""Watches a command that runs in the pane's own shell: the one kind of run that is read off a screen."""

from __future__ import annotations

from typing import Final

import anyio

from coordinatord.clock import Clock
from coordinatord.errors import HostRefused, Unreachable
from coordinatord.features.tool_runs import marker
from coordinatord.ids import PaneId
from coordinatord.terminals.port import Terminal

LOOK_EVERY_S: Final = 0.1
LINES: Final = 1000
"""As far back as a host reads (herdr-protocol.md §2.4)."""


async def until_marked(
    terminal: Terminal, clock: Clock, pane: PaneId, run: str, over: anyio.Event
) -> tuple[int, str] | None:
    """The exit code, and what stands on the screen; None if the run is over by other means.

    Raises:
        PaneMissing: the pane is gone.
    """
    while not over.is_set():
        try:
            shown = await terminal.read(pane, "recent_unwrapped", lines=LINES)
        except (Unreachable, HostRefused):
            await clock.sleep(10 * LOOK_EVERY_S)
            continue
        code = marker.found(shown.text, run)
        if code is not None:
            return code, marker.output(shown.text, run)
        await clock.sleep(LOOK_EVERY_S)
    return None
