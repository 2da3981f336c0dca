"""What may be asked about messages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from coordinatord.features.messages.records import Message
from coordinatord.wire.requests import Mutation


class SendMessage(Mutation[Message], frozen=True, kw_only=True, tag="message.send"):
    """Send a message to a seat or to the agent in a pane. It is announced by id when that agent is free.

    With ``inline`` the text itself is typed, cleaned of control characters; the operator and the
    coordinator may do that.
    """

    to: Annotated[
        str,
        Meta(
            description="coordinator, worker:<task>, reviewer:<task>, peer:<terminal>, or a pane id."
        ),
    ]
    text: Annotated[str, Meta(description="The message; - reads it from standard input.")]
    inline: Annotated[
        bool, Meta(description="Type the text itself instead of announcing it by id.")
    ] = False
    expires_s: (
        Annotated[float, Meta(gt=0, description="Seconds after which it is not told any more.")]
        | None
    ) = None


class AckMessage(Mutation[Message], frozen=True, kw_only=True, tag="message.ack"):
    """Say that you have read a message that was sent to you, or that one of yours expired unread."""

    message: Annotated[str, Meta(description="The message, such as m-7d2k9x4p.")]


class WithdrawMessage(Mutation[Message], frozen=True, kw_only=True, tag="message.withdraw"):
    """Take a message back that was not read yet. Its sender and whoever coordinates may do that."""

    message: Annotated[str, Meta(description="The message, such as m-7d2k9x4p.")]
