"""What may be read."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from coordinatord.features.tasks.requests import TaskName
from coordinatord.features.views.overview_records import AuditLine, Context, Rundown
from coordinatord.features.views.records import AnyRecord, Inbox, Status, Watching, Why
from coordinatord.features.views.waiting import Until, Waited
from coordinatord.wire.requests import Listing, Request

_Name = Annotated[str, Meta(max_length=80, pattern=r"^[\w:.-]+$")]
"""Written like an id or a seat."""


class ReadInbox(Request[Inbox], frozen=True, kw_only=True, tag="inbox.read"):
    """Show what you owe others: questions to answer, answers to apply, reports to verify, messages."""

    seat: Annotated[str, Meta(description="Another seat's inbox; yours if not given.")] | None = (
        None
    )


class ReadRundown(Request[Rundown], frozen=True, kw_only=True, tag="rundown.read"):
    """Show every active task: how it stands, who owes what and since when; the oldest decision first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="Most tasks to show.")] = 200


class ReadContext(Request[Context], frozen=True, kw_only=True, tag="context.read"):
    """Show what is needed to go on with a task: brief, decisions, last report, reviews, notes."""

    task: TaskName
    max_chars: Annotated[
        int,
        Meta(
            ge=1000, le=400_000, description="Characters of text; outstanding decisions stay whole."
        ),
    ] = 40_000


class ReadLog(Request[Listing[AuditLine]], frozen=True, kw_only=True, tag="log.read"):
    """Show who did what, and how that one was proven: the newest acts, or those after a line."""

    task: Annotated[str, Meta(description="Only what is about this task.")] | None = None
    record: Annotated[_Name, Meta(description="Only changes of this record or seat.")] | None = None
    actor: Annotated[_Name, Meta(description="Only what this seat did.")] | None = None
    after: Annotated[int, Meta(ge=0, description="Only lines after this seq.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="Most lines to show.")] = 100


class ShowRecord(Request[AnyRecord], frozen=True, kw_only=True, tag="record.show"):
    """Show one record whole."""

    id: Annotated[str, Meta(description="Any record id, such as q-9f3t8b2c.")]


class ExplainRecord(Request[Why], frozen=True, kw_only=True, tag="record.why"):
    """Say in one sentence where a record stands: delivered, waiting and for what, or over."""

    id: Annotated[str, Meta(description="Any record id, such as q-9f3t8b2c.")]
    verbose: Annotated[
        bool, Meta(description="With the evidence: every step, and the pane as it was seen last.")
    ] = False


class ReadStatus(Request[Status], frozen=True, kw_only=True, tag="daemon.status"):
    """Show the daemon, its terminal host, and what is held and why."""


class SubscribeWatch(Request[Watching], frozen=True, kw_only=True, tag="watch.subscribe"):
    """Follow what changes: every journal line after a cursor, then each new one."""

    since: (
        Annotated[
            int,
            Meta(
                ge=0,
                description="Cursor: the last seq you saw; 0 replays everything, without it only "
                "what is new comes.",
            ),
        ]
        | None
    ) = None


class WaitFor(Request[Waited], frozen=True, kw_only=True, tag="seat.wait"):
    """Wait until a seat is settled, needs you or is gone, or until a question is answered."""

    target: Annotated[
        str,
        Meta(
            description="coordinator, worker:<task>, reviewer:<task>, peer:<terminal>, or a question."
        ),
    ]
    until: Annotated[
        Until, Meta(description="What to wait for; gone ends every wait for a seat.")
    ] = "settled"
    limit_s: Annotated[
        float, Meta(gt=0, le=60, description="Seconds until this call answers in any case.")
    ] = 10.0
