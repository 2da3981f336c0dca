"""The daemon's end of one JSON-RPC connection: bytes in, calls out; answers in, bytes out.

Invariant: a call is answered once. An id that is still open is not taken a second time: the second
request with it is an invalid request, answered with a null id. A batch is answered as one line when
its last call is.

    side.feed(piece)
    for event in side.events():     # lazily: answer a call before taking the next event
        ...
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from coordinatord.wire import jsonrpc
from coordinatord.wire.jsonrpc import NULL, Call, Code, Error, Malformed, RawId
from coordinatord.wire.lines import MAX_LINE, LineBuffer, LineTooLong

CANCEL: Final = "$/cancel"
"""A notification with ``{"id": …}``: the caller takes that request back."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller took back a request that is still open. It must be answered all the same."""

    call: Call


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes to send now, made by the protocol itself: an answer to what is no request."""

    line: bytes


Event = Call | Cancelled | Reply


@dataclass(eq=False, slots=True)
class _Batch:
    answers: list[bytes] = field(default_factory=list)
    missing: int = 0

    def line_if_complete(self) -> bytes:
        if self.missing or not self.answers:
            return b""
        return b"[%b]\n" % b",".join(self.answers)


class _CancelParams(msgspec.Struct):
    id: msgspec.Raw


_cancel_params = msgspec.json.Decoder(_CancelParams)


class ServerSide:
    """What is open on one connection.

    Args:
        limit: longest line in bytes. A longer one is answered with an error, then `closing` is
            True, nothing more is read, and the connection should end once the queue is sent.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._lines = LineBuffer(limit)
        self._open: dict[Call, _Batch | None] = {}
        self._by_id: dict[Hashable, Call] = {}
        self.closing = False

    def feed(self, piece: bytes) -> None:
        """Take bytes as they came from the caller."""
        self._lines.feed(piece)

    def end(self) -> None:
        """The caller sends no more; an unfinished line is read as it stands."""
        self._lines.end()

    def events(self) -> Iterator[Event]:
        """What the caller asks, in its order, until more bytes are needed. Never raises."""
        if self.closing:
            return
        while (line := self._next_line()) is not None:
            if line.strip():
                yield from self._read(line)
        if self.closing:
            message = f"a line is limited to {self._limit} bytes"
            yield Reply(encode_farewell("line-too-long", message))

    def answer(self, call: Call, outcome: bytes | Error) -> bytes:
        """Close ``call`` with its result (JSON) or an error.

        Returns:
            What to send now: nothing for a notification, nor while others of its batch are open.

        Raises:
            KeyError: the call was answered before.
        """
        batch = self._open.pop(call)
        if call.id is not None:
            self._by_id.pop(jsonrpc.same_id(call.id), None)
        text = _encode(call.id, outcome)
        if batch is None:
            return text and text + b"\n"
        batch.missing -= 1
        if text:
            batch.answers.append(text)
        return batch.line_if_complete()

    def notify(self, method: str, params: object) -> bytes:
        """A notification to the caller."""
        return jsonrpc.encode_notification(method, params) + b"\n"

    @property
    def open_calls(self) -> Sequence[Call]:
        """Calls that are not answered yet, oldest first."""
        return tuple(self._open)

    def _next_line(self) -> bytes | None:
        try:
            return self._lines.next_line()
        except LineTooLong:
            self.closing = True
            return None

    def _read(self, line: bytes) -> Iterator[Event]:
        parsed = jsonrpc.parse(line)
        if isinstance(parsed, Call | Malformed):
            yield from self._admit_one(parsed)
        else:
            yield from self._admit_batch(parsed)

    def _admit_one(self, parsed: Call | Malformed) -> Iterator[Event]:
        admitted = self._admit(parsed, None)
        if isinstance(admitted, Malformed):
            yield Reply(jsonrpc.encode_error(admitted.id, admitted.error) + b"\n")
        else:
            yield from self._event_of(admitted)

    def _admit_batch(self, items: Sequence[Call | Malformed]) -> Iterator[Event]:
        batch = _Batch()
        admitted: list[Call] = []
        for item in items:
            one = self._admit(item, batch)
            if isinstance(one, Malformed):
                batch.answers.append(jsonrpc.encode_error(one.id, one.error))
            else:
                batch.missing += 1
                admitted.append(one)
        if not admitted:
            yield Reply(batch.line_if_complete())
        for call in admitted:
            yield from self._event_of(call)

    def _admit(self, parsed: Call | Malformed, batch: _Batch | None) -> Call | Malformed:
        if parsed.id is not None and parsed.id != NULL:
            name = jsonrpc.same_id(parsed.id)
            if name in self._by_id:
                return _id_is_open(parsed.id)
            if isinstance(parsed, Call):
                self._by_id[name] = parsed
        if isinstance(parsed, Call):
            self._open[parsed] = batch
        return parsed

    def _event_of(self, call: Call) -> Iterator[Event]:
        if call.id is not None or call.method != CANCEL:
            yield call
            return
        wanted = self._wanted(call.params)
        if wanted is not None:
            yield Cancelled(wanted)
        line = self.answer(call, b"")
        if line:
            yield Reply(line)

    def _wanted(self, params: bytes) -> Call | None:
        try:
            id = bytes(_cancel_params.decode(params).id)
        except msgspec.DecodeError:
            return None
        if not jsonrpc.is_id(id):
            return None
        return self._by_id.get(jsonrpc.same_id(RawId(id)))


def encode_farewell(reason: str, message: str, hint: str | None = None) -> bytes:
    """The last line before we close: a refusal that belongs to no request."""
    problem = jsonrpc.error(Code.REFUSED, reason, message, hint=hint)
    return jsonrpc.encode_error(NULL, problem) + b"\n"


def _encode(id: RawId | None, outcome: bytes | Error) -> bytes:
    if id is None:
        return b""
    if isinstance(outcome, Error):
        return jsonrpc.encode_error(id, outcome)
    return jsonrpc.encode_answer(id, outcome)


def _id_is_open(id: RawId) -> Malformed:
    message = f"the id {id.decode(errors='replace')} belongs to a request that is still open"
    hint = "give every request of a connection an id of its own"
    problem = jsonrpc.error(Code.INVALID_REQUEST, "invalid-request", message, hint=hint)
    return Malformed(NULL, problem)
