"""Calls over the socket: connect (starting a daemon if need be), greet, ask, ask once more.

Standard library only. The greeting and the request travel together, so that a call takes one turn.
"""

from __future__ import annotations

import json
import os
import socket
import time

from coordctl.failures import Failure
from coordinatord import __version__, locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Any, Final, TypeAlias

    from coordinatord.starting import Start

    Json: TypeAlias = Any

SILENCE_S: Final = 15.0
"""Longest wait in seconds for the next byte before the daemon counts as not answering."""
BACK_S: Final = 3.0
"""How long in seconds to look for a daemon that just went away, where none may be started."""
_PAUSE_S: Final = 0.02
_LONGEST_ANSWER: Final = 64 << 20
_HELLO: Final = "hello"


class Lost(Exception):
    """The connection ended before the answer came."""


class Target:
    """Whom to call: the address, the caller's environment, and whether a start is allowed."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        socket: str | None = None,
        directory: str | None = None,
        start: bool = True,
    ) -> None:
        self.environ = environ
        self.address = locate.resolve(environ, socket=socket, directory=directory)
        self.start = start
        self.flags: tuple[str, ...] = ()
        """Flags for a daemon that has to be started."""
        self.begun: Start | None = None
        """The newest start that was made for this target."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the daemon may be: where it said it is, then where one started now would be."""
        workspace = self.address.workspace
        if workspace is None:
            return (self.address.path,)
        published = locate.published_socket(workspace)
        own = workspace.socket
        return (own,) if published in (None, own) else (published, own)

    @property
    def may_start(self) -> bool:
        """Nobody named the socket, forbade a start, or gave the start to a service manager."""
        workspace = self.address.workspace
        if workspace is None or not self.start:
            return False
        return not locate.service_managed(workspace, self.environ)


class Connection:
    """One connection to a daemon: requests out, messages in."""

    def __init__(self, stream: socket.socket, silence_s: float | None) -> None:
        self._stream = stream
        self._silence_s = silence_s
        self._held = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    def wait_for_ever(self) -> None:
        """From now on silence is no failure (a watch)."""
        self._silence_s = None

    def send(self, *requests: Json) -> None:
        """Write the requests in one go. A daemon that is gone shows when its answer is read."""
        lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in requests)
        self._stream.settimeout(self._silence_s)
        try:
            self._stream.sendall(lines.encode())
        except TimeoutError:
            raise _absent().silent() from None
        except OSError:
            pass  # what the daemon said before it closed is still to be read

    def messages(self) -> Iterator[dict[str, Json]]:
        """What the daemon says, until it closes: then `Lost`."""
        while True:
            line = self._next_line()
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict):
                raise Failure(
                    "no-daemon",
                    "What answers at the socket is not coordinatord.",
                    "Check --socket and COORDINATORD_SOCKET.",
                )
            yield message

    def answer_to(self, number: int) -> Json:
        """The result of the request with this id; errors are raised as `Failure`."""
        for message in self.messages():
            if "method" in message or message.get("id") not in (number, None):
                continue
            error = message.get("error")
            if isinstance(error, dict):
                raise Failure.from_wire(error)
            if message.get("id") == number:
                return message.get("result")
        raise Lost

    def wait_closed(self) -> None:
        """Read on until the daemon closes its end: then `Lost`."""
        for _ in self.messages():
            pass

    def _next_line(self) -> bytes:
        pieces = [self._held]
        size = len(self._held)
        while b"\n" not in pieces[-1]:
            pieces.append(self._receive())
            size += len(pieces[-1])
            if size > _LONGEST_ANSWER:
                raise Failure("no-daemon", "The answer is longer than any daemon's.")
        line, _, self._held = b"".join(pieces).partition(b"\n")
        return line

    def _receive(self) -> bytes:
        self._stream.settimeout(self._silence_s)
        try:
            piece = self._stream.recv(65536)
        except TimeoutError:
            raise _absent().silent() from None
        except OSError:
            raise Lost from None
        if not piece:
            raise Lost
        return piece


def call(target: Target, method: str, params: dict[str, Json]) -> Json:
    """The result of one request. A mutation carries its key, so asking once more is safe.

    Raises:
        Failure: the daemon's refusal, or ours: ``no-daemon``, ``uncertain``, ``folder-unsafe``.
    """
    ours = False
    for last in (False, True):
        try:
            with connect(target, again=last) as connection:
                ours = ours if last else target.begun is not None
                connection.send(hello(target.environ), request(1, method, params))
                try:
                    return connection.answer_to(1)
                except Failure as failure:
                    if failure.reason != "stopping" or last:
                        raise
                    connection.wait_closed()  # the next one can start when this one is gone
        except Lost:
            pass
    raise _absent().lost_twice(target, mutation="key" in params, ours=ours)


def request(number: int, method: str, params: dict[str, Json]) -> dict[str, Json]:
    """A request as it stands on its line."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def hello(environ: Mapping[str, str]) -> dict[str, Json]:
    """The greeting: our name and version, and what the environment claims about our pane."""
    params = {"client": "coordctl", "version": __version__}
    for field, variable in (
        ("pane_id", "HERDR_PANE_ID"),
        ("terminal_socket", "HERDR_SOCKET_PATH"),
        ("token", "COORDINATORD_TOKEN"),
    ):
        value = environ.get(variable)
        if value and value.isprintable():
            params[field] = value
    return request(0, _HELLO, params)


def connect(target: Target, *, again: bool = False) -> Connection:
    """A connection to the daemon, started if none answers and a start is allowed.

    Args:
        again: a connection was lost just now: a daemon that others restart gets a moment.
    """
    deadline = time.monotonic() + SILENCE_S
    stream = _try_paths(target.paths, deadline)
    if stream is None and target.may_start:
        stream = _absent().start(target, lambda: _try_paths(target.paths, deadline), deadline)
    elif stream is None and again:
        stream = _absent().wait(lambda: _try_paths(target.paths, deadline))
    if stream is None:
        raise _absent().nobody(target)
    return Connection(stream, SILENCE_S)


def _try_paths(paths: tuple[str, ...], deadline: float) -> socket.socket | None:
    for path in paths:
        stream = _try(path, deadline)
        if stream is not None:
            return stream
    return None


def _try(path: str, deadline: float) -> socket.socket | None:
    """A checked connection, or None if nothing listens there."""
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _connected(stream, path, deadline):
            return stream
    except BaseException:
        stream.close()
        raise
    stream.close()
    return None


def _connected(stream: socket.socket, path: str, deadline: float) -> bool:
    stream.settimeout(max(deadline - time.monotonic(), 0.001))
    while True:
        try:
            stream.connect(path)
            break
        except BlockingIOError:  # its queue is full: it is there, and slow or stopped
            if time.monotonic() > deadline:
                raise _absent().silent() from None
            time.sleep(_PAUSE_S)
        except TimeoutError:
            raise _absent().silent() from None
        except PermissionError:
            raise _absent().forbidden(path) from None
        except (OSError, ValueError):
            return False
    uid = locate.peer_uid(stream)
    if uid is not None and uid != os.geteuid():
        raise _absent().foreign(path, uid)
    return True


def _absent() -> Any:
    from coordctl import absent

    return absent
