"""What may be asked about panes and seats."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.panes.records import Identity, PaneReading, PaneRecord, Seat
from coordinatord.terminals.port import Source
from coordinatord.wire.requests import Access, Done, Listing, Mutation, Request

PaneName = Annotated[str, Meta(description="A pane id of the terminal host, such as w1:p2.")]


class WhoAmI(Request[Identity], frozen=True, kw_only=True, tag="seat.whoami"):
    """Show which seat you are, and how that was proven."""


class BindSeat(Mutation[Seat], frozen=True, kw_only=True, tag="seat.bind"):
    """Seat the worker, the reviewer or the parent of a task in a pane, recording the agent there now."""

    access: ClassVar[Access] = Access.COORDINATION

    task: Annotated[str, Meta(description="The task, such as t-1h6v5w0z.")]
    worker_pane: Annotated[PaneName, Meta(description="The worker sits in this pane.")] | None = (
        None
    )
    reviewer_pane: (
        Annotated[PaneName, Meta(description="The reviewer sits in this pane.")] | None
    ) = None
    parent_pane: (
        Annotated[PaneName, Meta(description="Questions and reports of the task go to this pane.")]
        | None
    ) = None
    parent_only: Annotated[
        bool, Meta(description="Questions and reports of the task go to your own pane.")
    ] = False


class ListPanes(Request[Listing[PaneRecord]], frozen=True, kw_only=True, tag="pane.list"):
    """List the panes of the terminal host, with the seat that each one has."""


class ReadPane(Request[PaneReading], frozen=True, kw_only=True, tag="pane.read"):
    """Read the text of a pane."""

    pane: PaneName
    source: Annotated[
        Source,
        Meta(description="What to read; the recent sources may scroll an idle full-screen agent."),
    ] = "visible"
    lines: Annotated[int, Meta(ge=1, le=1000, description="Last lines to read.")] | None = None
    ansi: Annotated[bool, Meta(description="Keep colours and attributes as SGR sequences.")] = False


class ClosePane(Mutation[Done], frozen=True, kw_only=True, tag="pane.close"):
    """Close a pane and end what runs in it."""

    access: ClassVar[Access] = Access.COORDINATION

    pane: PaneName
