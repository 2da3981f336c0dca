"""A door before an embedded host that makes it pass for a Herdr, and for one that does worse.

It hides the word by which the embedded host says what it is. It can lose every event, speak another
protocol, be away, and give every terminal a new id, as a Herdr does when it hands its panes over to
a new server.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from pathlib import Path
from typing import Any

_TERMINAL = re.compile(rb"\bterm(\d*)_")


class Door:
    """Listens at ``path`` and passes everything on to the host at the socket ``host``.

    Args:
        mute: after a subscription's answer nothing comes.
        protocol: what ``ping`` says, if not the truth.
    """

    def __init__(
        self, path: Path, host: str, *, mute: bool = False, protocol: int | None = None
    ) -> None:
        self.path = path
        self.requests: list[dict[str, Any]] = []
        """Every request that came, in order."""
        self._host = host
        self._mute = mute
        self._protocol = protocol
        self._generation = 0
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.come_back()

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The parameters of every request for this method."""
        return [each["params"] for each in self.requests if each["method"] == method]

    def go_away(self) -> None:
        """Like a server that ended: its connections end, its socket refuses."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            self.path.unlink(missing_ok=True)
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def come_back(self) -> None:
        """Listen again."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def hand_off(self) -> None:
        """Away and back, with the same panes and shells and new terminal ids."""
        self.go_away()
        self._generation += 1
        self.come_back()

    close = go_away

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        host = socket.socket(socket.AF_UNIX)
        both = {client, host}
        self._open |= both
        with client, host, contextlib.suppress(OSError, ValueError):
            line = client.makefile("rb").readline()
            request = json.loads(line)
            self.requests.append(request)
            host.connect(self._host)
            host.sendall(_TERMINAL.sub(b"term_", line))
            threading.Thread(target=_end_together, args=(client, host), daemon=True).start()
            self._answer(request["method"], host, client)
        self._open -= both

    def _answer(self, method: str, host: socket.socket, client: socket.socket) -> None:
        for number, line in enumerate(host.makefile("rb")):
            if number and self._mute:
                continue
            told = self._as_herdr(line) if method == "ping" else line
            if self._generation:
                told = _TERMINAL.sub(b"term%d_" % self._generation, told)
            client.sendall(told)

    def _as_herdr(self, answer: bytes) -> bytes:
        """Another workspace's embedded host is never taken for a Herdr: it must not say it is one."""
        pong = json.loads(answer)
        pong["result"]["capabilities"].pop("coordinatord_panehost", None)
        if self._protocol is not None:
            pong["result"]["protocol"] = self._protocol
        return json.dumps(pong).encode() + b"\n"


def _end_together(client: socket.socket, host: socket.socket) -> None:
    """A client that goes takes its request with it."""
    with contextlib.suppress(OSError):
        while client.recv(65536):
            pass
        host.shutdown(socket.SHUT_RDWR)
