"""Answers `message.…`."""

from __future__ import annotations

from coordinatord.errors import Refused, WorldFailed
from coordinatord.features.messages import table
from coordinatord.features.messages.records import Message
from coordinatord.features.messages.requests import AckMessage, SendMessage, WithdrawMessage
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.records import Caller, Present
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tasks.table import active_task
from coordinatord.ids import COORDINATOR, SeatId, is_pane, peer_of
from coordinatord.store.database import Transaction


class MessageMethods:
    """Routes of this feature. ``limit`` is how many messages a seat may be owed."""

    def __init__(self, lookout: Lookout, limit: int) -> None:
        self._lookout = lookout
        self._limit = limit

    async def look(self, caller: Caller, request: SendMessage) -> Present | None:
        """Who is in the pane that is addressed; None if a seat is."""
        pane = self._pane_of(request.to)
        if pane is None:
            return None
        try:
            return await occupant_in(self._lookout, pane)
        except (WorldFailed, Refused):
            if is_pane(request.to):
                raise
            return None  # a peer's seat is owed things too while its pane cannot be seen

    def send(
        self, tx: Transaction, caller: Caller, request: SendMessage, found: Present | None
    ) -> Message:
        """Record a message."""
        to = self._recipient(tx, caller, request.to, found)
        return table.send(tx, caller, to, request, self._limit)

    def _pane_of(self, to: str) -> str | None:
        """A pane id, or the pane of a peer that was named by its terminal."""
        if is_pane(to):
            return to
        panes = self._lookout.sightings.panes.values()
        return next((seen.pane for seen in panes if peer_of(seen.terminal_id) == to), None)

    def _recipient(self, tx: Transaction, caller: Caller, to: str, found: Present | None) -> SeatId:
        if found is not None:
            return seats.addressed(tx, caller, found).id
        if to == COORDINATOR:
            return COORDINATOR
        role, _, task = to.partition(":")
        if role in ("worker", "reviewer"):
            active_task(tx, task)
            return SeatId(to)
        if to.startswith("peer:") and seats.seat_or_none(tx, SeatId(to)) is not None:
            return SeatId(to)
        raise Refused(
            "unknown-seat",
            f"There is no seat {to!r:.80}.",
            "Name coordinator, worker:TASK, reviewer:TASK, or a pane id from coordctl pane list",
        )


def acknowledge(tx: Transaction, caller: Caller, request: AckMessage) -> Message:
    """Record that a message was read."""
    return table.acknowledge(tx, caller, request.message)


def withdraw(tx: Transaction, caller: Caller, request: WithdrawMessage) -> Message:
    """Take a message back."""
    return table.withdraw(tx, caller, request.message)
