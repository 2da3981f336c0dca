"""One delivery: look, claim, type once, look for evidence, store the outcome.

At most four host calls up to and including the prompt: the agent's record, its processes, its screen, the
prompt (interfaces.md). Evidence is looked for afterwards, bounded, and the look stops as soon as it is found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import anyio
import msgspec

from coordinatord.clock import Clock
from coordinatord.features.delivery import notice, table
from coordinatord.features.delivery.pacing import Recipient, sendable
from coordinatord.features.delivery.records import Attempt, Stage, Wanted
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.judgement import Gone, Unseen, refreshed
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.run_look import Judged, Lookout
from coordinatord.features.panes.table import SEATS, refresh
from coordinatord.features.typing.records import Held, MaybeTyped, NotTyped, Typed
from coordinatord.features.typing.run import Typist
from coordinatord.features.typing.table import pause_of
from coordinatord.ids import AttemptId, PaneId, SeatId
from coordinatord.kinds import AgentKind, Composer, composer_holds, sanitise
from coordinatord.store.database import Database, Transaction
from coordinatord.terminals.port import Sighting

EVIDENCE_WITHIN_S: Final = 5.0
"""How long evidence of a turn is looked for after the host took the text."""

FIRST_LOOK_S: Final = 0.6
"""Herdr presses Enter 300 ms after the text; a look before that proves nothing (agents.md §1.3, §1.4)."""

LOOK_EVERY_S: Final = 0.5
ENTERS_ALLOWED: Final = 2

Kept: TypeAlias = AttemptId | Held | None
"""What a delivery left: an attempt, a reason why none was made, or nothing (nothing was owed any more)."""


class Claimed(msgspec.Struct, frozen=True):
    """An attempt that is stored, and the line to type for it."""

    attempt: Attempt
    text: str


class Deliverer:
    """Carries out single deliveries; the pump decides when."""

    def __init__(
        self,
        database: Database,
        lookout: Lookout,
        typist: Typist,
        sources: Sources,
        kinds: Mapping[str, AgentKind],
        clock: Clock,
        spelling: Callable[[str], str],
    ) -> None:
        """``spelling`` says how `coordctl` is called in the pane with this terminal id."""
        self._database = database
        self._lookout = lookout
        self._typist = typist
        self._sources = sources
        self._kinds = kinds
        self._clock = clock
        self._spelling = spelling

    @property
    def paused(self) -> bool:
        """Is typing paused?"""
        return self._typist.paused

    async def learn_pause(self) -> None:
        """At start: a pause survives the daemon."""
        self._typist.paused = (await self._database.read(pause_of)).paused

    async def deliver(self, name: SeatId, forced: bool) -> Kept:
        """Tell one seat what it is owed, once, if a fresh look allows it."""
        seat = await self._database.read(SEATS.get, name)
        if seat is None:
            return Held("unbound", "no pane is recorded for this seat")
        judged = await self._lookout.judge(seat)
        if not isinstance(judged.seen, Sighting):
            looked = await self._typist.look(judged)
            return looked if isinstance(looked, Held) else Held("absent")
        async with self._typist.turn(judged.seen.pane) as waited:
            return await self._in_turn(seat, judged, forced, waited)

    async def _in_turn(self, seat: Seat, judged: Judged, forced: bool, waited: bool) -> Kept:
        if waited:
            place = judged.seen
            judged = await self._lookout.judge(seat)
            if not _same_place(place, judged.seen):
                return None  # it moved while we waited; the next pass takes that pane's turn
        looked = await self._typist.look(judged)
        if isinstance(looked, Held):
            return looked
        seen = judged.seen
        assert isinstance(seen, Sighting), "the gate is clear only for a pane that was seen"
        with anyio.CancelScope(shield=True):
            # once claimed, the attempt is carried to its outcome: a stop must not leave it uncertain
            typed = await self._claim_and_type(seat, judged, seen.pane, forced)
        if typed is None:
            return None
        claimed, stage = typed
        if stage == "typed":
            await self._follow(claimed, seen, self._kinds[looked.kind])
        return claimed.attempt.id

    async def _claim_and_type(
        self, seat: Seat, judged: Judged, pane: PaneId, forced: bool
    ) -> tuple[Claimed, Stage] | None:
        claimed = await self._database.write(self._claim, seat, judged, forced)
        if claimed is None:
            return None
        stage, evidence = await self._type(claimed, pane)
        await self._database.write(table.reach, claimed.attempt.id, stage, evidence)
        return claimed, stage

    def _claim(
        self, tx: Transaction, seen_seat: Seat, judged: Judged, forced: bool
    ) -> Claimed | None:
        """Re-read what is owed and who sits there; store the intent; build the text from what is left."""
        seat = SEATS.get(tx, seen_seat.id)
        if seat is None or seat.binding != seen_seat.binding or seat.occupant is None:
            return None
        seen = judged.seen
        assert isinstance(seen, Sighting), "only a pane that was seen is claimed"
        shell = judged.shell or (judged.foreground.shell if judged.foreground else None)
        seat = refresh(tx, seat, seen.pane, refreshed(seat.occupant, seen, shell))
        wanted = self._wanted(tx, seat, seen, forced)
        if not wanted.named:
            return None
        attempt = AttemptId(tx.mint("attempt"))
        line = notice.compose(attempt, wanted, self._phrase, self._spelling(seen.terminal_id))
        cleaned = sanitise(line)
        record = table.claim(
            tx,
            seat,
            wanted.named,
            attempt,
            transport="prompt",
            stage="claimed",
            evidence=f"{seen.agent} in {seen.pane} is {seen.status}, its composer is empty",
            sha256=hashlib.sha256(cleaned.text.encode()).hexdigest(),
            removed=cleaned.removed,
            settled_at=self._lookout.sightings.settled_since(seen.pane),
        )
        table.release(tx, seat.id)
        return Claimed(record, cleaned.text)

    def _wanted(self, tx: Transaction, seat: Seat, seen: Sighting, forced: bool) -> Wanted:
        owed = self._sources.owed_to(tx, tx.now, seat.id)
        recipient = Recipient(
            seat=seat.id,
            items=tuple(owed.items),
            told=table.told_to(tx, seat.id, seat.binding),
            seen=seen,
            bound=True,
            settled_since=self._lookout.sightings.settled_since(seen.pane),
            forced=forced,
        )
        may = sendable(recipient, tx.now)
        return notice.choose(may, _withheld(recipient, may), self._phrase)

    def _phrase(self, item: Obligation) -> str:
        return self._sources.of(item).phrase(item)

    async def _type(self, claimed: Claimed, pane: PaneId) -> tuple[Stage, str]:
        match await self._typist.prompt(pane, claimed.text):
            case Typed():
                return "typed", "the host took the text"
            case NotTyped(why):
                return "not-delivered", why
            case MaybeTyped(why):
                return "uncertain", why

    async def _follow(self, claimed: Claimed, before: Sighting, kind: AgentKind) -> None:
        """Look for proof that the text was submitted, until it is found or the bound passes."""
        ends = self._clock.awake() + EVIDENCE_WITHIN_S
        await self._clock.sleep(FIRST_LOOK_S)
        enters, evidence = 0, "no sign of a turn was seen"
        stage: Stage = "uncertain"
        while True:
            found = await self._evidence(claimed, before, kind)
            if found is not None and found[0] != "typed":
                stage, evidence = found
                break
            if found is not None and enters < ENTERS_ALLOWED:
                enters += 1
                await self._typist.press_enter(before.pane)
                evidence = f"the text stood in the composer; Enter was repeated {enters} times"
            if self._clock.awake() >= ends:
                break
            await self._clock.sleep(LOOK_EVERY_S)
        if enters and stage != "uncertain":
            evidence = f"{evidence}; Enter was repeated {enters} times"
        await self._database.write(table.reach, claimed.attempt.id, stage, evidence)

    async def _evidence(
        self, claimed: Claimed, before: Sighting, kind: AgentKind
    ) -> tuple[Stage, str] | None:
        """What one look shows: a turn, our text still in the composer (``typed``), or nothing."""
        seen = await self._lookout.look(before.pane)
        if not isinstance(seen, Sighting):
            return None
        if seen.terminal_id != before.terminal_id:
            return "uncertain", "the pane's terminal changed right after typing"
        if seen.status == "working" or seen.state_change_seq != before.state_change_seq:
            return "turn-started", f"the agent's state changed to {seen.status}"
        reading = await self._typist.reading(before.pane, kind)
        if isinstance(reading, Composer) and composer_holds(kind, reading, claimed.text):
            return "typed", "the text stands in the composer"
        return None


def _same_place(before: Sighting | Gone | Unseen, now: Sighting | Gone | Unseen) -> bool:
    """May what was begun for one pane go on? A pane that cannot be seen now is for the gate to hold."""
    return not (isinstance(before, Sighting) and isinstance(now, Sighting)) or (
        before.pane == now.pane
    )


def _withheld(recipient: Recipient, may: tuple[Obligation, ...]) -> int:
    """Items the recipient was not surely told of and is not told now: only counted."""
    told = {
        key for key, each in recipient.told.items() if each.stage in ("uncertain", "not-delivered")
    }
    return len([item for item in recipient.items if item.id in told and item not in may])
