"""What is true about a message (interfaces.md, Messages)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from coordinatord.ids import MessageId, SeatId


class Owed(msgspec.Struct, frozen=True, tag="owed", tag_field="kind"):
    """The recipient has not acknowledged it."""


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True, tag="acknowledged", tag_field="kind"):
    """The recipient said that it has read it."""

    at: float
    seq: int
    by: SeatId


class Expired(msgspec.Struct, frozen=True, kw_only=True, tag="expired", tag_field="kind"):
    """Its time passed before it was acknowledged."""

    at: float
    seq: int


State: TypeAlias = Owed | Acknowledged | Expired


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """``expires`` is the wall time in seconds after which it is not told any more."""

    id: MessageId
    seq: int
    at: float
    to: SeatId
    by: SeatId
    text: str
    expires: float | None = None
    state: State = Owed()
