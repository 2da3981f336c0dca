"""One request on one connection, bounded, with an honest answer to "was it done?".

Invariant: `Uncertain` only after the whole line was handed over; before that the host cannot have
acted, since it acts on whole lines only (herdr-protocol.md §1.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import anyio
import msgspec

from coordinatord.errors import HostRefused, PaneMissing, Uncertain, Unreachable, WorldFailed
from coordinatord.terminals.herdr.connection import Connection, Lost
from coordinatord.terminals.herdr.schema import Answer, Refusal

LINE_LIMIT: Final = 1024 * 1024
"""Bytes of one request with its line end; the host drops a longer one without a word (§1.3)."""

_MISSING: Final = frozenset({"pane_not_found", "agent_pane_not_found", "target_pane_not_found"})

_MAYBE_DONE: Final = frozenset(
    {"server_unavailable", "internal_error", "timeout", "agent_prompt_stalled"}
)
"""Codes that do not tell whether the host acted: its loop may have had the request already, and the
two outcomes of a wait come after the text was typed (§1.5, §7.1)."""

_NOT_ANSWERING: Final = frozenset({"server_unavailable"})

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Answer).decode


def line_of(method: str, params: Mapping[str, object], request_id: str = "c") -> bytes:
    """The request as it goes over the wire: ``params`` is always an object, ``id`` always a string.

    Raises:
        HostRefused: the line is over the host's limit; it was not sent.
    """
    try:
        line = _encode({"id": request_id, "method": method, "params": params}) + b"\n"
    except UnicodeEncodeError as error:
        raise HostRefused("not-unicode", "the text holds half a character") from error
    if len(line) > LINE_LIMIT:
        raise HostRefused("line-too-long", f"{method} would need {len(line)} bytes")
    return line


async def ask(
    path: str,
    method: str,
    params: Mapping[str, object],
    *,
    deadline: float,
    acts: bool = False,
    pane: str = "",
) -> msgspec.Raw:
    """Ask the host at ``path`` one thing; the result as it came.

    Args:
        deadline: seconds for all of it.
        acts: does the call change anything? Then an answer that stays away is `Uncertain`.
        pane: the pane that the call is about, for the error.

    Raises:
        Unreachable, PaneMissing, HostRefused, Uncertain: as `terminals.port` says.
    """
    line = line_of(method, params)
    connection = Connection()
    sent = False
    try:
        with anyio.fail_after(deadline):
            await connection.open(path, line)
            sent = True
            answer = _decode(await connection.read_line())
    except (Lost, TimeoutError, msgspec.MsgspecError) as error:
        why = f"{method}: {_reason(error, deadline)}"
        raise (Uncertain(why) if acts and sent else Unreachable(why)) from error
    finally:
        connection.close()
    # the id is not compared: parse errors carry none, and there is one request per connection (T-4)
    if answer.error is not None:
        raise failure(answer.error, acts=acts, pane=pane)
    return answer.result


def failure(refusal: Refusal, *, acts: bool, pane: str) -> WorldFailed:
    """What the host's error code means for the caller."""
    if refusal.code in _MISSING and pane:
        return PaneMissing(pane)
    if acts and refusal.code in _MAYBE_DONE:
        return Uncertain(f"{refusal.code}: {refusal.message}")
    if refusal.code in _NOT_ANSWERING:
        return Unreachable(f"{refusal.code}: {refusal.message}")
    return HostRefused(refusal.code, refusal.message)


def _reason(error: Exception, deadline: float) -> str:
    match error:
        case TimeoutError():
            return f"no answer within {deadline:g} s"
        case msgspec.MsgspecError():
            return "the answer cannot be read"
        case _:
            return str(error)
