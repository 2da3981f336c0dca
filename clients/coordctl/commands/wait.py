"""``wait``: until a seat is settled, needs somebody or is gone, or a question is answered.

It asks in pieces, so that a daemon that is restarted meanwhile ends nothing.
"""

from __future__ import annotations

import time

from coordctl import calling, transport
from coordctl.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from coordctl.grammar import Invocation

TIME_LIMIT: Final = 4
GONE: Final = 6
_PIECE_S: Final = 10.0
"""Seconds that one call may take: below the silence after which a daemon counts as not answering."""


def wait(invocation: Invocation) -> int:
    """0 when it came as wanted, 6 when the seat is gone (also if that was wanted), 4 at the limit."""
    target = calling.target_of(invocation)
    limit = invocation.params.pop("limit_s", None)
    ends = None if limit is None else time.monotonic() + limit
    while True:
        left = _PIECE_S if ends is None else min(_PIECE_S, ends - time.monotonic())
        found = _piece(target, {**invocation.params, "limit_s": max(left, 0.001)})
        if found["over"]:
            calling.show(invocation, found)
            return GONE if found["state"] == "gone" else 0
        if ends is not None and time.monotonic() >= ends:
            calling.show(invocation, found)
            return TIME_LIMIT


def _piece(target: transport.Target, params: dict[str, Any]) -> dict[str, Any]:
    """One call; a daemon that is just being restarted is asked again for a while."""
    for last in (False, True):
        try:
            found: dict[str, Any] = transport.call(target, "seat.wait", params)
            return found
        except Failure as failure:
            if last or failure.reason not in ("stopping", "no-daemon", "uncertain"):
                raise
            time.sleep(1)
    raise AssertionError("the second try answers or raises")
