"""JSON-RPC 2.0: its shapes, and one line read or written. Source: the JSON-RPC 2.0 specification.

`server_side.py` and `client_side.py` keep what is open on one connection; here is what needs no
memory. An id is kept as the JSON text it came as, so that ``1.0``, ``1e3`` and thirty digits go
back unchanged.
"""

from __future__ import annotations

import decimal
import enum
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NewType

import msgspec

from coordinatord.errors import REASONS

RawId = NewType("RawId", bytes)
"""The JSON text of an id: a string, a number or ``null``."""

NULL: Final = RawId(b"null")
"""The id of an answer to something whose id could not be read."""

MAX_ID: Final = 1024
"""Longest id in bytes of JSON text: far above any identifier in use, and cheap to compare."""

MAX_BATCH: Final = 1000
"""Most calls in one batch: a megabyte of ``1,1,1`` would ask for half a million error answers."""


class Code(enum.IntEnum):
    """Error codes on the wire; the last two are ours (interfaces, Errors)."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    REFUSED = -32000
    CANCELLED = -32800


class ErrorData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``reason`` is a name from `coordinatord.errors.REASONS`; an older client may not know it."""

    reason: str
    hint: str | None = None
    log_id: str | None = None


class Error(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as it is answered. ``data`` is missing only from programs that are not ours."""

    code: int
    message: str
    data: ErrorData | None = None


def error(
    code: Code, reason: str, message: str, *, hint: str | None = None, log_id: str | None = None
) -> Error:
    """An error of ours.

    Raises:
        KeyError: ``reason`` is not in the one list.
    """
    if reason not in REASONS:
        raise KeyError(reason)
    return Error(int(code), message, ErrorData(reason=reason, hint=hint, log_id=log_id))


@dataclass(eq=False, frozen=True, slots=True)
class Call:
    """A request, or a notification if ``id`` is None.

    ``params`` is the JSON text of an object or an array; empty if the caller left it out.
    """

    method: str
    params: bytes
    id: RawId | None


@dataclass(frozen=True, slots=True)
class Malformed:
    """JSON that is no request. ``id`` is `NULL` if none could be read."""

    id: RawId
    error: Error


class _Envelope(msgspec.Struct):
    """Every member as its JSON text, so that a bad one does not hide the id. Empty: left out."""

    jsonrpc: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()


_envelope = msgspec.json.Decoder(_Envelope)
_array = msgspec.json.Decoder(list[msgspec.Raw])
_string = msgspec.json.Decoder(str)
_encoder = msgspec.json.Encoder()

_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_ID: Final = re.compile(rb'["0-9-]|null')
_REPLACEMENT: Final = rb"\ufffd"


def parse(line: bytes) -> Call | Malformed | Sequence[Call | Malformed]:
    """Read one line; a sequence is a batch. Never raises, whatever the bytes are."""
    if not _is_utf8(line):
        return _unreadable("not-unicode", "the line is not UTF-8")
    try:
        if line.lstrip()[:1] == b"[":
            return _parse_batch(line)
        return _parse_call(line)
    except RecursionError:
        return _unreadable("parse-error", "the JSON is nested too deeply")


def _parse_batch(line: bytes) -> Malformed | Sequence[Call | Malformed]:
    mended = line
    try:
        items = _array.decode(line)
    except msgspec.DecodeError as problem:
        mended = _without_lone_surrogates(line)
        try:
            items = _array.decode(mended)
        except msgspec.DecodeError:
            return _unreadable("parse-error", f"the line is not JSON: {problem}")
    if not items:
        return _invalid(NULL, "a batch holds at least one request")
    if len(items) > MAX_BATCH:
        return _invalid(NULL, f"a batch holds at most {MAX_BATCH} requests, not {len(items)}")
    return [_parse_call(text) for text in _as_they_came(items, mended, line)]


def _as_they_came(items: list[msgspec.Raw], mended: bytes, line: bytes) -> Iterator[bytes]:
    """Each item's text in ``line``: mending keeps offsets; only blanks and commas separate."""
    if mended == line:
        yield from map(bytes, items)
        return
    end = 0
    for item in map(bytes, items):
        start = mended.index(item, end)
        end = start + len(item)
        yield line[start:end]


def _parse_call(text: bytes) -> Call | Malformed:
    try:
        return _read(_envelope.decode(text))
    except msgspec.ValidationError:
        return _invalid(NULL, "a request is a JSON object")
    except msgspec.DecodeError as problem:
        mended = _without_lone_surrogates(text)
        if mended == text:
            return _unreadable("parse-error", f"the line is not JSON: {problem}")
        return _not_unicode(_parse_call(mended))


def _read(envelope: _Envelope) -> Call | Malformed:
    raw_id = bytes(envelope.id)
    if raw_id and not is_id(raw_id):
        return _invalid(NULL, f"an id is a string or a number of at most {MAX_ID} bytes, or null")
    id = RawId(raw_id) if raw_id else None
    shown = NULL if id is None else id
    if _text(envelope.jsonrpc) != "2.0":
        return _invalid(shown, 'a request says "jsonrpc": "2.0"')
    method = _text(envelope.method)
    if method is None:
        return _invalid(shown, "a request names its method in a string")
    params = bytes(envelope.params)
    if params and params[:1] not in b"{[":
        return _invalid(shown, "params is an object or an array, or left out")
    return Call(method, params, id)


def same_id(id: RawId) -> Hashable:
    """A value that is equal for two ids which a client cannot tell apart: ``1`` and ``1.0``."""
    if id[:1] == b'"':
        return _string.decode(id)
    try:
        return decimal.Decimal(id.decode("ascii"))
    except decimal.InvalidOperation:  # null, or an exponent beyond any number's
        return bytes(id)


def encode_answer(id: RawId, result: bytes) -> bytes:
    """The answer as JSON, without a newline. ``result`` is JSON already."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, result)


def encode_error(id: RawId, problem: Error) -> bytes:
    """The error answer as JSON, without a newline."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id, _encoder.encode(problem))


def encode_notification(method: str, params: object) -> bytes:
    """A notification as JSON, without a newline."""
    return _encoder.encode({"jsonrpc": "2.0", "method": method, "params": params})


def _is_utf8(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_id(text: bytes) -> bool:
    """Is this JSON text a string, a number or null, of bearable length?"""
    return len(text) <= MAX_ID and _ID.match(text) is not None


def _text(raw: msgspec.Raw) -> str | None:
    text = bytes(raw)
    return _string.decode(text) if text[:1] == b'"' else None


def _without_lone_surrogates(line: bytes) -> bytes:
    r"""The line with each escape like ``\ud800`` that has no partner replaced.

    JSON's grammar allows them and Unicode does not; the decoder refuses them like broken JSON. Read
    again without them, the line tells whose request it was.
    """
    return _ESCAPE.sub(lambda match: _REPLACEMENT if match[1] else match[0], line)


def _not_unicode(parsed: Call | Malformed) -> Malformed:
    """The verdict on a request that was only readable after replacing lone surrogates."""
    if isinstance(parsed, Malformed):
        return parsed
    id = parsed.id
    if id is None or _REPLACEMENT in bytes(id):
        id = NULL
    message = "a string holds half of a surrogate pair, which is not Unicode text"
    hint = "send the text as UTF-8, or escape characters above U+FFFF as a pair"
    return Malformed(id, error(Code.REFUSED, "not-unicode", message, hint=hint))


def _unreadable(reason: str, message: str) -> Malformed:
    return Malformed(NULL, error(Code.PARSE_ERROR, reason, message))


def _invalid(id: RawId, message: str) -> Malformed:
    return Malformed(id, error(Code.INVALID_REQUEST, "invalid-request", message))
