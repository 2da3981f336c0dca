"""Messages in the database, and their changes."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.messages.records import Acknowledged, Expired, Message, Owed
from coordinatord.features.panes import authority
from coordinatord.features.panes.records import Caller
from coordinatord.ids import MessageId, SeatId
from coordinatord.prose import accept
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

MESSAGES: Final = RecordTable(
    "messages",
    Message,
    lambda message: {
        "recipient": message.to,
        "state": str(message.state.__struct_config__.tag),
        "expires": message.expires,
    },
)


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
    """Messages that are neither acknowledged nor past their time."""
    return MESSAGES.select(view, "state = 'owed' AND (expires IS NULL OR expires > ?)", now)


def owed_to(view: View, seat: SeatId, now: float) -> int:
    """How many messages wait for this seat."""
    row = view.row(
        "SELECT count(*) FROM messages WHERE recipient = ? AND state = 'owed'"
        " AND (expires IS NULL OR expires > ?)",
        seat,
        now,
    )
    return int(row[0]) if row else 0


def send(
    tx: Transaction, caller: Caller, to: SeatId, text: str, expires_s: float | None, limit: int
) -> Message:
    """Record a message to a seat that exists.

    Raises:
        Refused: ``queue-full`` when the seat is owed ``limit`` messages already; texts as in `accept`.
    """
    accept(text, "the message")
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
        text=text,
        expires=None if expires_s is None else tx.now + expires_s,
    )
    MESSAGES.put(tx, record)
    return record


def acknowledge(tx: Transaction, caller: Caller, name: str) -> Message:
    """Record that the recipient has read it. Doing it twice changes nothing."""
    message = message_named(tx, name)
    authority.recipient_only(caller, message.to, f"acknowledge {name}")
    match message.state:
        case Acknowledged():
            return message
        case Owed() if message.expires is None or message.expires > tx.now:
            seq = tx.journal(
                "message", name, seat=message.by, actor=caller.seat, proof=caller.proof
            )
            state = Acknowledged(at=tx.now, seq=seq, by=caller.seat)
            record = msgspec.structs.replace(message, state=state)
            MESSAGES.put(tx, record)
            return record
        case Owed() | Expired():
            raise Refused("wrong-state", f"{name} expired before it was acknowledged.")


def expire(tx: Transaction) -> int:
    """End the messages whose time has passed; how many."""
    late = MESSAGES.select(tx, "state = 'owed' AND expires <= ?", tx.now).items
    for message in late:
        seq = tx.journal("message", message.id, seat=message.by, actor="coordinatord")
        MESSAGES.put(tx, msgspec.structs.replace(message, state=Expired(at=tx.now, seq=seq)))
    return len(late)
