"""A door before a terminal host that passes everything on except events: subscribed, and silent."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path


class MuteDoor:
    """Listens at ``path`` and passes each request on to ``host``; after a subscription's answer nothing."""

    def __init__(self, path: Path, host: str) -> None:
        self._host = host
        self._held: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for held in self._held:
            held.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        line = client.makefile("rb").readline()
        if not line:
            client.close()
            return
        host = socket.socket(socket.AF_UNIX)
        host.connect(self._host)
        host.sendall(line)
        answer = host.makefile("rb").readline()
        request = json.loads(line)
        if request["method"] == "ping":
            answer = _as_herdr(answer)
        client.sendall(answer)
        if request["method"] == "events.subscribe":
            self._held += [client, host]
            return
        client.close()
        host.close()


def _as_herdr(answer: bytes) -> bytes:
    """The embedded host says what it is, and another workspace's is never taken for a Herdr."""
    pong = json.loads(answer)
    pong["result"]["capabilities"].pop("coordinatord_panehost", None)
    return json.dumps(pong).encode() + b"\n"
