r"""``pane attach``: a pane of the embedded host in this terminal, until ctrl+\ or the pane's end.

The pane's bytes are passed through: it is this terminal that draws, so everything it can do works.
Invariant: however it ends, the terminal is put back as it was found.
Standard library only. The other side: `coordinatord.panehost.attach`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import selectors
import signal
import socket
import sys
import termios
import tty

from coordctl import calling, transport
from coordctl.failures import NO_DAEMON, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any, Final

    from coordctl.grammar import Invocation

_ANSWER_S: Final = 10.0
_HINT_S: Final = 0.7
"""How long in seconds the line that says how to leave stands before the pane is drawn."""
_DETACH: Final = (b"\x1c", b"\x1b[92;5u", b"\x1b[27;5;92~")
r"""ctrl+\ as terminals send it: plainly, and in the two extended ways that applications ask for."""
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_PRIVATE_MODES: Final = (1, 9, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026)
_RESET: Final = (
    "\x1b[!p\x1b[?1049l\x1b[?6l\x1b[?7h\x1b[?25h\x1b[4l\x1b[m\x1b[r\x1b(B\x1b)B\x0f\x1b>"
    + "".join(f"\x1b[?{mode}l" for mode in _PRIVATE_MODES)
    + "\x1b[<99u\x1b[>4m\x1b[0 q\x1b]2;\x07\x1b[23;2t\x1b[999;1H\r\n"
)
"""Back to a terminal's usual state: screen, modes, keyboard, cursor shape, title, last line."""


class _Ended(BaseException):
    """A signal asks this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def attach(invocation: Invocation) -> int:
    r"""Attach until ctrl+\, the pane's end, or the host's.

    Raises:
        Failure: ``not-here`` with Herdr, ``pane-missing``, ``host-unreachable``, ``wrong-state``.
    """
    target = calling.target_of(invocation)
    terminal = transport.call(target, "daemon.status", {})["terminal"]
    asked = invocation.params["pane"]
    pane = _found(transport.call(target, "pane.list", {})["items"], asked)
    if terminal["kind"] == "herdr":
        raise _belongs_to_herdr(pane)
    if not (os.isatty(0) and os.isatty(1)):
        raise Failure("wrong-state", "Standard input and output must be a terminal to attach.")
    if (os.environ.get("HERDR_SOCKET_PATH"), os.environ.get("HERDR_PANE_ID")) == (
        terminal["socket"],
        pane["pane_id"],
    ):
        raise Failure("wrong-state", "This is that pane: it would show itself without end.")
    return _attached(terminal["socket"], pane["pane_id"])


def _found(panes: list[dict[str, Any]], asked: str) -> dict[str, Any]:
    """The one pane that has this id, seat or label."""
    for name in ("pane_id", "seat", "label"):
        found = [pane for pane in panes if pane.get(name) == asked]
        if len(found) == 1:
            return found[0]
    raise Failure("pane-missing", f"There is no pane {asked}.", "coordctl pane list shows them.")


def _belongs_to_herdr(pane: dict[str, Any]) -> Failure:
    by_agent = f", or herdr agent attach {pane['pane_id']}" if pane.get("agent") else ""
    return Failure(
        "not-here",
        "Herdr shows its panes itself; attach is for the embedded pane host.",
        f"herdr terminal attach {pane['terminal_id']}{by_agent}",
    )


def _attached(path: str, pane: str) -> int:
    sys.stdout.write(f"coordctl: {pane} follows; leave it with ctrl+\\\n")
    sys.stdout.flush()
    stream, first = _connected(path, pane)
    try:
        with stream, _raw_terminal(pane):
            over = _Passage(stream).run(first)
    except _Ended as ended:
        sys.stdout.write(f"coordctl: {pane} is left: {signal.Signals(ended.number).name}\n")
        return 128 + ended.number
    if over == "lost":
        return _after_the_end(path, pane)
    sys.stdout.write(f"coordctl: {pane} is left: {over}\n")
    return 0


def _after_the_end(path: str, pane: str) -> int:
    """The connection ended on the other side: was it the pane, or the whole host?"""
    try:
        _request(path, {"id": "g", "method": "pane.get", "params": {"pane_id": pane}})[0].close()
    except Failure as failure:
        if failure.reason != "pane-missing":
            raise
        sys.stdout.write(f"coordctl: {pane} has ended\n")
        return 0
    raise Failure("host-unreachable", f"The pane host let go of {pane}; it still runs.")


def _connected(path: str, pane: str) -> tuple[socket.socket, bytes]:
    columns, rows = os.get_terminal_size(1)
    params = {"pane_id": pane, "columns": columns, "rows": rows}
    return _request(path, {"id": "a", "method": "coordinatord.pane.attach", "params": params})


def _request(path: str, request: dict[str, Any]) -> tuple[socket.socket, bytes]:
    """The connection after a good answer, and what came behind that."""
    stream = socket.socket(socket.AF_UNIX)
    try:
        stream.settimeout(_ANSWER_S)
        stream.connect(path)
        stream.sendall(json.dumps(request).encode() + b"\n")
        got = b""
        while b"\n" not in got:
            piece = stream.recv(65536)
            if not piece:
                raise ConnectionError
            got += piece
        line, _, rest = got.partition(b"\n")
        error = json.loads(line).get("error")
    except (OSError, ValueError):
        stream.close()
        raise Failure(
            "host-unreachable",
            "The pane host does not answer.",
            "coordctl status",
            status=NO_DAEMON,
        ) from None
    if error is not None:
        stream.close()
        reason = "pane-missing" if error["code"] == "pane_not_found" else "host-refused"
        raise Failure(reason, str(error["message"]), "coordctl pane list shows the panes.")
    return stream, rest


@contextlib.contextmanager
def _raw_terminal(pane: str) -> Iterator[None]:
    """The terminal passes every key; afterwards it is as it was, whatever happened."""
    before = termios.tcgetattr(0)
    handlers = {number: signal.signal(number, _end) for number in _ENDING}
    try:
        _pause_for_reading()
        tty.setraw(0, termios.TCSADRAIN)
        # what stood here goes to the scrollback; the title is kept for later
        rows = os.get_terminal_size(1).lines
        _write(("\x1b[22;2t\x1b]2;" + pane + " (leave: ctrl+\\)\x07" + "\r\n" * rows).encode())
        yield
    finally:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(OSError, termios.error):  # the terminal itself may be gone
            _write(_RESET.encode())
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(0, termios.TCSAFLUSH, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _pause_for_reading() -> None:
    """The line that was just written can be read; a key ends the pause."""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.select(_HINT_S)


def _end(number: int, frame: FrameType | None) -> None:
    raise _Ended(number)


class _Passage:
    """Bytes both ways: the terminal's to the pane as JSON lines, the pane's as they are."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._last = b""

    def run(self, first: bytes) -> str:
        """Pass until one of both ends; what it was in a word or two."""
        self._stream.settimeout(None)
        _write(first)
        with _size_changes() as changes, selectors.DefaultSelector() as selector:
            for source in (0, self._stream, changes):
                selector.register(source, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    over = self._one(key.fileobj, changes)
                    if over:
                        return over

    def _one(self, source: Any, changes: socket.socket) -> str | None:
        try:
            if source == 0:
                return self._take_keys()
            if source is changes:
                changes.recv(64)
                self._send({"resize": list(os.get_terminal_size(1))})
                return None
            return self._show()
        except (BrokenPipeError, ConnectionError):
            return "lost"
        except OSError:
            return "this terminal is gone"

    def _take_keys(self) -> str | None:
        keys = os.read(0, 65536)
        if not keys:
            return "this terminal is gone"
        before, detach = _until_detach(self._last, keys)
        self._last = keys[-16:]
        if before:
            self._send({"bytes": base64.b64encode(before).decode()})
        return "it goes on without you" if detach else None

    def _show(self) -> str | None:
        piece = self._stream.recv(65536)
        if not piece:
            return "lost"
        _write(piece)
        return None

    def _send(self, message: dict[str, Any]) -> None:
        self._stream.sendall(json.dumps(message).encode() + b"\n")


def _until_detach(before: bytes, keys: bytes) -> tuple[bytes, bool]:
    r"""The keys up to ctrl+\, and whether it came. It may have begun in the bytes before."""
    stream = before + keys
    places = [stream.find(sign, max(0, len(before) - len(sign) + 1)) for sign in _DETACH]
    found = [place for place in places if place >= 0]
    if not found:
        return keys, False
    return keys[: max(0, min(found) - len(before))], True


@contextlib.contextmanager
def _size_changes() -> Iterator[socket.socket]:
    """Readable after each change of the window's size, and after a stop (`SIGCONT`)."""
    waking, woken = socket.socketpair()
    waking.setblocking(False)
    before = {
        number: signal.signal(number, lambda *_: None)
        for number in (signal.SIGWINCH, signal.SIGCONT)
    }
    old = signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(old)
        for number, handler in before.items():
            signal.signal(number, handler)
        waking.close()
        woken.close()


def _write(piece: bytes) -> None:
    while piece:
        try:
            piece = piece[os.write(1, piece) :]
        except BlockingIOError:  # another program left the terminal so
            select.select([], [1], [])
