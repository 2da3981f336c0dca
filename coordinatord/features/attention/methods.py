"""Answers `attention.…`."""

from __future__ import annotations

from coordinatord.features.attention import table
from coordinatord.features.attention.records import Attention
from coordinatord.features.attention.requests import ListAttention, SeeAttention
from coordinatord.features.panes.records import Caller
from coordinatord.store.database import Transaction, View
from coordinatord.wire.requests import Listing


def listed(view: View, caller: Caller, request: ListAttention) -> Listing[Attention]:
    """What is owed, oldest first."""
    found = table.owed(view)
    return Listing(items=found.items, incomplete=bool(found.unreadable))


def seen(tx: Transaction, caller: Caller, request: SeeAttention) -> Attention:
    """Record that somebody looked."""
    return table.see(tx, caller, request.alert)
