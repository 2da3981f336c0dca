"""What may be asked about alerts."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.attention.records import Attention
from coordinatord.wire.requests import Access, Listing, Mutation, Request


class ListAttention(Request[Listing[Attention]], frozen=True, kw_only=True, tag="attention.list"):
    """List the alerts that stand: workers that ask their person, stand idle, or are gone."""


class SeeAttention(Mutation[Attention], frozen=True, kw_only=True, tag="attention.seen"):
    """Say that you have looked at an alert. It is not owed any more."""

    access: ClassVar[Access] = Access.COORDINATION

    alert: Annotated[str, Meta(description="The alert, such as a-5k2m9x4p.")]
