"""The runner's line to the daemon: a connection that is found again after the daemon was restarted.

It imports next to nothing before the first request is on its way: that one is waited for.
"""

from __future__ import annotations

import _socket  # what ``socket`` wraps: that would bring four more modules
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

ANSWER_WITHIN_S: Final = 30.0
CONNECT_WITHIN_S: Final = 1.0
CLAIM: Final = "tool.runner-claim"


class Gone(Exception):
    """No daemon, or none any more."""


class NotGiven(Exception):
    """The daemon refused."""


class Wire:
    """One connection. Requests are answered in order here: one at a time is enough."""

    def __init__(self, socket_path: str, published: str) -> None:
        self._paths = (socket_path, published)
        self._stream: _socket.socket | None = None
        self._held = b""
        self._number = 0

    def fileno(self) -> int:
        """For polling; -1 while there is no connection."""
        return -1 if self._stream is None else self._stream.fileno()

    def send_claim(self, run: str) -> int | None:
        """Send the first request; its number, or None if it has to be sent again."""
        if not (run.isascii() and run.replace("-", "").isalnum()):
            return None  # no id that may stand in JSON as it is
        try:
            return self._post(CLAIM, f'{{"run":"{run}"}}')
        except Gone:
            return None

    def send(self, method: str, **params: Any) -> int:
        """Send a request without waiting for its answer, which `heard` gives; its number.

        Raises:
            Gone: there is nobody to send it to.
        """
        import json

        return self._post(method, json.dumps(params))

    def _post(self, method: str, params: str) -> int:
        stream = self._connected()
        self._number += 1
        line = f'{{"jsonrpc":"2.0","id":{self._number},"method":"{method}","params":{params}}}\n'
        try:
            stream.settimeout(CONNECT_WITHIN_S)
            stream.sendall(line.encode())
        except OSError:
            self.close()
            raise Gone from None
        return self._number

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one request.

        Raises:
            Gone: there was no answer.
            NotGiven: the daemon's refusal, with its sentence.
        """
        return self.answer_to(self.send(method, **params))

    def answer_to(self, number: int) -> dict[str, Any]:
        """The result of the request that was sent last.

        Raises:
            Gone, NotGiven: as `ask`.
        """
        stream = self._connected()
        try:
            stream.settimeout(ANSWER_WITHIN_S)
            message = self._next(stream)
            while message.get("id", number) != number or "method" in message:
                message = self._next(stream)
        except OSError:
            self.close()
            raise Gone from None
        if "error" in message:
            raise NotGiven(str(message["error"].get("message", "")))
        result: dict[str, Any] = message["result"]
        return result

    def heard(self) -> list[dict[str, Any]]:
        """What the daemon said by itself, once the connection is readable.

        Raises:
            Gone: it closed.
        """
        if self._stream is None:
            raise Gone
        self._stream.settimeout(0)
        try:
            piece = self._stream.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            piece = b""
        if not piece:
            self.close()
            raise Gone
        import json

        *lines, self._held = (self._held + piece).split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]

    def close(self) -> None:
        """Hang up."""
        if self._stream is not None:
            self._stream.close()
        self._stream, self._held = None, b""

    def _connected(self) -> _socket.socket:
        if self._stream is None:
            for path in (self._paths[0], _first_line(self._paths[1])):
                self._stream = self._stream or _connect(path)
            if self._stream is None:
                raise Gone
        return self._stream

    def _next(self, stream: _socket.socket) -> dict[str, Any]:
        while b"\n" not in self._held:
            piece = stream.recv(1 << 20)
            if not piece:
                raise OSError
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        import json

        message: dict[str, Any] = json.loads(line)
        return message


def claim(wire: Wire, run: str, number: int | None, patience_s: float = 5.0) -> dict[str, Any]:
    """What to do; a daemon that is away gets a moment.

    Args:
        number: the request that is under way, if there is one.

    Raises:
        Gone, NotGiven: as `Wire.ask`.
    """
    until = time.monotonic() + patience_s
    while True:
        try:
            return wire.answer_to(wire.send(CLAIM, run=run) if number is None else number)
        except Gone:
            number = None
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _connect(path: str) -> _socket.socket | None:
    stream = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    stream.settimeout(CONNECT_WITHIN_S)
    try:
        stream.connect(path)
    except (OSError, ValueError):
        stream.close()
        return None
    return stream


def _first_line(path: str) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(handle, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline().strip()
