"""What alerts owe: a look by the coordinator."""

from __future__ import annotations

from coordinatord.features.attention import table
from coordinatord.features.obligations.records import Obligation, Owed
from coordinatord.ids import COORDINATOR, SeatId
from coordinatord.store.database import View


class Alerts:
    """See `obligations.source.Source`, whose promises are not repeated here."""

    kinds = frozenset({"attention"})

    def derive(self, view: View, now: float, to: SeatId | None = None) -> Owed:
        found = table.owed(view)
        items = [
            Obligation(
                id=f"attention:{alert.id}",
                kind="attention",
                record=alert.id,
                to=COORDINATOR,
                seq=alert.seq,
                since=alert.at,
                task=alert.task,
            )
            for alert in found.items
        ]
        return Owed(items=items, unreadable=found.unreadable)

    def phrase(self, obligation: Obligation) -> str:
        return f"alert {obligation.record} on the worker of {obligation.task}"

    def reading(self, obligation: Obligation) -> str:
        return f"show {obligation.record}"

    def settling(self, obligation: Obligation) -> str:
        return f"attention seen {obligation.record}"
