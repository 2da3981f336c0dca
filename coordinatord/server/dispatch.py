"""Finds the route of a call, runs it, and turns whatever happens into an answer.

Invariant: this is the one place that turns exceptions into wire errors, and it says whose fault it
was (architecture, rule 9). A bug is logged whole under a log id; what the caller sent never is.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import anyio
import msgspec

from coordinatord import errors
from coordinatord.sockets.peer import Peer
from coordinatord.wire.jsonrpc import Call, Code, Error, error
from coordinatord.wire.requests import Request, method_of


class Link(Protocol):
    """One connection as a route sees it."""

    peer: Peer
    greeting: object | None
    """What the caller said in `hello`; set by the route that answers it."""
    caller: object | None
    """Room for the seat that was proven for this connection."""
    closed: anyio.Event
    """Set once nothing more can be sent: who follows something for this caller ends then."""

    def notify(self, method: str, params: object) -> bool:
        """Queue a notification; False if the connection is closed or was dropped as too slow."""
        ...

    async def drained(self) -> None:
        """Wait until what was queued is sent, or the connection ends."""
        ...


@dataclass(frozen=True)
class Route:
    """Which function answers which request.

    A ``run`` that is a plain function awaits nothing and is answered in the read loop, in order; an
    async one has a task of its own.
    """

    request: type[Request[Any]]
    run: Callable[[Link, Any], object | Awaitable[object]]


class Log(Protocol):
    """What a structlog logger offers."""

    def warning(self, event: str, **facts: Any) -> Any:
        """Something that a person may want to know."""
        ...

    def error(self, event: str, **facts: Any) -> Any:
        """A bug of ours; ``exc_info`` holds the exception."""
        ...


@dataclass(frozen=True)
class _Entry:
    run: Callable[[Link, Any], object | Awaitable[object]]
    decoder: msgspec.json.Decoder[Any]
    fields: tuple[str, ...]


Outcome = bytes | Error
"""The result as JSON, or an error."""

_WORLD_REASONS: Final[dict[type[errors.WorldFailed], tuple[str, str, str | None]]] = {
    errors.Unreachable: (
        "host-unreachable",
        "The terminal host does not answer",
        "See what is wrong with it: coordctl status",
    ),
    errors.PaneMissing: ("pane-missing", "", "See which panes there are: coordctl pane list"),
    errors.HostRefused: ("host-refused", "The terminal host refused", None),
    errors.Uncertain: (
        "uncertain",
        "It may have happened and is not known to have",
        "Look before you repeat it: coordctl pane list, coordctl pane read PANE",
    ),
}
"""Reason, sentence (empty: the exception's own says it all), hint."""


@dataclass
class Dispatcher:
    """The table of routes.

    Raises:
        ValueError: two routes answer one method.
    """

    routes: Iterable[Route]
    log: Log
    new_log_id: Callable[[], str]
    _entries: dict[str, _Entry] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for route in self.routes:
            method = method_of(route.request)
            if method in self._entries:
                raise ValueError(f"two routes answer {method}")
            self._entries[method] = _Entry(
                route.run, msgspec.json.Decoder(route.request), _wire_fields(route.request)
            )

    def begin(self, link: Link, call: Call) -> Outcome | Awaitable[Outcome]:
        """Run the route: the outcome of a plain one, something to await for an async one.

        Neither raises anything but a cancellation.
        """
        try:
            entry = self._entry_of(call)
            result = entry.run(link, _request_of(entry, call.params))
            if inspect.isawaitable(result):
                return self._finish(call, result)
            return msgspec.json.encode(result)
        except Exception as failure:  # noqa: BLE001 - the one boundary
            return self._error_of(failure, call)

    async def _finish(self, call: Call, result: Awaitable[object]) -> Outcome:
        try:
            return msgspec.json.encode(await result)
        except Exception as failure:  # noqa: BLE001 - the one boundary
            return self._error_of(failure, call)

    def _entry_of(self, call: Call) -> _Entry:
        entry = self._entries.get(call.method)
        if entry is None:
            raise _Answer(
                error(
                    Code.METHOD_NOT_FOUND,
                    "unknown-method",
                    f"no method is named {call.method[:80]!r}",
                    hint="rpc.discover lists the methods",
                )
            )
        return entry

    def _error_of(self, failure: Exception, call: Call) -> Error:
        match failure:
            case _Answer(problem=problem):
                return problem
            case errors.Refused(reason=reason, message=message, hint=hint):
                return error(Code.REFUSED, reason, message, hint=hint)
            case (
                errors.Unreachable()
                | errors.PaneMissing()
                | errors.HostRefused()
                | errors.Uncertain()
            ):
                return _world_error(failure)
            case ExceptionGroup(exceptions=(only,)):
                return self._error_of(only, call)
            case _:
                return self._internal_error(failure, call)

    def _internal_error(self, failure: Exception, call: Call) -> Error:
        log_id = self.new_log_id()
        self.log.error("route failed", log_id=log_id, method=call.method, exc_info=failure)
        return error(
            Code.INTERNAL_ERROR,
            "internal",
            "internal error",
            hint=f"the daemon's log has the details under {log_id}",
            log_id=log_id,
        )


class _Answer(Exception):
    """An error that is known already, on its way to the boundary."""

    def __init__(self, problem: Error) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _request_of(entry: _Entry, params: bytes) -> Any:
    """The request that ``params`` spell.

    Raises:
        Refused: the request class says so itself.
        _Answer: the params are wrong.
    """
    if params[:1] == b"[":
        raise _bad_params("params are named, not positional", entry.fields)
    try:
        return entry.decoder.decode(params or b"{}")
    except msgspec.ValidationError as problem:
        raise _bad_params(_sentence(str(problem)), entry.fields) from None
    except RecursionError:
        raise _bad_params("params are nested too deeply", entry.fields) from None


def _bad_params(message: str, fields: tuple[str, ...]) -> _Answer:
    names = ", ".join(fields) if fields else "none"
    return _Answer(error(Code.INVALID_PARAMS, "bad-params", message, hint=f"parameters: {names}"))


_PLACE: Final = re.compile(r"(?P<what>.*) - at `(?P<place>(?:key in )?\$.*)`", re.DOTALL)


def _sentence(problem: str) -> str:
    """The decoder's complaint with the field in front: ``text: expected `str`, got `int```."""
    match = _PLACE.fullmatch(problem)
    if match is None:
        return problem[:1].lower() + problem[1:]
    what, place = match["what"], match["place"].replace("$.", "").replace("$", "params")
    return f"{place}: {what[:1].lower()}{what[1:]}"


def _world_error(failure: errors.WorldFailed) -> Error:
    kind = next(kind for kind in _WORLD_REASONS if isinstance(failure, kind))
    reason, sentence, hint = _WORLD_REASONS[kind]
    words = ": ".join(filter(None, (sentence, str(failure)))).removesuffix(".")
    return error(Code.REFUSED, reason, f"{words[:1].upper()}{words[1:]}.", hint=hint)


def _wire_fields(request: type[Request[Any]]) -> tuple[str, ...]:
    return tuple(field.encode_name for field in msgspec.structs.fields(request))
