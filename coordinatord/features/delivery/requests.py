"""What may be asked of delivery."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from coordinatord.features.delivery.episodes import Episode, Shown
from coordinatord.features.delivery.records import Initiated, Pass
from coordinatord.features.delivery.shadow import Mode, Report
from coordinatord.features.delivery.switch import EventsState
from coordinatord.wire.requests import Access, Mutation, Request


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


class EnableDelivery(Mutation[EventsState], frozen=True, kw_only=True, tag="delivery.enable"):
    """Let agents be told as soon as they are idle (the default), and look at everybody once."""

    access: ClassVar[Access] = Access.COORDINATION


class DisableDelivery(Mutation[EventsState], frozen=True, kw_only=True, tag="delivery.disable"):
    """Tell agents only when a command makes something owed; it is remembered in config.toml."""

    access: ClassVar[Access] = Access.COORDINATION


class ReadDelivery(Request[EventsState], frozen=True, kw_only=True, tag="delivery.status"):
    """Show whether delivery by events is on, what is wrong with it, and how old the oldest debts are."""


class EnterShadow(Mutation[Mode], frozen=True, kw_only=True, tag="delivery.shadow-on"):
    """Type nothing from now on: record what would be typed, and whether that would have been right."""

    access: ClassVar[Access] = Access.COORDINATION


class LeaveShadow(Mutation[Mode], frozen=True, kw_only=True, tag="delivery.shadow-off"):
    """Type again; what is still owed is told now."""

    access: ClassVar[Access] = Access.COORDINATION


class ReadShadow(Request[Report], frozen=True, kw_only=True, tag="delivery.shadow-report"):
    """Show what would have been typed since shadow mode was last switched on, and how right it was."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="Most texts to list.")] = 50


class ShowWake(Request[Shown], frozen=True, kw_only=True, tag="wake.show"):
    """Show what the coordinator was last woken for, and the receipt that says it was read."""


class ConsumeWake(Mutation[Episode], frozen=True, kw_only=True, tag="wake.consume"):
    """Say that you have read what you were woken for: what waited behind it is told next."""

    boundary: Annotated[
        str, Meta(max_length=80, description="The receipt, from: coordctl wake show")
    ]
