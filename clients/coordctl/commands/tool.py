"""``tool run``, ``tool result``, ``tool tail``: waiting, progress, and the command's own exit status."""

from __future__ import annotations

import json
import os
import sys
import time

from coordctl import calling, transport
from coordctl.failures import INTERRUPTED, Failure, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from coordctl.grammar import Invocation

LIMIT_PASSED: Final = 124
NOT_RUN: Final = 125
_REQUEST: Final = (1 << 20) - (16 << 10)
"""Bytes of a request that are there for the command and, in base64, the environment."""
_TRIES: Final = 20
"""How often a daemon may go away without a word before we give up."""


def run(invocation: Invocation) -> int:
    """Run the command in its pane; its status is ours."""
    params = invocation.params
    params.pop("wait", None)
    params["wait"] = not params.pop("no_wait", False)
    params["cwd"] = _folder(invocation.directory)
    params["environment"] = _environment(params["command"])
    params.setdefault("key", os.urandom(16).hex())
    progress = _Progress()
    try:
        result = _ask(invocation, progress.take)
    except KeyboardInterrupt:
        progress.clear()
        if progress.run is not None:
            sys.stderr.write(f"It runs on: coordctl tool result {progress.run} --wait\n")
        return INTERRUPTED
    finally:
        progress.clear()
    return _tell(invocation, result)


def result(invocation: Invocation) -> int:
    """Show what a run came to. The status is 0: the question was answered."""
    progress = _Progress()
    try:
        answer = _ask(invocation, progress.take)
    finally:
        progress.clear()
    _show(invocation, answer)
    return 0


def tail(invocation: Invocation) -> int:
    """Print a run's output, with ``--follow`` until its end."""

    begun = False

    def take(message: dict[str, Any]) -> None:
        nonlocal begun
        if message.get("method") == "tool.output":
            if begun and message["params"]["truncated"] and not invocation.as_json:
                sys.stdout.write("[output was left out here]\n")
            begun = True
            _print_output(invocation, message["params"])

    answer = _ask(invocation, take)
    if not invocation.params.get("follow"):
        _print_output(invocation, answer)
    return 0


def _ask(invocation: Invocation, take: Callable[[dict[str, Any]], None]) -> Any:
    """The answer, however long it takes; ``take`` gets the notifications before it.

    The request carries a key, so a daemon that went away is asked again and finds the same run.
    """
    target = calling.target_of(invocation)
    lost = 0

    def heard(message: dict[str, Any]) -> None:
        nonlocal lost
        lost = 0
        take(message)

    while lost < _TRIES:
        try:
            with transport.connect(target, again=lost > 0) as connection:
                connection.send(
                    transport.hello(target.environ),
                    transport.request(1, invocation.method, invocation.params),
                )
                return _answer(connection, heard)
        except transport.Lost:
            lost += 1
        except Failure as failure:
            if failure.reason != "stopping":
                raise
            lost += 1
            target.start = False  # somebody stopped it on purpose
        time.sleep(0.2 if lost > 1 else 0)
    raise Failure(
        "uncertain",
        f"The daemon went away {lost} times before it answered.",
        "See what became of it: coordctl tool list",
    )


def _answer(connection: transport.Connection, take: Callable[[dict[str, Any]], None]) -> Any:
    for message in connection.messages():
        error = message.get("error")
        if "method" in message:
            take(message)
        elif isinstance(error, dict) and message.get("id") in (1, None):
            raise Failure.from_wire(error)
        elif message.get("id") == 1:
            return message.get("result")
    raise transport.Lost


def _tell(invocation: Invocation, answer: dict[str, Any]) -> int:
    _show(invocation, answer)
    if answer["state"] != "ended":
        if not answer["timed_out"]:
            return 0
        again = f"coordctl tool result {answer['run_id']} --wait"
        sys.stderr.write(f"coordctl: its time is over, and it goes on. For its result: {again}\n")
        return LIMIT_PASSED
    if answer["exit_code"] is not None:
        return int(answer["exit_code"])
    detail = f" {answer['detail']}" if answer.get("detail") else ""
    sys.stderr.write(f"coordctl: {answer['error']}: the command has no result.{detail}\n")
    return LIMIT_PASSED if answer["timed_out"] else NOT_RUN


def _show(invocation: Invocation, answer: dict[str, Any]) -> None:
    """The result object wherever standard output is not a terminal."""
    if not sys.stdout.isatty():
        calling.print_json(answer)
        return
    calling.show(invocation, answer)


def _print_output(invocation: Invocation, piece: dict[str, Any]) -> None:
    if invocation.as_json:
        calling.print_json(piece)
        return
    from coordctl import showing

    text = piece["text"]
    sys.stdout.write(showing.visible(text, lines=True))
    if text and not text.endswith("\n"):
        sys.stdout.write("\n")
    sys.stdout.flush()


def _folder(directory: str | None) -> str:
    try:
        here = os.getcwd()
        here.encode()
    except FileNotFoundError:
        raise usage("The working directory does not exist any more.", "Change to one.") from None
    except UnicodeEncodeError:
        raise Failure("not-unicode", "The working directory's name is not valid UTF-8.") from None
    return os.path.abspath(os.path.join(here, directory or ""))


def _environment(command: list[str]) -> str:
    """Byte for byte, as in ``/proc/PID/environ``, in base64."""
    import binascii

    block = b"".join(name + b"=" + value + b"\0" for name, value in os.environb.items())
    longest = (
        (_REQUEST - len(json.dumps(command, ensure_ascii=False).encode("utf-8", "replace")))
        * 3
        // 4
    )
    if len(block) > max(0, longest):
        raise Failure(
            "too-long",
            f"The environment has {len(block)} bytes; with this command {max(0, longest)} fit.",
            "Unset what is large in it, or put a long command into a script.",
        )
    return binascii.b2a_base64(block, newline=False).decode("ascii")


class _Progress:
    """One line on a terminal's standard error, drawn over while we wait."""

    def __init__(self) -> None:
        self.run: str | None = None
        self._drawn = False
        self._begun = time.monotonic()

    def take(self, message: dict[str, Any]) -> None:
        """A notification of the daemon."""
        if message.get("method") != "tool.progress":
            return
        facts = message["params"]
        self.run = facts["run_id"]
        # a command that ends at once needs no progress
        if sys.stderr.isatty() and time.monotonic() - self._begun > 0.5:
            self._draw(facts)

    def _draw(self, facts: dict[str, Any]) -> None:
        from coordctl import showing

        seconds = facts["elapsed_ms"] // 1000
        state = "" if facts["state"] == "running" else f" ({facts['state']})"
        text = f"{facts['run_id']}{state} {seconds} s  {showing.visible(facts['last_line'])}"
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
        sys.stderr.write(f"\r\033[K{text[: max(10, columns - 1)]}")
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self._drawn = False
