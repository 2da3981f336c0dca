"""A toy daemon on a plain socket that does as it is told; and coordctl as a process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

CHECKOUT: Final = Path(__file__).parents[2]
CLOSE: Final = object()
"""Close the connection instead of answering."""
SILENT: Final = object()
"""Say nothing."""

Respond = Callable[[dict[str, Any]], Any]


class Refusal(Exception):
    """Raise it in `respond` to answer with an error."""

    def __init__(self, reason: str, message: str = "No.", hint: str | None = None) -> None:
        super().__init__(message)
        self.error = {"code": -32000, "message": message, "data": {"reason": reason, "hint": hint}}


class Notes(list[dict[str, Any]]):
    """Answer with these notifications' params as ``watch.line``, after a result."""

    def __init__(self, result: Any, *lines: dict[str, Any], close: bool = False) -> None:
        super().__init__(lines)
        self.result = result
        self.close = close


class Toy:
    """Listens at ``path``; `received` has every request but ``hello``, `greetings` the hellos."""

    def __init__(self, path: Path, respond: Respond) -> None:
        self.path = path
        self.received: list[dict[str, Any]] = []
        self.greetings: list[dict[str, Any]] = []
        self.connections = 0
        self._respond = respond
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(8)
        self._streams: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and drop every connection."""
        self.path.unlink(missing_ok=True)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for stream in self._streams:
            stream.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                stream = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            self._streams.append(stream)
            threading.Thread(target=self._converse, args=(stream,), daemon=True).start()

    def _converse(self, stream: socket.socket) -> None:
        try:
            with stream, stream.makefile("rb") as lines:
                for line in lines:
                    if not self._take(stream, json.loads(line)):
                        stream.shutdown(socket.SHUT_RDWR)
                        return
        except OSError:
            pass

    def _take(self, stream: socket.socket, request: dict[str, Any]) -> bool:
        if request["method"] == "hello":
            self.greetings.append(request["params"])
            welcome = {"version": "0", "workspace": "/w", "seat": "operator", "proof": "operator"}
            _say(stream, id=request["id"], result=welcome)
            return True
        self.received.append(request)
        try:
            answer = self._respond(request)
        except Refusal as refusal:
            _say(stream, id=request.get("id"), error=refusal.error)
            return True
        if answer is CLOSE:
            return False
        if isinstance(answer, Notes):
            _say(stream, id=request["id"], result=answer.result)
            for line in answer:
                _say(stream, method="watch.line", params=line)
            return not answer.close
        if answer is not SILENT:
            _say(stream, id=request["id"], result=answer)
        return True


def _say(stream: socket.socket, **members: Any) -> None:
    stream.sendall(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")


def environment(**more: str) -> dict[str, str]:
    """The environment for a coordctl of this checkout, without what would change its answers."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HERDR_", "COORDINATORD_", "XDG_RUNTIME_DIR"))
    }
    path = os.pathsep.join((str(CHECKOUT / "clients"), str(CHECKOUT)))
    return {**kept, "PYTHONPATH": path, **more}


def coordctl(
    *arguments: str | bytes,
    cwd: Path,
    stdin: bytes = b"",
    variables: Mapping[str, str] | None = None,
    **more: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "coordctl", *arguments],
        cwd=cwd,
        env=environment(**(variables or {}), **more),
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
