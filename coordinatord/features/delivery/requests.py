"""What may be asked of delivery."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from coordinatord.features.delivery.records import Initiated, Pass
from coordinatord.wire.requests import Access, Mutation


class InitSeat(Mutation[Initiated], frozen=True, kw_only=True, tag="seat.init"):
    """Take a seat in this pane, and list what it is owed.

    The first pane that asks becomes the coordinator; a pane in which a worker was seated becomes that
    worker; any other pane is a developer's.
    """

    access: ClassVar[Access] = Access.ANYONE
    key_scope: ClassVar[str | None] = "terminal_id"

    role: (
        Annotated[
            Literal["coordinator", "worker", "developer"], Meta(description="The role you want.")
        ]
        | None
    ) = None
    task: Annotated[str, Meta(description="The task whose worker you are.")] | None = None
    reclaim: Annotated[
        bool,
        Meta(description="Take the coordinator's seat from an agent that is gone or was replaced."),
    ] = False


class NoticeSeat(Mutation[Pass], frozen=True, kw_only=True, tag="delivery.notice"):
    """Tell a seat once more what it is owed, also what is uncertain or stalled. Every safety check stays."""

    access: ClassVar[Access] = Access.COORDINATION

    seat: Annotated[str, Meta(description="coordinator, worker:<task> or peer:<terminal>.")]


class PumpNow(Mutation[Pass], frozen=True, kw_only=True, tag="delivery.pump"):
    """Run one pass over everything that is owed, now."""
