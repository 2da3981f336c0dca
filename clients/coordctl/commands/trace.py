"""``trace record`` writes a trace, across restarts of the daemon; ``trace replay`` decides again on one."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from coordctl import calling, transport
from coordctl.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from coordctl.grammar import Invocation

DEFAULT_FILE: Final = "coordinatord-trace.jsonl"
DEFAULT_LIMIT_MB: Final = 100.0
DIFFERENT: Final = 1
_DROPPED: Final = "slow-watcher"


class _Over(BaseException):
    """The recording has come to its end; the argument says why."""


def record(invocation: Invocation) -> int:
    """Write lines until the time is over, the file is full, or somebody interrupts."""
    target, given = calling.target_of(invocation), invocation.params
    output = _Output(
        given.get("file") or DEFAULT_FILE,
        given.get("limit_mb") or DEFAULT_LIMIT_MB,
        given.get("for_s"),
    )
    signal.signal(signal.SIGTERM, _over)
    signal.signal(signal.SIGALRM, _over)
    try:
        _record(target, output)
    except (_Over, KeyboardInterrupt) as over:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if output.stream is None:
            raise KeyboardInterrupt from over  # nothing was recorded
        output.end(str(over) or "interrupted")
    if output.path != "-":
        _tell(invocation, output)
    return 0


def replay(invocation: Invocation) -> int:
    """0 if everything comes out as it was recorded, 1 if something does not."""
    from pathlib import Path

    import msgspec

    from coordinatord import folders, kinds
    from coordinatord.errors import Refused
    from coordinatord.features.trace.digests import digests
    from coordinatord.features.trace.replaying import replay as decide_again

    path, own = invocation.params["file"], folders.user_config(os.environ)
    try:
        known = kinds.load(Path(own).parent / "kinds" if own else None)
        with _opened(path) as lines:
            found = decide_again(lines, known, digests(known))
    except Refused as error:
        raise Failure(error.reason, str(error), error.hint) from error
    calling.show(invocation, msgspec.to_builtins(found))
    return 0 if found.same else DIFFERENT


class _Output:
    """The file that is written, and what was written so far. It is made when there is something for it."""

    def __init__(self, path: str, limit_mb: float, for_s: float | None) -> None:
        self.path = path
        self.stream: Any = None
        self.lines = self.bytes = self.gaps = 0
        self._limit = int(limit_mb * 1_000_000)
        self._for_s = for_s
        if path != "-" and os.path.lexists(path):
            raise _is_there(path)

    def begin(self, header: Any) -> None:
        """The daemon's first line, from which on time counts; after a lost connection a gap before it."""
        if self.stream is None:
            self.stream = _made(self.path)
            if self._for_s is not None:
                signal.setitimer(signal.ITIMER_REAL, max(self._for_s, 0.001))
        else:
            self.gaps += 1
            self.write({"line": "gap", "at": header["at"], "why": "the connection was lost"})
        self.write(header)

    def write(self, line: Any) -> None:
        """One line, or the end."""
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if self.bytes + len(data) > self._limit:
            raise _Over("the size limit")
        self.stream.write(data)
        self.stream.flush()
        self.lines += 1
        self.bytes += len(data)

    def end(self, why: str) -> None:
        """The last line: a trace that ended on purpose says so."""
        line = {"line": "end", "at": time.time(), "why": why}
        self.stream.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self.stream.flush()
        self.lines += 1


def _made(path: str) -> Any:
    if path == "-":
        return sys.stdout.buffer
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except FileExistsError:
        raise _is_there(path) from None
    except OSError as error:
        raise Failure("wrong-state", f"{path} cannot be written: {error.strerror}.") from error


def _is_there(path: str) -> Failure:
    return Failure(
        "wrong-state", f"{path} is there already.", "Name another: coordctl trace record FILE"
    )


def _record(target: transport.Target, output: _Output) -> None:
    again = False
    while True:
        before = output.lines
        try:
            with transport.connect(target, again=again) as connection:
                _follow(connection, target, output)
        except transport.Lost:
            if again and output.lines == before:
                time.sleep(1)  # a daemon that goes away at once, again and again
        except Failure as failure:
            if failure.reason not in (_DROPPED, "stopping"):
                raise
        again = True


def _follow(connection: transport.Connection, target: transport.Target, output: _Output) -> None:
    connection.send(transport.hello(target.environ), transport.request(1, "trace.record", {}))
    for message in connection.messages():
        if message.get("method") == "trace.line":
            output.write(message["params"])
        elif isinstance(message.get("error"), dict) and message.get("id") in (1, None):
            raise Failure.from_wire(message["error"])
        elif message.get("id") == 1:
            output.begin(message["result"]["begin"])
            connection.wait_for_ever()


def _over(number: int, frame: object) -> None:
    raise _Over("the time is over" if number == signal.SIGALRM else "ended")


def _tell(invocation: Invocation, output: _Output) -> None:
    path = os.path.abspath(output.path)
    result = {"path": path, "lines": output.lines, "bytes": output.bytes, "gaps": output.gaps}
    calling.show(invocation, result)


def _opened(path: str) -> Any:
    try:
        return sys.stdin.buffer if path == "-" else open(path, "rb")
    except OSError as error:
        raise Failure("wrong-state", f"{path} cannot be read: {error.strerror}.") from error
