"""The time while a command runs: bytes between pane, command, log and daemon."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import time

from coordctl import runner_wire
from coordctl.runner_pane import READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from coordctl.runner_child import Child
    from coordctl.runner_log import Log
    from coordctl.runner_pane import Pane
    from coordctl.runner_wire import Wire

_TYPED_AHEAD: Final = 64 << 10
_LAST_WORDS_S: Final = 1.0
"""How long output of an ended command is waited for, while something else holds its terminal."""
_QUIET_S: Final = 0.05
_KILL_AFTER_S: Final = 5.0
_KILL_HUNG_UP_S: Final = 0.2
"""As much as a terminal host lets pass between its own signals when it closes a pane."""
_RECONNECT_S: Final = 1.0
_REFUSED_S: Final = 30.0
_SCREEN: Final = re.compile(rb"\x1b\[\?(?:[0-9;]{0,64};)?(?:1049|1047|47)(?:;[0-9;]{0,64})?([hl])")
# bounded: no output may make the search itself slow


class Session:
    """Carries bytes between pane, command, log and daemon until the command has ended."""

    def __init__(self, wire: Wire, run: str, child: Child, log: Log, pane: Pane) -> None:
        self._wire = wire
        self._run = run
        self._child = child
        self._log = log
        self._pane = pane
        self._typed = bytearray()
        self._carry = b""
        self._open = True
        self._kill_at: float | None = None
        self._reconnect_at = 0.0
        self.drew = False
        self.on_screen = False
        pane.log_name = log.path
        self._waker, wake = os.pipe()
        for end in (self._waker, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)

    def go(self) -> None:
        """Until the command has ended and its output was read."""
        while not self._child.collect():
            self._turn(self._patience())
            self._mind_time()
        self._last_words()

    def _patience(self) -> float:
        now = time.monotonic()
        waits = [] if self._kill_at is None else [self._kill_at - now]
        if self._wire.fileno() < 0:
            waits.append(self._reconnect_at - now)
        return max(0.0, min(waits, default=60.0))

    def _turn(self, patience_s: float) -> bool:
        """Wait for something to do and do it; whether the command wrote something."""
        pane, master, line = self._pane, self._child.master, self._wire.fileno()
        poll = select.poll()
        poll.register(self._waker, select.POLLIN)
        if self._open:
            out = select.POLLOUT if self._typed else 0
            poll.register(master, select.POLLIN | out)
        if not pane.gone:
            wanted = select.POLLIN if len(self._typed) < _TYPED_AHEAD else 0
            poll.register(pane.terminal, wanted | (select.POLLOUT if pane.backlog else 0))
        if line >= 0:
            poll.register(line, select.POLLIN)
        ready = dict(poll.poll(patience_s * 1000))
        if self._waker in ready:
            self._hear_signals()
        if line in ready:
            self._hear_daemon()
        if ready.get(pane.terminal, 0) & ~select.POLLOUT:
            self._typed += pane.typed()
            if pane.gone:
                self._child.signal(signal.SIGHUP)
        wrote = bool(ready.get(master, 0) & ~select.POLLOUT) and self._read()
        if self._typed and self._open:
            self._type()
        if pane.backlog and not pane.gone:
            pane.draw()
        return wrote

    def _read(self) -> bool:
        try:
            raw = os.read(self._child.master, READ)
        except BlockingIOError:
            return False
        except OSError:
            raw = b""  # every descriptor of the command's terminal is closed
        if not raw:
            self._open = False
            return False
        self._log.write(raw)
        self._note_screen(raw)
        if not self._pane.gone:
            self._pane.show(raw)
        return True

    def _note_screen(self, raw: bytes) -> None:
        seen = self._carry + raw
        self._carry = seen[-16:]
        if b"\x1b[?" in seen:
            for match in _SCREEN.finditer(seen):
                self.on_screen = match[1] == b"h"
                self.drew = True

    def _type(self) -> None:
        try:
            del self._typed[: os.write(self._child.master, self._typed)]
        except BlockingIOError:
            pass  # when it reads
        except OSError:
            self._typed.clear()

    def _hear_signals(self) -> None:
        for number in os.read(self._waker, 256):
            if number == signal.SIGWINCH:
                self._child.resize(self._pane.terminal)
            elif number == signal.SIGTERM:
                self._end()
            elif number == signal.SIGHUP:
                self._pane.hang_up()
                self._child.signal(signal.SIGHUP)
                self._kill_at = self._kill_at or time.monotonic() + _KILL_HUNG_UP_S

    def _hear_daemon(self) -> None:
        try:
            for message in self._wire.heard():
                self._take(message)
        except runner_wire.Gone:
            self._reconnect_at = time.monotonic() + _RECONNECT_S / 10

    def _take(self, message: dict[str, Any]) -> None:
        """A notification, or the answer to the claim that was sent again."""
        if message.get("method") == "tool.cancel" or message.get("result", {}).get("cancelled"):
            self._end()
        elif "error" in message:  # the run was given up meanwhile: no use in asking again soon
            self._wire.close()
            self._reconnect_at = time.monotonic() + _REFUSED_S

    def _end(self) -> None:
        if self._kill_at is None:
            self._kill_at = time.monotonic() + _KILL_AFTER_S
            self._child.signal(signal.SIGTERM)
            self._child.signal(signal.SIGCONT)

    def _mind_time(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._child.signal(signal.SIGKILL)
            self._kill_at = now + _KILL_AFTER_S
        if self._wire.fileno() < 0 and now >= self._reconnect_at:
            self._reconnect_at = now + _RECONNECT_S
            self._reconnect()

    def _reconnect(self) -> None:
        with contextlib.suppress(runner_wire.Gone):  # tried again later
            self._wire.send(runner_wire.CLAIM, run=self._run, resume=True)

    def _last_words(self) -> None:
        until = time.monotonic() + _LAST_WORDS_S
        while self._open and time.monotonic() < until:
            if not self._turn(_QUIET_S) and self._open:
                break
        os.close(self._child.master)
