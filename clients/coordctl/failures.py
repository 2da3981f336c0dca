"""What went wrong, as it is told on standard error, and the exit status that follows."""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

REFUSED: Final = 1
USAGE: Final = 2
NO_DAEMON: Final = 3
INTERRUPTED: Final = 130

_EXITS: Final = {
    "no-workspace": NO_DAEMON,
    "no-daemon": NO_DAEMON,
    "socket-taken": NO_DAEMON,
    "already-running": NO_DAEMON,
    "stopping": NO_DAEMON,
    "time-limit": 4,
    "uncertain": 5,
}
_REFUSED_CODE: Final = -32000


class Failure(Exception):
    """The command failed; `status` is the exit status (interfaces.md, Exit codes).

    ``reason`` is a name from `coordinatord.errors.REASONS`, or one that a newer daemon knows.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        hint: str | None = None,
        *,
        code: int = _REFUSED_CODE,
        log_id: str | None = None,
        status: int | None = None,
        unanswered: bool = False,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint
        self.code = code
        self.log_id = log_id
        self.unanswered = unanswered
        """Something listens there and says nothing: it may run, stopped or overloaded."""
        self.status = _EXITS.get(reason, REFUSED) if status is None else status

    @classmethod
    def from_wire(cls, error: dict[str, Any]) -> Failure:
        """The error object of an answer."""
        facts = error.get("data")
        facts = facts if isinstance(facts, dict) else {}
        return cls(
            str(facts.get("reason", "internal")),
            str(error.get("message", "")),
            facts.get("hint"),
            code=int(error.get("code", _REFUSED_CODE)),
            log_id=facts.get("log_id"),
        )

    def as_json(self) -> str:
        """One line, shaped like an error on the wire."""
        facts = {"reason": self.reason, "hint": self.hint, "log_id": self.log_id}
        present = {name: value for name, value in facts.items() if value is not None}
        return json.dumps({"code": self.code, "message": self.message, "data": present})

    def as_text(self) -> str:
        """A sentence, and what to do about it, for a person."""
        from coordctl.showing import visible

        lines = [f"coordctl: {self.message}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        if self.log_id:
            lines.append(f"hint: .coordinatord/daemon.log tells more under {self.log_id}")
        # paths, pane names and what was typed are quoted in sentences
        return "\n".join(map(visible, lines))


def usage(message: str, hint: str | None = None) -> Failure:
    """The command was not written as it must be."""
    return Failure("bad-params", message, hint, code=-32602, status=USAGE)


def tell(failure: Failure, *, as_json: bool) -> int:
    """Write the failure to standard error; the exit status."""
    sys.stderr.write((failure.as_json() if as_json else failure.as_text()) + "\n")
    return failure.status
