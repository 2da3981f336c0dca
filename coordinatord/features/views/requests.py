"""What may be read."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from coordinatord.features.views.records import AnyRecord, Inbox, Status, Watching, Why
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
