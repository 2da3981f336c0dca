"""What may be asked about the daemon itself."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from coordinatord.features.panes.records import Proof
from coordinatord.ids import SeatId
from coordinatord.wire.requests import Access, Done, Listing, Mutation, Request


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers, and which seat the caller has."""

    version: str
    workspace: str
    seat: SeatId
    proof: Proof


class Hello(Request[Welcome], frozen=True, kw_only=True, tag="hello"):
    """Say who calls: a pane claim and a launch token travel here. Optional, and first if sent."""

    client: Annotated[str, Meta(max_length=80, description="The client's name.")]
    version: Annotated[str, Meta(max_length=40, description="The client's version.")]
    pane_id: (
        Annotated[str, Meta(max_length=80, description="HERDR_PANE_ID of the caller.")] | None
    ) = None
    terminal_socket: (
        Annotated[str, Meta(max_length=4096, description="HERDR_SOCKET_PATH of the caller.")] | None
    ) = None
    token: (
        Annotated[str, Meta(max_length=200, description="COORDINATORD_TOKEN of the caller.")] | None
    ) = None


class Explained(msgspec.Struct, frozen=True):
    """One setting's value and where it came from."""

    key: str
    value: Any
    source: str
    unit: str | None
    doc: str


class ReadConfig(Request[Listing[Explained]], frozen=True, kw_only=True, tag="config.read"):
    """Show each setting, its value, and the file, variable or flag that it came from."""


class StopDaemon(Mutation[Done], frozen=True, kw_only=True, tag="daemon.stop"):
    """Stop the daemon. What is owed stays stored; agents and panes are left alone."""

    access: ClassVar[Access] = Access.COORDINATION

    panes: Annotated[
        bool,
        Meta(
            description="End the embedded pane host with its panes too; in Herdr, only panes we opened."
        ),
    ] = False


class Discover(Request[dict[str, Any]], frozen=True, kw_only=True, tag="rpc.discover"):
    """Describe every method as an OpenRPC document."""
