"""What a tool pane runs: fetches a command from the daemon, runs it, reports how it ended.

Started by the launcher as one short typed line; standard library only, without site packages. The
command has a terminal of its own behind the pane's: what it writes is logged and shown, what is typed
goes to it as it comes, so that ctrl+c and full-screen programs work and ctrl+z stops nothing.
Invariant: nothing that is slow (the pane, the disk, the daemon) ever holds the command up, and its
exit status is kept until somebody took it.
"""

from __future__ import annotations

import binascii
import json
import os
import re
import select
import signal
import sys
import termios
import time
import tty

from coordctl import runner_child, runner_wire
from coordctl.runner_log import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

    from coordctl.runner_child import Child
    from coordctl.runner_wire import Wire

NOT_RUN: Final = 125
BEHIND: Final = 1 << 20
"""Bytes that the pane may be behind before the display skips ahead."""
_SHOWN_AFTER_SKIP: Final = 32 << 10
_TYPED_AHEAD: Final = 64 << 10
_READ: Final = 1 << 16
_LAST_WORDS_S: Final = 1.0
"""How long output of an ended command is waited for, while something else holds its terminal."""
_QUIET_S: Final = 0.05
_KILL_AFTER_S: Final = 5.0
_RECONNECT_S: Final = 1.0
_SCREEN: Final = re.compile(rb"\x1b\[\?(?:[0-9;]*;)?(?:1049|1047|47)(?:;[0-9;]*)?([hl])")
_LEAVE_SCREEN: Final = b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?25h"
_PLAIN: Final = b"\x1b[?2004l\x1b[0m"


def main() -> NoReturn:
    """``launcher RUN``, after the launcher's own two words: socket and the file that names it."""
    socket_path, published, run = sys.argv[1:4]
    wire = runner_wire.Wire(socket_path, published)
    try:
        assignment = runner_wire.claim(wire, run)
    except runner_wire.NotGiven as refusal:
        _leave(f"coordinatord: {refusal}")
    except runner_wire.Gone:
        _leave("coordinatord: no daemon answers; the command was not run.")
    os._exit(_run(wire, run, assignment))


def _leave(sentence: str) -> NoReturn:
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
    os._exit(NOT_RUN)


def _run(wire: Wire, run: str, assignment: dict[str, Any]) -> int:
    given = assignment["environment"]
    log = Log(assignment["log"])
    pane = Pane()
    report: dict[str, Any] = {}
    try:
        child = runner_child.start(
            assignment["command"],
            assignment["cwd"],
            runner_child.environment(
                None if given is None else binascii.a2b_base64(given), os.environb
            ),
            pane.modes,
            pane.terminal,
        )
    except runner_child.CannotStart as error:
        report["detail"] = str(error)[:500]
        pane.restore()
        sys.stderr.write(f"coordinatord: {error}\n")
    else:
        session = Session(wire, run, child, log, pane)
        session.go()
        pane.finish(session.on_screen)
        report["alternate_screen"] = session.drew
        report["hung_up"] = pane.gone
        report["exit_code"] = child.exit_code
    log.close()
    report["written"] = log.written
    _deliver(wire, run, report, assignment["log"], quiet=pane.gone)
    code = report.get("exit_code")
    return NOT_RUN if code is None else int(code)


class Pane:
    """The pane's terminal: raw while the command runs, its display never waited for."""

    def __init__(self) -> None:
        try:
            name = os.ttyname(0)
            # a descriptor of its own: what is set on it does not touch the shell's
            self.terminal = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            self.modes = termios.tcgetattr(self.terminal)
        except (OSError, termios.error):
            _leave("coordinatord: a tool run needs a terminal.")
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
            note = f"\r\n\x1b[0m[{cut} bytes are not shown here: {self.log_name}]\r\n"
            self.backlog[:cut] = note.encode()

    def draw(self) -> None:
        """Write as much as the pane takes now."""
        try:
            while self.backlog:
                del self.backlog[: os.write(self.terminal, self.backlog[:_READ])]
        except BlockingIOError:
            pass  # the rest when it takes more
        except OSError:
            self.hang_up()

    def typed(self) -> bytes:
        """What was typed since; empty too if the pane is gone."""
        try:
            raw = os.read(self.terminal, _READ)
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
        until = time.monotonic() + 2
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
            raw = os.read(self._child.master, _READ)
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
                self._kill_at = self._kill_at or time.monotonic() + _KILL_AFTER_S / 25

    def _hear_daemon(self) -> None:
        try:
            for message in self._wire.heard():
                if message.get("method") == "tool.cancel":
                    self._end()
        except runner_wire.Gone:
            self._reconnect_at = time.monotonic() + _RECONNECT_S / 10

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
        try:
            again = self._wire.ask("tool.runner-claim", run=self._run, resume=True)
        except runner_wire.Gone:
            return
        except runner_wire.NotGiven:
            self._reconnect_at = time.monotonic() + 30 * _RECONNECT_S
            self._wire.close()
            return
        if again.get("cancelled"):
            self._end()

    def _last_words(self) -> None:
        until = time.monotonic() + _LAST_WORDS_S
        while self._open and time.monotonic() < until:
            if not self._turn(_QUIET_S) and self._open:
                break
        os.close(self._child.master)


def _deliver(wire: Wire, run: str, report: dict[str, Any], log: str, *, quiet: bool) -> None:
    """Report until somebody took it. Left in a file too once there is nobody."""
    told = False
    while True:
        try:
            wire.ask("tool.runner-done", run=run, **report)
        except runner_wire.Gone:
            pass
        except runner_wire.NotGiven:
            return
        else:
            _forget(log)
            return
        if not told:
            told = True
            _keep(log, report)
            if not quiet:
                sys.stderr.write(
                    "coordinatord does not answer: the result waits here for it (ctrl+c: in a file).\n"
                )
            signal.signal(signal.SIGINT, lambda *_: os._exit(report.get("exit_code") or NOT_RUN))
        if quiet:
            return
        time.sleep(0.3)


def _keep(log: str, report: dict[str, Any]) -> None:
    path = log.removesuffix(".log") + ".status"
    try:
        handle = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(json.dumps(report))
            file.flush()
            os.fsync(handle)
        os.replace(f"{path}.new", path)
    except OSError:
        pass  # the status waits in this process


def _forget(log: str) -> None:
    try:
        os.unlink(log.removesuffix(".log") + ".status")
    except OSError:
        pass  # there was none


if __name__ == "__main__":
    main()
