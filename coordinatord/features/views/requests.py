"""What may be read."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from coordinatord.features.views.records import AnyRecord, Inbox, Status, Watching, Why
from coordinatord.features.views.waiting import Until, Waited
from coordinatord.wire.requests import Request


class ReadInbox(Request[Inbox], frozen=True, kw_only=True, tag="inbox.read"):
    """Show what you owe others: questions to answer, answers to apply, reports to verify, messages."""

    seat: Annotated[str, Meta(description="Another seat's inbox; yours if not given.")] | None = (
        None
    )


class ShowRecord(Request[AnyRecord], frozen=True, kw_only=True, tag="record.show"):
    """Show one record whole."""

    id: Annotated[str, Meta(description="Any record id, such as q-9f3t8b2c.")]


class ExplainRecord(Request[Why], frozen=True, kw_only=True, tag="record.why"):
    """Say in one sentence where a record stands: delivered, waiting and for what, or over."""

    id: Annotated[str, Meta(description="Any record id, such as q-9f3t8b2c.")]


class ReadStatus(Request[Status], frozen=True, kw_only=True, tag="daemon.status"):
    """Show the daemon, its terminal host, and what is held and why."""


class SubscribeWatch(Request[Watching], frozen=True, kw_only=True, tag="watch.subscribe"):
    """Follow what changes: every journal line after a cursor, then each new one."""

    since: (
        Annotated[
            int, Meta(ge=0, description="Cursor: the last seq you saw; 0 replays everything.")
        ]
        | None
    ) = None


class WaitFor(Request[Waited], frozen=True, kw_only=True, tag="seat.wait"):
    """Wait until a seat is settled, needs you or is gone, or until a question is answered."""

    target: Annotated[
        str, Meta(description="coordinator, worker:<task>, peer:<terminal>, or a question.")
    ]
    until: Annotated[
        Until, Meta(description="What to wait for; gone ends every wait for a seat.")
    ] = "settled"
    limit_s: Annotated[
        float, Meta(gt=0, le=60, description="Seconds until this call answers in any case.")
    ] = 10.0
