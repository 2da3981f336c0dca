"""What both clients share: whom to call, the greeting, keys, answers, failures."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from coordinatord import __version__, locate, starting
from coordinatord.ids import SeatId, TaskId
from coordinatord.wire.client_side import Answered, ClientSide, Event, Failed, Notified
from coordinatord.wire.jsonrpc import Error
from coordinatord.wire.requests import Mutation, Request, method_of, params_of, result_of

R = TypeVar("R")

SILENCE_S: Final = 15.0
"""Longest wait in seconds for an answer before the daemon counts as not answering."""
WATCH_LINE: Final = "watch.line"
SUBSCRIBE: Final = "watch.subscribe"
RESUMABLE: Final = frozenset({"slow-watcher", "stopping"})
"""Farewells after which a watch goes on from its cursor."""


class CallFailed(Exception):
    """The call was refused, or failed.

    ``reason`` is a name from `coordinatord.errors.REASONS`, or one that a newer daemon knows;
    ``code`` is the JSON-RPC error code, None if no answer came.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        hint: str | None = None,
        *,
        code: int | None = None,
        log_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint
        self.code = code
        self.log_id = log_id


class NoDaemon(CallFailed):
    """Nothing answers: no workspace, no daemon, or silence."""


class OutcomeUncertain(CallFailed):
    """The connection was lost twice after a mutation was sent: it may have been done."""


class Lost(Exception):
    """The connection ended before the answer came."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a watch; ``seq`` is the cursor to resume after it."""

    seq: int
    at: float
    kind: str
    id: str
    task: TaskId | None = None
    seat: SeatId | None = None


@dataclass(frozen=True)
class Target:
    """Whom to call, and as whom."""

    address: locate.Address
    environ: Mapping[str, str]
    client: str = "python"
    start: bool = True
    claims: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the daemon may be: where it said it is, then where one started now would be."""
        workspace = self.address.workspace
        if workspace is None:
            return (self.address.path,)
        published = locate.published_socket(workspace)
        return tuple(dict.fromkeys(filter(None, (published, workspace.socket))))

    @property
    def may_start(self) -> bool:
        """Nobody named the socket, forbade a start, or gave the start to a service manager."""
        workspace = self.address.workspace
        if workspace is None or not self.start:
            return False
        return not locate.service_managed(workspace, self.environ)


def target(
    socket: str | None,
    directory: str | None,
    environ: Mapping[str, str] | None,
    client: str,
    start: bool,
) -> Target:
    """The target of these arguments, found as `coordinatord.locate` says.

    Raises:
        NoDaemon: there is no workspace, or its folder is unsafe.
    """
    environ = os.environ if environ is None else environ
    try:
        address = locate.resolve(environ, socket=socket, directory=directory)
    except locate.Misplaced as error:
        raise NoDaemon(error.reason, error.message, error.hint) from None
    variables = {
        "pane_id": "HERDR_PANE_ID",
        "terminal_socket": "HERDR_SOCKET_PATH",
        "token": "COORDINATORD_TOKEN",
    }
    claims = {name: environ[each] for name, each in variables.items() if environ.get(each)}
    return Target(address, environ, client, start, claims)


def greeting(side: ClientSide, target: Target) -> bytes:
    """The ``hello`` that goes before everything else on a connection."""
    params = {"client": target.client, "version": __version__, **target.claims}
    return side.call("hello", params)[1]


def with_key(request: Request[R]) -> Request[R]:
    """The request, with a key of its own if it is a mutation without one."""
    if isinstance(request, Mutation) and not request.key:
        return msgspec.structs.replace(request, key=secrets.token_hex(16))
    return request


def encode(side: ClientSide, request: Request[Any]) -> tuple[int, bytes]:
    """The call's id and its line."""
    return side.call(method_of(request), params_of(request))


def decode(request: Request[R], event: Event) -> R:
    """The answer as the request's result.

    Raises:
        CallFailed: the answer is an error, or not what this client's version expects.
    """
    if isinstance(event, Failed):
        raise failure_of(event.error)
    assert isinstance(event, Answered)
    try:
        result: R = msgspec.json.decode(event.result, type=result_of(type(request)))
    except msgspec.ValidationError as error:
        raise CallFailed("internal", f"The answer has an unknown shape: {error}.") from error
    return result


def change_of(event: Notified) -> Change | None:
    """The line of a watch, or None for another notification."""
    if event.method != WATCH_LINE:
        return None
    return msgspec.json.decode(event.params, type=Change)


def beginning_of(event: Answered) -> int:
    """Where a watch begins: a cursor beyond the journal's end is of another database."""
    return msgspec.json.decode(event.result, type=_Beginning).since


class _Beginning(msgspec.Struct):
    since: int


def failure_of(error: Error) -> CallFailed:
    """An error of the wire as an exception."""
    data = error.data
    if data is None:
        return CallFailed("internal", error.message, code=error.code)
    return CallFailed(data.reason, error.message, data.hint, code=error.code, log_id=data.log_id)


def lost_twice(request: Request[Any]) -> CallFailed:
    """What is known after the second lost connection."""
    if isinstance(request, Mutation):
        return OutcomeUncertain(
            "uncertain",
            "The daemon went away twice before it answered: the request may have been done.",
            "Send it again with the same key.",
        )
    return NoDaemon("no-daemon", "The daemon went away twice before it answered.", "Try again.")


def nobody(target: Target) -> NoDaemon:
    """Nothing listens, and nothing may be started."""
    workspace = target.address.workspace
    return NoDaemon("no-daemon", *starting.unanswered(target.paths[-1], workspace, target.environ))


def silent() -> NoDaemon:
    """Something listens and does not answer."""
    return NoDaemon(
        "no-daemon",
        "The daemon does not answer.",
        "It may be stopped or overloaded; its pid stands in .coordinatord/lock",
    )


def foreign(path: str, uid: int) -> NoDaemon:
    """Another user's process listens at our socket's path."""
    return NoDaemon(
        "folder-unsafe",
        f"The process that listens at {path} belongs to another user (uid {uid}).",
        "Remove the socket, or name the right one.",
    )
