"""Whose fault it was: the caller's, the world's, or ours.

`Refused` is the caller's: it carries a reason from the one list below, a sentence and mostly a hint, and
nothing was written. The failures of the world say what is known about the effect. Every other exception
is a bug; `server/dispatch.py` turns all three into wire errors, and nothing else does.
"""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, str]] = {
    # the line itself
    "parse-error": "The line is not JSON.",
    "invalid-request": "The JSON is not a JSON-RPC 2.0 request.",
    "unknown-method": "No method has this name.",
    "bad-params": "A parameter is missing, unknown, of the wrong type or out of its limits.",
    "line-too-long": "A request line is limited to 1 MiB.",
    "cancelled": "The caller took the request back.",
    "internal": "A bug in the daemon; its log has the details under the log id.",
    # text and keys
    "empty": "The text is empty or blank.",
    "too-long": "The text is over its limit.",
    "not-unicode": "The text is not valid Unicode.",
    "key-conflict": "The idempotency key was used before with another request.",
    # records
    "unknown-id": "No record has this id.",
    "bad-id": "The text is not written like an id of the kind that is expected here.",
    "wrong-state": "The record is not in a state in which this can be done.",
    "unreadable": "The stored record cannot be read.",
    # seats and authority
    "not-allowed": "The caller's proven seat may not do this.",
    "not-proven": "The caller's seat is claimed, not proven.",
    "no-pane": "The caller is in no pane of this workspace's terminal host.",
    "seat-taken": "Somebody else holds the seat.",
    "occupant-unproven": "The pane's occupant cannot be proven to be the recorded one.",
    "unknown-seat": "No seat has this name.",
    "not-agent": "The pane has no agent.",
    "queue-full": "The seat is owed too much already.",
    # terminal host
    "pane-missing": "The terminal host has no such pane.",
    "host-unreachable": "The terminal host does not answer.",
    "host-refused": "The terminal host refused the call.",
    "host-protocol": "The terminal host speaks a protocol that is not known: reads only.",
    "uncertain": "The effect may have happened and is not known to have.",
    "not-typed": "The text cannot be typed there now.",
    "paused": "Typing is paused.",
    # store
    "store-busy": "The database is held by another program; nothing was accepted.",
    "store-full": "The disk is full; nothing was accepted.",
    "store-failed": "The database answered with an error; nothing was accepted.",
    "store-newer": "The database was written by a newer version.",
    "store-foreign": "The file is not a database of this program.",
    "store-corrupt": "The database is damaged.",
    "store-network": "The database lies on a network file system.",
    # daemon, places, settings
    "no-workspace": "There is no workspace here.",
    "no-daemon": "No daemon answers.",
    "already-running": "A daemon for this workspace runs already.",
    "socket-taken": "Something that is not ours stands at the socket path.",
    "folder-unsafe": "A folder or file has the wrong owner or mode.",
    "bad-setting": "A setting is unknown or has a wrong value.",
    "not-here": "Not available with this terminal host.",
    "slow-watcher": "The watcher read too slowly and was dropped; it can resume from its cursor.",
    "stopping": "The daemon is stopping.",
    "time-limit": "The time limit passed first.",
}
"""The one list of reasons: kebab-case name and meaning. Names are never removed."""


class Refused(Exception):
    """The caller asked for something that cannot be done; nothing was written.

    Args:
        reason: a name from `REASONS`; an unknown one is a `KeyError` at once.
        message: one sentence saying what is wrong, naming the thing.
        hint: what to do about it, or None where nothing is to be done.
    """

    def __init__(self, reason: str, message: str, hint: str | None = None) -> None:
        if reason not in REASONS:
            raise KeyError(reason)
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint


class WorldFailed(Exception):
    """Base of the failures of the terminal host. Never raised itself."""


class Unreachable(WorldFailed):
    """The terminal host did not answer and provably did nothing (connection refused, read call timed out)."""


class PaneMissing(WorldFailed):
    """The terminal host has no such pane; nothing was done."""

    def __init__(self, pane: str) -> None:
        super().__init__(f"the terminal host has no pane {pane}")
        self.pane = pane


class HostRefused(WorldFailed):
    """The terminal host refused the call with one of its own codes; nothing was done."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Uncertain(WorldFailed):
    """The call may have taken effect and is not known to have (time-out or lost connection after sending)."""
