"""The pane's terminal as the runner uses it: raw, never waited for, left as it was."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, NoReturn

NOT_RUN: Final = 125
BEHIND: Final = 1 << 20
"""Bytes that the pane may be behind before the display skips ahead."""
_SHOWN_AFTER_SKIP: Final = 32 << 10
READ: Final = 1 << 16
_FINISH_S: Final = 2.0
_LEAVE_SCREEN: Final = b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?25h"
_PLAIN: Final = b"\x1b[?2004l\x1b[0m"


def leave(sentence: str) -> NoReturn:
    """Say why nothing was run, and end."""
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
    os._exit(NOT_RUN)


class Pane:
    """The pane's terminal: raw while the command runs, its display never waited for."""

    def __init__(self) -> None:
        try:
            name = os.ttyname(0)
            # a descriptor of its own: what is set on it does not touch the shell's
            self.terminal = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            self.modes = termios.tcgetattr(self.terminal)
        except (OSError, termios.error):
            leave("coordinatord: a tool run needs a terminal.")
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        tty.setraw(self.terminal, termios.TCSANOW)
        self.gone = False
        self.backlog = bytearray()
        self.log_name = ""

    def show(self, raw: bytes) -> None:
        """Queue output; what is too much is skipped, from line to line."""
        self.backlog += raw
        if len(self.backlog) > BEHIND:
            cut = self.backlog.find(b"\n", len(self.backlog) - _SHOWN_AFTER_SKIP)
            cut = len(self.backlog) - _SHOWN_AFTER_SKIP if cut < 0 else cut + 1
            note = f"\r\n\x1b[0m[output is not shown here: {self.log_name}]\r\n"
            self.backlog[:cut] = note.encode()

    def draw(self) -> None:
        """Write as much as the pane takes now."""
        try:
            while self.backlog:
                del self.backlog[: os.write(self.terminal, self.backlog[:READ])]
        except BlockingIOError:
            pass  # the rest when it takes more
        except OSError:
            self.hang_up()

    def typed(self) -> bytes:
        """What was typed since; empty too if the pane is gone."""
        try:
            raw = os.read(self.terminal, READ)
        except BlockingIOError:
            return b""
        except OSError:
            raw = b""
        if not raw:
            self.hang_up()
        return raw

    def hang_up(self) -> None:
        """The pane is no more."""
        self.gone = True
        self.backlog.clear()

    def finish(self, on_screen: bool) -> None:
        """Show the rest, leave the terminal as a shell needs it."""
        self.backlog += (_LEAVE_SCREEN if on_screen else b"") + _PLAIN
        until = time.monotonic() + _FINISH_S
        while self.backlog and not self.gone and time.monotonic() < until:
            select.select([], [self.terminal], [], 0.1)
            self.draw()
        self.restore()

    def restore(self) -> None:
        """The modes from before."""
        try:
            termios.tcsetattr(self.terminal, termios.TCSANOW, self.modes)
        except (OSError, termios.error):
            self.gone = True
