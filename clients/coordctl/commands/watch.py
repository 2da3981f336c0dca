"""``watch``: every change, as a line, from a cursor on; it survives a restart of the daemon."""

from __future__ import annotations

import sys
import time

from coordctl import calling, transport
from coordctl.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from coordctl.grammar import Invocation

_DROPPED: Final = "slow-watcher"


def watch(invocation: Invocation) -> int:
    """Print lines until interrupted, resuming after the last one when the daemon goes away."""
    target = calling.target_of(invocation)
    cursor = _Cursor(invocation)
    again = False
    while True:
        before = cursor.since
        try:
            with transport.connect(target, again=again) as connection:
                _follow(connection, target, cursor)
        except transport.Lost:
            if again and cursor.since == before:
                time.sleep(1)  # a daemon that goes away at once, again and again
        except Failure as failure:
            if failure.reason not in (_DROPPED, "stopping"):
                raise
        again = True


class _Cursor:
    """Where the watch stands, and how lines are printed."""

    def __init__(self, invocation: Invocation) -> None:
        self.since: int | None = invocation.params.get("since")
        self._as_json = invocation.as_json

    def begin(self, answer: dict[str, Any]) -> None:
        """The daemon's answer: where it begins. A cursor beyond its end is of another database."""
        self.since = answer["since"]

    def take(self, line: dict[str, Any]) -> None:
        """Print one line, once: what a resumed watch repeats is skipped."""
        if self.since is not None and line["seq"] <= self.since:
            return
        self.since = line["seq"]
        if self._as_json:
            calling.print_json(line)
        else:
            from coordctl import output

            sys.stdout.write(output.watch_line(line) + "\n")
            sys.stdout.flush()


def _follow(connection: transport.Connection, target: transport.Target, cursor: _Cursor) -> None:
    params = {} if cursor.since is None else {"since": cursor.since}
    connection.send(
        transport.hello(target.environ), transport.request(1, "watch.subscribe", params)
    )
    for message in connection.messages():
        if message.get("method") == "watch.line":
            cursor.take(message["params"])
        elif isinstance(message.get("error"), dict) and message.get("id") in (1, None):
            raise Failure.from_wire(message["error"])
        elif message.get("id") == 1:
            cursor.begin(message["result"])
            connection.wait_for_ever()
