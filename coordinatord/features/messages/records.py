"""What is true about a message (interfaces.md, Messages)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from coordinatord.ids import AttemptId, MessageId, SeatId


class Owed(msgspec.Struct, frozen=True, tag="owed", tag_field="kind"):
    """The recipient has not acknowledged it; an inline one was not typed yet."""


class InHand(msgspec.Struct, frozen=True, kw_only=True, tag="in-hand", tag_field="kind"):
    """Inline: it is being typed now, by this attempt."""

    attempt: AttemptId


class InDoubt(msgspec.Struct, frozen=True, kw_only=True, tag="uncertain", tag_field="kind"):
    """Inline: it may have been typed. It stays visible and counts no more as owed."""

    at: float
    attempt: AttemptId


class Delivered(msgspec.Struct, frozen=True, kw_only=True, tag="delivered", tag_field="kind"):
    """Inline: its attempt was submitted. ``sha256`` is of exactly what was typed, ``removed`` names the
    controls that were taken out, ``file`` is the file that was named instead of a long text."""

    at: float
    attempt: AttemptId
    sha256: str | None = None
    removed: tuple[str, ...] = ()
    file: str | None = None


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True, tag="acknowledged", tag_field="kind"):
    """The recipient said that it has read it."""

    at: float
    seq: int
    by: SeatId


class Expired(msgspec.Struct, frozen=True, kw_only=True, tag="expired", tag_field="kind"):
    """Its time passed first. The sender is owed that until it says that it knows (``known_at``)."""

    at: float
    seq: int
    known_at: float | None = None


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True, tag="withdrawn", tag_field="kind"):
    """It was taken back before it was read."""

    at: float
    seq: int
    by: SeatId


State: TypeAlias = Owed | InHand | InDoubt | Delivered | Acknowledged | Expired | Withdrawn


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """``expires`` is the wall time in seconds after which it is not told any more; ``inline``: its text
    is typed itself instead of being announced by id."""

    id: MessageId
    seq: int
    at: float
    to: SeatId
    by: SeatId
    text: str
    inline: bool = False
    expires: float | None = None
    state: State = Owed()
