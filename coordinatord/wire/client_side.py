"""A client's end of one JSON-RPC connection: calls in, bytes out; bytes in, answers out.

Invariant: each call gets at most one answer; an answer to no open call is thrown away.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from coordinatord.wire import jsonrpc
from coordinatord.wire.jsonrpc import NULL, Error
from coordinatord.wire.lines import LineBuffer
from coordinatord.wire.server_side import CANCEL

MAX_ANSWER: Final = 64 << 20
"""Longest line in bytes that a client takes: an answer may hold many records of 256 KiB each."""


class NotJsonRpc(Exception):
    """What answers is not a JSON-RPC server; the connection is of no use."""


@dataclass(frozen=True, slots=True)
class Answered:
    """``result`` is JSON, to be decoded into what the request says."""

    id: int
    result: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    """``id`` is None if the error belongs to no call: an unreadable line, or a farewell."""

    id: int | None
    error: Error


@dataclass(frozen=True, slots=True)
class Notified:
    """The server says something by itself. ``params`` is JSON, empty if left out."""

    method: str
    params: bytes


Event = Answered | Failed | Notified


class _Message(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw()
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _BareError(msgspec.Struct):
    code: int
    message: str = ""


_message = msgspec.json.Decoder(_Message)
_messages = msgspec.json.Decoder(list[_Message])
_error = msgspec.json.Decoder(Error)
_bare_error = msgspec.json.Decoder(_BareError)


class ClientSide:
    """Makes calls and tells their answers apart; ids count from 1."""

    def __init__(self, limit: int = MAX_ANSWER) -> None:
        self._lines = LineBuffer(limit)
        self._ids = itertools.count(1)
        self._open: dict[bytes, int] = {}

    def call(self, method: str, params: object) -> tuple[int, bytes]:
        """The id of a new call, and what to send."""
        id = next(self._ids)
        self._open[b"%d" % id] = id
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return id, msgspec.json.encode(request) + b"\n"

    def notify(self, method: str, params: object) -> bytes:
        """A notification: nothing answers it."""
        return jsonrpc.encode_notification(method, params) + b"\n"

    def cancel(self, id: int) -> bytes:
        """Take a call back. It is still answered, as cancelled or with its result."""
        return self.notify(CANCEL, {"id": id})

    def feed(self, piece: bytes) -> None:
        """Take bytes as they came from the server."""
        self._lines.feed(piece)

    def events(self) -> Iterator[Event]:
        """What the server says, until more bytes are needed.

        Raises:
            NotJsonRpc: it does not speak JSON-RPC.
            LineTooLong: it says more in one line than the limit.
        """
        while (line := self._lines.next_line()) is not None:
            if line.strip():
                for message in _read(line):
                    yield from self._event_of(message)

    def _event_of(self, message: _Message) -> Iterator[Event]:
        if message.method is not None:
            yield Notified(message.method, bytes(message.params))
            return
        raw_id = bytes(message.id)
        id = self._open.pop(raw_id, None)
        if bytes(message.error) not in (b"", NULL):
            if id is not None or raw_id in (b"", NULL):
                yield Failed(id, _read_error(bytes(message.error)))
        elif id is not None:
            yield Answered(id, bytes(message.result) or NULL)


def _read(line: bytes) -> list[_Message]:
    try:
        if line.lstrip()[:1] == b"[":
            return _messages.decode(line)
        return [_message.decode(line)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise NotJsonRpc(str(problem)) from problem


def _read_error(text: bytes) -> Error:
    """An error of ours, or of a program whose ``data`` has another shape."""
    try:
        return _error.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # the shape is not ours: what every JSON-RPC error has is tried next
    try:
        bare = _bare_error.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise NotJsonRpc(str(problem)) from problem
    return Error(bare.code, bare.message)
