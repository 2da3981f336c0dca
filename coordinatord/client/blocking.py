"""The blocking client: one socket, one call at a time. For scripts and threads."""

from __future__ import annotations

import contextlib
import os
import socket as sockets
import time
from collections.abc import Generator, Iterator, Mapping
from typing import TypeVar

from coordinatord import locate
from coordinatord.client import calls
from coordinatord.client.calls import SILENCE_S, Change, Lost, Target
from coordinatord.starting import PAUSE_S, Start
from coordinatord.wire.client_side import Answered, ClientSide, Event, Failed, Notified
from coordinatord.wire.requests import Request

R = TypeVar("R")


@contextlib.contextmanager
def connect_blocking(
    *,
    socket: str | None = None,
    directory: str | None = None,
    environ: Mapping[str, str] | None = None,
    client: str = "python",
    start: bool = True,
) -> Iterator[BlockingClient]:
    """A client of this workspace's daemon; arguments as in `coordinatord.client.connect`."""
    made = BlockingClient(calls.target(socket, directory, environ, client, start))
    try:
        yield made
    finally:
        made.close()


class BlockingClient:
    """Calls a daemon; not to be shared between threads."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._link: _Link | None = None

    def close(self) -> None:
        """Close the connection; another call would open a new one."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def call(self, request: Request[R], *, timeout: float = SILENCE_S) -> R:
        """The answer to one request.

        Args:
            timeout: longest silence of the daemon, in seconds.

        Raises:
            CallFailed: it was refused. NoDaemon: nothing answers. OutcomeUncertain: see there.
        """
        request = calls.with_key(request)
        for last in (False, True):
            try:
                if self._link is None:
                    self._link = _open(self._target)
                return calls.decode(request, self._link.ask(request, timeout))
            except Lost:
                self.close()
                if last:
                    raise calls.lost_twice(request) from None
            except calls.NoDaemon:
                self.close()
                raise
        raise AssertionError("unreachable")

    def watch(self, since: int | None = None) -> Generator[Change]:
        """Every change after the cursor, for ever, over connections of its own."""
        cursor = since
        while True:
            link = _open(self._target)
            try:
                for change in link.follow(cursor):
                    cursor = change.seq
                    yield change
            except Lost:
                pass
            except calls.CallFailed as failure:
                if failure.reason not in calls.RESUMABLE:
                    raise
            finally:
                link.close()


class _Link:
    def __init__(self, stream: sockets.socket, target: Target) -> None:
        self._stream = stream
        self._side = ClientSide()
        self._unsent = calls.greeting(self._side, target)

    def close(self) -> None:
        self._stream.close()

    def ask(self, request: Request[R], timeout: float) -> Event:
        id, line = calls.encode(self._side, request)
        self._send(line, timeout)
        for event in self._events(timeout):
            if isinstance(event, (Answered, Failed)) and event.id in (id, None):
                return event
        raise Lost

    def follow(self, since: int | None) -> Iterator[Change]:
        params = {} if since is None else {"since": since}
        id, line = self._side.call(calls.SUBSCRIBE, params)
        self._send(line, SILENCE_S)
        for event in self._events(None):
            if isinstance(event, Notified):
                change = calls.change_of(event)
                if change is not None and (since is None or change.seq > since):
                    since = change.seq
                    yield change
            elif isinstance(event, Answered) and event.id == id:
                since = calls.beginning_of(event)
            elif isinstance(event, Failed) and event.id in (id, None):
                raise calls.failure_of(event.error)

    def _send(self, line: bytes, timeout: float) -> None:
        self._stream.settimeout(timeout)
        try:
            self._stream.sendall(self._unsent + line)
        except TimeoutError:
            raise calls.silent() from None
        except OSError:
            pass  # what the daemon said before it closed is still to be read
        self._unsent = b""

    def _events(self, timeout: float | None) -> Iterator[Event]:
        self._stream.settimeout(timeout)
        while True:
            yield from self._side.events()
            try:
                piece = self._stream.recv(65536)
            except TimeoutError:
                raise calls.silent() from None
            except OSError:
                raise Lost from None
            if not piece:
                raise Lost
            self._side.feed(piece)


def _open(target: Target) -> _Link:
    deadline = time.monotonic() + SILENCE_S
    stream = _try(target, deadline)
    if stream is None and target.may_start:
        stream = _start(target, deadline)
    if stream is None:
        raise calls.nobody(target)
    return _Link(stream, target)


def _start(target: Target, deadline: float) -> sockets.socket:
    workspace = target.address.workspace
    assert workspace is not None
    begun = Start(workspace, target.environ)
    while time.monotonic() < deadline and not begun.failed:
        stream = _try(target, deadline)
        if stream is not None:
            return stream
        time.sleep(PAUSE_S)
    raise calls.NoDaemon("no-daemon", begun.sentence, begun.hint)


def _try(target: Target, deadline: float) -> sockets.socket | None:
    for path in target.paths:
        stream = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            _connect(stream, path, deadline)
        except OSError:
            stream.close()
            continue
        except BaseException:
            stream.close()
            raise
        return stream
    return None


def _connect(stream: sockets.socket, path: str, deadline: float) -> None:
    stream.settimeout(SILENCE_S)
    while True:
        try:
            stream.connect(path)
            break
        except (BlockingIOError, TimeoutError):  # its queue is full: it is there, and slow
            if time.monotonic() > deadline:
                raise calls.silent() from None
            time.sleep(PAUSE_S)
    uid = locate.peer_uid(stream)
    if uid is not None and uid != os.geteuid():
        raise calls.foreign(path, uid)
