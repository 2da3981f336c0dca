"""A real pane for tests: what it shows and its end are waited for by events, never by time."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import anyio
import anyio.to_thread

from coordinatord.panehost.foreground import ForegroundFacts
from coordinatord.panehost.pane import Pane

BASH: Final = ("/bin/bash", "--norc", "--noprofile")
PATIENCE_S: Final = 20
"""How long a test waits before it fails; a loaded machine is slow, not wrong."""


class WatchedPane:
    """A pane and the calls it made."""

    def __init__(
        self,
        argv: Sequence[str] = BASH,
        *,
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self.outputs = 0
        self.exits: list[int | None] = []
        self._changed = anyio.Event()
        plain = {
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "PS1": "$ ",
            "INPUTRC": "/dev/null",
            "HISTFILE": "/dev/null",
            "HOME": "/",
        }
        self.pane = Pane.spawn(
            argv=argv,
            cwd=cwd,
            env={**plain, **(env or {})},
            columns=columns,
            rows=rows,
            on_output=self._output,
            on_exit=self._exit,
        )

    def _output(self) -> None:
        self.outputs += 1
        self._changed.set()

    def _exit(self, status: int | None) -> None:
        self.exits.append(status)
        self._changed.set()

    @property
    def rows(self) -> list[str]:
        """What stands on the screen now."""
        return self.pane.screen.text("visible", None, False)[0].splitlines()

    def type(self, line: str) -> None:
        """Type a line and Enter."""
        self.pane.write(line.encode() + b"\r")

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that changes with output or with the end."""
        with anyio.move_on_after(PATIENCE_S):
            while not holds():
                self._changed = anyio.Event()
                await self._changed.wait()
            return
        raise AssertionError("never came; the screen shows:\n" + "\n".join(self.rows))

    async def until_row(self, row: str, times: int = 1) -> None:
        """Wait until a row of the screen is exactly this, so many times."""
        await self.until(lambda: self.rows.count(row) >= times)

    async def until_shown(self, fragment: str) -> None:
        """Wait until a text stands anywhere on the screen."""
        await self.until(lambda: any(fragment in row for row in self.rows))

    async def until_exit(self) -> int | None:
        """Wait for the end; the status."""
        await self.until(lambda: bool(self.exits))
        return self.exits[0]

    async def foreground(self) -> ForegroundFacts:
        """What runs in front now."""
        return await anyio.to_thread.run_sync(self.pane.foreground)


@asynccontextmanager
async def running(*panes: WatchedPane) -> AsyncIterator[None]:
    """Keep panes going; all that lives in them ends with the block."""
    async with anyio.create_task_group() as tasks:
        for one in panes:
            tasks.start_soon(one.pane.run)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                for one in panes:
                    await one.pane.close()
