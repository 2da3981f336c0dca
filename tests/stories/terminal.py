"""A person's terminal in which `coordctl` runs: a pseudo-terminal with an emulator behind it."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
from collections.abc import Callable, Mapping
from typing import Any

from coordinatord.panehost.pty import Pty
from coordinatord.panehost.screen import Screen

WITHIN_S = 20.0


class Terminal:
    """Shows what a command writes and answers its questions, as terminals do.

    The command runs below a shell that stays, so that the terminal's settings can be compared after
    its end.
    """

    def __init__(self, environ: Mapping[str, str], *words: str, columns: int = 90) -> None:
        self.screen = Screen(columns, 25)
        self.status: int | None = None
        self.written = b""
        argv = [sys.executable, "-m", "coordctl", *words]
        self._pty = Pty.spawn(
            ["/bin/sh", "-c", '"$@"; echo "status $?"; read line', "sh", *argv],
            os.getcwd(),
            {**environ, "TERM": "xterm-256color"},
            columns,
            25,
        )
        self.before = termios.tcgetattr(self._pty.descriptor)

    @property
    def settings(self) -> list[Any]:
        """The terminal's settings now."""
        return termios.tcgetattr(self._pty.descriptor)

    @property
    def shown(self) -> str:
        """The text on the screen."""
        return self.screen.text("visible", None, False)[0]

    def type(self, keys: str | bytes) -> None:
        """Press keys."""
        self._pty.write_nowait(keys.encode() if isinstance(keys, str) else keys)

    def resize(self, columns: int, rows: int) -> None:
        """Drag the window."""
        self.screen.resize(columns, rows)
        self._pty.resize(columns, rows)

    def until(self, what: str, true: Callable[[], object]) -> None:
        """Show what comes until something is so."""
        deadline = time.monotonic() + WITHIN_S
        while not true():
            assert time.monotonic() < deadline, f"in vain: {what}\n{self.shown}"
            self._take(0.05)

    def until_shown(self, text: str) -> None:
        """Show what comes until this text stands on the screen."""
        self.until(f"{text!r} is shown", lambda: text in self.shown)

    def command_pid(self) -> int:
        """The process that is in front."""
        return os.tcgetpgrp(self._pty.descriptor)

    def close(self) -> None:
        """Close the window."""
        self._pty.close()
        self._pty.reap() or os.kill(self._pty.pid, signal.SIGKILL)

    def _take(self, within_s: float) -> None:
        if select.select([self._pty.descriptor], [], [], within_s)[0]:
            piece = self._pty.read_nowait()
            if piece:
                self.written += piece
                answers = self.screen.feed(piece)
                if answers:
                    self.type(answers)
