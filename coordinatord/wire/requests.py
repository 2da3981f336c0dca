"""What a request is: a class that names its method and its result.

``class AskQuestion(Mutation[Question], frozen=True, kw_only=True, tag="question.ask")`` validates
on the server, types the client, makes the command-line flags, the MCP tool, the OpenRPC document
and the reference page. Field descriptions (``Annotated[str, Meta(description=…)]``) are the help
texts.

Requests refuse unknown fields. ``frozen`` and ``kw_only`` must be repeated on each subclass: mypy
insists on the first, msgspec does not inherit the second.
"""

from __future__ import annotations

import enum
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args

import msgspec

R = TypeVar("R")


class Access(enum.Enum):
    """Who may call a method at all; finer rules stand in the feature. Source: architecture §6."""

    ANYONE = "anyone"
    """Any process of the same user: reading."""
    SEATED = "seated"
    """A proven seat, or the operator."""
    COORDINATION = "coordination"
    """The coordinator, or the operator."""
    OPERATOR = "operator"
    """The operator only: a person outside every pane."""


class Request(
    msgspec.Struct,
    Generic[R],
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="method",
):
    """A question to the daemon whose answer is an ``R``; reads, writes nothing."""

    access: ClassVar[Access] = Access.ANYONE


class Mutation(Request[R], Generic[R], frozen=True, kw_only=True):
    """A request that writes or acts.

    ``key`` makes repeating safe: the same key and the same body give the same answer again for
    seven days; the same key with another body is refused (``key-conflict``). Clients make one if
    none is given.
    """

    access: ClassVar[Access] = Access.SEATED
    key_scope: ClassVar[str | None] = None
    """Name of the field that scopes ``key`` (``task`` for `question.ask`), ``terminal_id`` for the
    caller's terminal; None: the caller's seat."""

    key: Annotated[
        str, msgspec.Meta(max_length=200, description="Idempotency key; made for you if not given.")
    ] = ""


def method_of(request: type[Request[Any]] | Request[Any]) -> str:
    """The method's name on the wire, for example ``question.ask``."""
    return str(request.__struct_config__.tag)


def result_of(request: type[Request[Any]]) -> Any:
    """The type that answers this request: the argument of its generic base."""
    for base in getattr(request, "__orig_bases__", ()):
        arguments = get_args(base)
        if arguments and not isinstance(arguments[0], TypeVar):
            return arguments[0]
    raise TypeError(f"{request.__name__} does not say what answers it")


def params_of(request: Request[Any]) -> dict[str, Any]:
    """The request's fields as they stand in ``params``: without the method's name."""
    fields: dict[str, Any] = msgspec.to_builtins(request)
    del fields["method"]
    return fields


T = TypeVar("T")


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A list as it is answered; ``incomplete`` says that some stored records could not be read."""

    items: list[T]
    incomplete: bool = False


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of what has no record of its own to show."""

    done: bool = True
