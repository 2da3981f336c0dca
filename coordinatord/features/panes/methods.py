"""Answers `seat.whoami`, `seat.bind` and the `pane.…` methods that only look or close."""

from __future__ import annotations

from coordinatord.errors import PaneMissing, Refused, Unreachable
from coordinatord.features.panes.judgement import Gone, Unseen, occupant_of
from coordinatord.features.panes.proof import seat_of
from coordinatord.features.panes.records import (
    Caller,
    Identity,
    PaneReading,
    PaneRecord,
    Present,
)
from coordinatord.features.panes.requests import ClosePane, ListPanes, ReadPane, WhoAmI
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.table import all_seats
from coordinatord.ids import PaneId, SeatId, is_pane
from coordinatord.store.database import Database, Transaction
from coordinatord.terminals.port import Sighting
from coordinatord.wire.requests import Done, Listing


class PaneMethods:
    """Routes of this feature."""

    def __init__(self, database: Database, lookout: Lookout) -> None:
        self._database = database
        self._lookout = lookout

    async def list(self, caller: Caller, request: ListPanes) -> Listing[PaneRecord]:
        """All panes, freshly."""
        if not await self._lookout.look_around():
            raise Unreachable(self._lookout.sightings.trouble or "it was asked for its panes")
        seats = await self._database.read(all_seats)
        sightings = self._lookout.sightings
        return Listing(
            items=[
                shown(seen, seat_of(seen, seats, sightings.shell(seen.terminal_id)))
                for seen in sightings.panes.values()
            ]
        )

    async def read(self, caller: Caller, request: ReadPane) -> PaneReading:
        """Text of one pane."""
        pane = named_pane(request.pane)
        found = await self._lookout.terminal.read(
            pane, request.source, lines=request.lines, ansi=request.ansi
        )
        return PaneReading(id=pane, text=found.text, truncated=found.truncated)

    async def close(self, caller: Caller, request: ClosePane) -> Done:
        """End a pane; journalled before it is done."""
        pane = await standing_pane(self._lookout, request.pane)
        await self._database.write(_journal_close, caller, pane)
        await self._lookout.terminal.close(pane)
        self._lookout.sightings.forget(pane)
        return Done()


def whoami(caller: Caller, request: WhoAmI) -> Identity:
    """Who the caller is; awaits nothing."""
    return Identity(
        id=caller.seat,
        role=caller.role,
        proof=caller.proof,
        task=caller.task,
        pane=caller.pane,
        terminal_id=caller.terminal_id,
        doubt=caller.doubt,
    )


def named_pane(name: str) -> PaneId:
    """The pane id as given, if it is written like one.

    Raises:
        Refused: ``bad-id``: the host would take another spelling for a position (T-21).
    """
    if not is_pane(name):
        raise Refused(
            "bad-id",
            f"{name!r:.80} is not a pane id.",
            "A pane id looks like w1:p2: coordctl pane list",
        )
    return PaneId(name)


async def standing_pane(lookout: Lookout, name: str) -> PaneId:
    """The pane id as given, if the host has such a pane: asked before the intent to act is stored.

    Raises:
        Refused: ``bad-id``.
        PaneMissing: the host has no such pane.
        Unreachable: the host does not answer.
    """
    pane = named_pane(name)
    match await lookout.look(pane):
        case Gone():
            raise PaneMissing(pane)
        case Unseen():
            raise Unreachable(lookout.sightings.trouble or "it was asked about a pane")
        case Sighting():
            return pane


async def occupant_in(lookout: Lookout, name: str) -> Present:
    """Who is in a pane now, shell included.

    Raises:
        Refused: ``bad-id``, ``occupant-unproven`` (the shell cannot be seen).
        PaneMissing: the host has no such pane.
        Unreachable: the host does not answer.
    """
    pane = named_pane(name)
    match await lookout.look(pane):
        case Gone():
            raise PaneMissing(pane)
        case Unseen():
            raise Unreachable(lookout.sightings.trouble or "it was asked about a pane")
        case Sighting() as seen:
            pass
    foreground = await lookout.foreground(seen)
    if foreground is None or foreground.shell is None:
        raise Refused(
            "occupant-unproven",
            f"The shell in {pane} cannot be seen, so its occupant cannot be recorded.",
            "Wait until the pane's shell is up, then try again.",
        )
    return Present(seen, occupant_of(seen, foreground.shell))


def shown(seen: Sighting, seat: SeatId | None) -> PaneRecord:
    """A sighting as the list shows it."""
    return PaneRecord(
        id=seen.pane,
        pane_id=seen.pane,
        terminal_id=seen.terminal_id,
        label=seen.label,
        agent=seen.agent,
        agent_status=seen.status,
        agent_session=seen.session,
        focused=seen.focused,
        cwd=seen.cwd,
        workspace_id=seen.workspace_id,
        seat=seat,
    )


def _journal_close(tx: Transaction, caller: Caller, pane: PaneId) -> None:
    tx.journal("pane-close", pane, actor=caller.seat, proof=caller.proof)
