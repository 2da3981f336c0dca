"""Answers `message.…`."""

from __future__ import annotations

import msgspec

from coordinatord.errors import Refused, WorldFailed
from coordinatord.features.messages import table
from coordinatord.features.messages.records import Message
from coordinatord.features.messages.requests import AckMessage, SendMessage, WithdrawMessage
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.proof import seat_of
from coordinatord.features.panes.records import Caller
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tasks.table import active_task
from coordinatord.ids import COORDINATOR, SeatId, is_pane, peer_of
from coordinatord.store.database import Transaction
from coordinatord.terminals.port import Occupant, Sighting


class Addressed(msgspec.Struct, frozen=True):
    """A pane that a message names, as seen just now."""

    seen: Sighting
    occupant: Occupant


class MessageMethods:
    """Routes of this feature. ``limit`` is how many messages a seat may be owed."""

    def __init__(self, lookout: Lookout, limit: int) -> None:
        self._lookout = lookout
        self._limit = limit

    async def look(self, caller: Caller, request: SendMessage) -> Addressed | None:
        """Who is in the pane that is addressed; None if a seat is."""
        pane = self._pane_of(request.to)
        if pane is None:
            return None
        try:
            return Addressed(*await occupant_in(self._lookout, pane))
        except (WorldFailed, Refused):
            if is_pane(request.to):
                raise
            return None  # a peer's seat is owed things too while its pane cannot be seen

    def send(
        self, tx: Transaction, caller: Caller, request: SendMessage, found: Addressed | None
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

    def _recipient(
        self, tx: Transaction, caller: Caller, to: str, found: Addressed | None
    ) -> SeatId:
        if found is not None:
            return self._seat_of_pane(tx, caller, found)
        if to == COORDINATOR:
            return COORDINATOR
        if to.startswith("worker:"):
            active_task(tx, to.removeprefix("worker:"))
            return SeatId(to)
        if to.startswith("peer:") and seats.seat_or_none(tx, SeatId(to)) is not None:
            return SeatId(to)
        raise Refused(
            "unknown-seat",
            f"There is no seat {to!r:.80}.",
            "Name coordinator, worker:TASK, or a pane id from coordctl pane list",
        )

    def _seat_of_pane(self, tx: Transaction, caller: Caller, found: Addressed) -> SeatId:
        """The seat whose occupant is there; a peer's seat is made if there is none."""
        seen = found.seen
        seat = seat_of(seen, seats.all_seats(tx), found.occupant.shell)
        if seat is not None:
            return seat
        if seen.agent is None:
            raise Refused(
                "not-agent",
                f"No agent runs in {seen.pane}: nobody is there to be told.",
                "Start one there, or type into the shell: coordctl pane send",
            )
        peer = peer_of(seen.terminal_id)
        seats.take(tx, caller, peer, "developer", pane=seen.pane, occupant=found.occupant)
        return peer


def acknowledge(tx: Transaction, caller: Caller, request: AckMessage) -> Message:
    """Record that a message was read."""
    return table.acknowledge(tx, caller, request.message)


def withdraw(tx: Transaction, caller: Caller, request: WithdrawMessage) -> Message:
    """Take a message back."""
    return table.withdraw(tx, caller, request.message)
