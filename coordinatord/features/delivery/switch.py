"""Is delivery by events on? The preference, and how the events are getting on. Pure state in memory.

Off, or degraded, changes nothing about asking, answering and reporting: those tell their recipient by
themselves (coordination.md §4.2, §4.6).
"""

from __future__ import annotations

import msgspec


class EventsState(msgspec.Struct, frozen=True, kw_only=True):
    """What `coordctl delivery status` shows. ``handled`` and ``ignored`` count events since the start."""

    id: str = "delivery"
    events: bool
    shadow: bool = False
    degraded: str | None = None
    handled: int = 0
    ignored: int = 0
    undelivered: int = 0
    oldest_undelivered_s: float | None = None
    oldest_decision_s: float | None = None


class Switch:
    """One per daemon; `delivery.enable` and `delivery.disable` turn it."""

    def __init__(self, on: bool, shadow: bool = False) -> None:
        self.on = on
        self.shadow = shadow
        self.degraded: str | None = None
        self.handled = 0
        self.ignored = 0

    def worked(self) -> None:
        """An event was handled: whatever was wrong is over."""
        self.handled += 1
        self.degraded = None

    def failed(self, why: str) -> None:
        """An event could not be handled; ``why`` is a reason and never a text."""
        self.degraded = why
