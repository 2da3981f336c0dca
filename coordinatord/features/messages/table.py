"""Messages in the database, and their changes."""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.messages.records import (
    Acknowledged,
    Delivered,
    Expired,
    InDoubt,
    InHand,
    Message,
    Owed,
    State,
    Withdrawn,
)
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes import authority
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.ids import OPERATOR, MessageId, SeatId
from coordinatord.kinds import sanitise
from coordinatord.prose import accept
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

MESSAGES: Final = RecordTable(
    "messages",
    Message,
    lambda message: {
        "recipient": message.to,
        "state": _open_state(message),
        "expires": message.expires,
    },
)

_LIVING: Final = "state IN ('owed', 'in-hand', 'uncertain', 'expired')"
_IN_TIME: Final = "(state IN ('in-hand', 'uncertain', 'expired') OR expires IS NULL OR expires > ?)"


def _open_state(message: Message) -> str:
    """The column's value: an expiry that the sender knows, or that nobody can be told, is over."""
    state = message.state
    if isinstance(state, Expired) and (state.known_at is not None or message.by == OPERATOR):
        return "expired-known"
    return str(state.__struct_config__.tag)


def message_named(view: View, name: str) -> Message:
    """The message with this id.

    Raises:
        Refused: ``bad-id`` or ``unknown-id``.
    """
    if ids.kind_of(name) != "message":
        raise Refused(
            "bad-id", f"{name!r:.80} is not a message id.", "A message id looks like m-7d2k9x4p."
        )
    message = MESSAGES.get(view, name)
    if message is None:
        raise Refused(
            "unknown-id", f"There is no message {name}.", "See what is owed: coordctl inbox"
        )
    return message


def owed(view: View, now: float) -> Found[Message]:
    """Messages that somebody has still to read or be told about."""
    return MESSAGES.select(view, f"{_LIVING} AND {_IN_TIME}", now)


def owed_to(view: View, seat: SeatId, now: float) -> int:
    """How many messages wait for this seat. One that may have been typed does not count."""
    row = view.row(
        "SELECT count(*) FROM messages WHERE recipient = ? AND state IN ('owed', 'in-hand')"
        " AND (expires IS NULL OR expires > ?)",
        seat,
        now,
    )
    return int(row[0]) if row else 0


def send(tx: Transaction, caller: Caller, to: SeatId, request: SendMessage, limit: int) -> Message:
    """Record a message to a seat that exists.

    Raises:
        Refused: ``queue-full`` when the seat is owed ``limit`` messages already; ``not-allowed`` for an
            inline one of somebody who does not coordinate; texts as in `accept`.
    """
    accept(request.text, "the message")
    if request.inline:
        authority.coordinators_only(caller, "type a message inline")
        accept(sanitise(request.text).text, "the message without its control characters")
    waiting = owed_to(tx, to, tx.now)
    if waiting >= limit:
        raise Refused(
            "queue-full",
            f"{to} is owed {waiting} messages already.",
            "Wait until it has read some, or see why they wait: coordctl why",
        )
    message = MessageId(tx.mint("message"))
    record = Message(
        id=message,
        seq=tx.journal("message", message, seat=to, actor=caller.seat, proof=caller.proof),
        at=tx.now,
        to=to,
        by=caller.seat,
        text=request.text,
        inline=request.inline,
        expires=None if request.expires_s is None else tx.now + request.expires_s,
    )
    MESSAGES.put(tx, record)
    return record


def acknowledge(tx: Transaction, caller: Caller, name: str) -> Message:
    """Record that the recipient has read it, or that the sender knows of its expiry. Doing it twice
    changes nothing."""
    message = message_named(tx, name)
    state = message.state
    if isinstance(state, Expired) and caller.seat == message.by:
        return _known(tx, caller, message, state)
    authority.recipient_only(caller, message.to, f"acknowledge {name}")
    match state:
        case Acknowledged():
            return message
        case Owed() if message.expires is not None and message.expires <= tx.now:
            raise Refused("wrong-state", f"{name} expired before it was acknowledged.")
        case Owed() | InHand() | InDoubt() | Delivered():
            seq = tx.journal(
                "message", name, seat=message.by, actor=caller.seat, proof=caller.proof
            )
            return _put(tx, message, Acknowledged(at=tx.now, seq=seq, by=caller.seat))
        case Expired() | Withdrawn():
            raise Refused("wrong-state", f"{name} is {_open_state(message)}.")
        case _:
            assert_never(state)


def withdraw(tx: Transaction, caller: Caller, name: str) -> Message:
    """Take a message back that was not read yet. Doing it twice changes nothing.

    Raises:
        Refused: ``not-allowed``; ``wrong-state`` once it was typed, read or expired.
    """
    message = message_named(tx, name)
    if caller.seat != message.by:
        authority.coordinators_only(caller, f"withdraw {name}, which {message.by} sent")
    match message.state:
        case Withdrawn():
            return message
        case Owed():
            seq = tx.journal(
                "message", name, seat=message.to, actor=caller.seat, proof=caller.proof
            )
            return _put(tx, message, Withdrawn(at=tx.now, seq=seq, by=caller.seat))
        case _:
            raise Refused(
                "wrong-state",
                f"{name} is {_open_state(message)}: too late to take it back.",
                f"See what became of it: coordctl why {name}",
            )


def typed(tx: Transaction, name: str, state: Owed | InHand | InDoubt | Delivered) -> None:
    """What became of an inline message's attempt. What ended meanwhile stays as it is."""
    message = MESSAGES.get(tx, name)
    if message is None or not message.inline:
        return  # one that is announced by id stays owed until it is acknowledged
    if not isinstance(message.state, Owed | InHand | InDoubt):
        return
    tx.journal("message", name, seat=message.by, actor="coordinatord")
    _put(tx, message, state)


def give_up(tx: Transaction, caller: Caller, seat: SeatId) -> None:
    """Nobody has this seat from now on: what it was to be told is withdrawn, and it is told of no expiry."""
    for message in MESSAGES.select(tx, f"{_LIVING} AND recipient = ?", seat).items:
        if not isinstance(message.state, Expired):
            seq = tx.journal(
                "message", message.id, seat=message.by, actor=caller.seat, proof=caller.proof
            )
            _put(tx, message, Withdrawn(at=tx.now, seq=seq, by=caller.seat))
    for message in MESSAGES.select(tx, "state = 'expired'").items:
        if message.by == seat and isinstance(message.state, Expired):
            _known(tx, caller, message, message.state)


def expire(tx: Transaction) -> int:
    """End the messages whose time has passed; how many. One in hand is typed or not, first."""
    late = MESSAGES.select(tx, "state = 'owed' AND expires <= ?", tx.now).items
    for message in late:
        seq = tx.journal("message", message.id, seat=message.by, actor="coordinatord")
        known_at = tx.now if _has_left(tx, message.by) else None
        _put(tx, message, Expired(at=tx.now, seq=seq, known_at=known_at))
    return len(late)


def _has_left(view: View, seat: SeatId) -> bool:
    """Was this the seat of a task that is over? A peer that was never addressed has no seat, and is there."""
    found = seats.SEATS.among(view, [seat])
    known = next(iter(found.items), None)
    if found.unreadable:
        return False
    return known.vacant if known else seat.startswith(("worker:", "reviewer:"))


def next_expiry(view: View) -> float | None:
    """Wall time at which the next message expires."""
    row = view.row("SELECT min(expires) FROM messages WHERE state = 'owed'")
    return row[0] if row else None


def _known(tx: Transaction, caller: Caller, message: Message, state: Expired) -> Message:
    if state.known_at is not None:
        return message
    tx.journal("message", message.id, seat=message.by, actor=caller.seat, proof=caller.proof)
    return _put(tx, message, msgspec.structs.replace(state, known_at=tx.now))


def _put(tx: Transaction, message: Message, state: State) -> Message:
    record = msgspec.structs.replace(message, state=state)
    MESSAGES.put(tx, record)
    return record
