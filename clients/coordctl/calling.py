"""From an `Invocation` to an answer on standard output: what every command does, in parts."""

from __future__ import annotations

import json
import os
import sys

from coordctl import transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coordctl.grammar import Invocation


def target_of(invocation: Invocation) -> transport.Target:
    """Whom the command is for."""
    return transport.Target(
        os.environ,
        socket=invocation.socket,
        directory=invocation.directory,
        start=invocation.start,
    )


def call(invocation: Invocation, target: transport.Target) -> Any:
    """The answer to the command's own method; a mutation has one key, however often it is sent."""
    if invocation.mutates and not invocation.params.get("key"):
        invocation.params["key"] = os.urandom(16).hex()
    return transport.call(target, invocation.method, invocation.params)


def one_call(invocation: Invocation) -> int:
    """Make the call, print the answer."""
    show(invocation, call(invocation, target_of(invocation)))
    return 0


def show(invocation: Invocation, result: Any) -> None:
    """Print an answer: as it came, or for a person."""
    if invocation.as_json:
        print_json(result)
        return
    from coordctl import output  # what is printed for a person may cost an import

    output.show(invocation.words, result)


def print_json(value: Any) -> None:
    """One line of JSON on standard output, in UTF-8 whatever the locale is, and flushed."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.flush()
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()
