"""One delivery: look, claim, type once, look for evidence, store the outcome.

At most four host calls up to and including the prompt: the agent's record, its processes, its screen, the
prompt (interfaces.md). Evidence is looked for afterwards, bounded, and the look stops as soon as it is found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import anyio
import anyio.to_thread
import msgspec

from coordinatord.clock import Clock
from coordinatord.features.delivery import episodes, notice, run_wake, shadow, table
from coordinatord.features.delivery.pacing import Recipient, sendable
from coordinatord.features.delivery.records import Mark, Receipt, Stage, Told, Wanted
from coordinatord.features.delivery.run_claim import Claimed, Ready, Written
from coordinatord.features.delivery.run_evidence import Witness
from coordinatord.features.delivery.run_follow import Follower
from coordinatord.features.delivery.run_letters import put_letter
from coordinatord.features.delivery.run_shadow import Shadower
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.judgement import Gone, Unseen, refreshed
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.run_look import Judged, Lookout
from coordinatord.features.panes.table import SEATS, refresh
from coordinatord.features.typing.records import Clear, Held, MaybeTyped, NotTyped, Typed
from coordinatord.features.typing.run import Typist
from coordinatord.features.typing.table import pause_of
from coordinatord.ids import AttemptId, PaneId
from coordinatord.kinds import AgentKind, sanitise
from coordinatord.store.database import Database, Transaction
from coordinatord.terminals.port import Sighting

Kept: TypeAlias = AttemptId | Held | None
"""What a delivery left: an attempt, a reason why none was made, or nothing (nothing was owed any more)."""


RECENT_S: Final = 0.1
"""A look at the pane that began no longer ago is still the fresh one: what made it due was just that look."""


STALE_S: Final = 1.0
"""When the store took longer than this for the claim, the pane is looked at once more before anything is
typed: somebody may have begun to type, or the agent to ask."""


class Letters(msgspec.Struct, frozen=True):
    """Where texts go that are too long to be typed, and how long that is (bytes of UTF-8)."""

    folder: Path
    limit: int


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
        witness: Witness,
        letters: Letters,
        shadower: Shadower,
    ) -> None:
        """``spelling`` says how `coordctl` is called in the pane with this terminal id."""
        self._database = database
        self._lookout = lookout
        self._typist = typist
        self._sources = sources
        self._kinds = kinds
        self._spelling = spelling
        self._witness = witness
        self._letters = letters
        self._shadower = shadower
        self._clock = clock
        self._in_hand: set[AttemptId] = set()
        self._follower = Follower(database, lookout, typist, sources, witness, clock)

    def has_in_hand(self, attempt: AttemptId) -> bool:
        """Does a delivery go on for this attempt?"""
        return attempt in self._in_hand

    @property
    def paused(self) -> bool:
        """Is typing paused?"""
        return self._typist.paused

    async def learn_pause(self) -> None:
        """At start: a pause and the shadow mode survive the daemon."""
        self._typist.paused = (await self._database.read(pause_of)).paused
        await self._shadower.learn()

    async def deliver(self, seat: Seat, forced: bool) -> Kept:
        """Tell one seat what it is owed, once, if a fresh look allows it. Whether it is still bound as
        this record says is read again with the claim."""
        judged = await self._lookout.judge(seat, RECENT_S)
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
        ready = await self._make_ready(judged, looked, forced)
        if self._shadower.on:
            return await self._shadower.instead(seat, ready, self._wanted, self._write)
        with anyio.CancelScope(shield=True):
            # once claimed, the attempt is carried to its outcome: a stop must not leave it uncertain
            typed = await self._claim_and_type(seat, ready)
        if typed is None:
            return None
        claimed, stage = typed
        try:
            if stage == "typed":
                await self._follower.follow(
                    claimed.attempt, claimed.written.text, ready.seen, ready.kind
                )
        finally:
            self._in_hand.discard(claimed.attempt.id)
        return claimed.attempt.id

    async def _make_ready(self, judged: Judged, looked: Clear, forced: bool) -> Ready:
        seen, kind = judged.seen, self._kinds[looked.kind]
        assert isinstance(seen, Sighting), "the gate is clear only for a pane that was seen"
        mark = await self._witness.mark(kind, seen, looked.pid)
        return Ready(judged, seen, kind, mark, forced, self._clock.awake())

    async def _claim_and_type(self, seat: Seat, ready: Ready) -> tuple[Claimed, Stage] | None:
        claimed = await self._database.write(self._claim, seat, ready)
        if claimed is None:
            return None
        try:
            held = await self._look_again_if_late(claimed, ready)
            if held is None:
                stage, evidence = await self._write_and_type(claimed, ready.seen.pane)
            else:
                stage, evidence = (
                    "not-delivered",
                    f"{held.reason}, once the store had let it through",
                )
            await self._database.insist(
                table.reach, self._sources, claimed.attempt.id, stage, evidence
            )
        except BaseException:
            self._in_hand.discard(claimed.attempt.id)  # then it is uncertain
            raise
        return claimed, stage

    async def _look_again_if_late(self, claimed: Claimed, ready: Ready) -> Held | None:
        if self._clock.awake() - ready.at <= STALE_S:
            return None
        judged = await self._lookout.judge(claimed.seat)
        looked = await self._typist.look(judged)
        if isinstance(looked, Held):
            return looked
        return None if _same_place(ready.seen, judged.seen) else Held("absent")

    def _claim(self, tx: Transaction, seen_seat: Seat, ready: Ready) -> Claimed | None:
        """Re-read what is owed and who sits there; store the intent; build the text from what is left."""
        seat = SEATS.get(tx, seen_seat.id)
        if seat is None or seat.binding != seen_seat.binding or seat.occupant is None:
            return None
        judged, seen = ready.judged, ready.seen
        if not _as_before(seen, self._lookout.sightings.cached(seen.pane)):
            return None  # it was seen to change while we looked closer: it is looked at again
        shell = judged.shell or (judged.foreground.shell if judged.foreground else None)
        seat = refresh(tx, seat, seen.pane, refreshed(seat.occupant, seen, shell))
        wanted = self._wanted(tx, seat, seen, ready.forced)
        if not wanted.named:
            return None
        held_back = episodes.concerns(seat.id) and run_wake.holds_back(
            tx, seat, self._sources.owed_to(tx, tx.now, seat.id).items
        )
        attempt = AttemptId(tx.mint("attempt"))
        self._in_hand.add(attempt)  # before anybody else can read it
        written = self._write(tx, attempt, wanted, ready)
        record = table.claim(
            tx,
            self._sources,
            seat,
            wanted.named,
            attempt,
            transport="prompt",
            stage="claimed",
            evidence=f"{seen.agent} in {seen.pane} is {seen.status}, its composer is empty",
            receipt=written.receipt,
            settled_at=self._lookout.sightings.settled_since(seen.pane),
        )
        run_wake.begin(tx, seat, attempt, wanted.named, held_back and not ready.forced)
        table.release(tx, seat.id)
        return Claimed(record, written, seat)

    def _wanted(
        self,
        tx: Transaction,
        seat: Seat,
        seen: Sighting,
        forced: bool,
        foretold: Mapping[str, Told] = MappingProxyType({}),
    ) -> Wanted:
        """What to tell; ``foretold`` is what shadow mode counts as told."""
        owed = self._sources.owed_to(tx, tx.now, seat.id)
        told = {**table.told_to(tx, seat, owed.items), **foretold}
        recipient = Recipient(
            seat=seat.id,
            items=tuple(owed.items),
            told=told,
            behind=run_wake.behind(tx, seat, owed.items, told)
            | shadow.behind(seat.id, owed.items, foretold),
            seen=seen,
            bound=True,
            settled_since=self._lookout.sightings.settled_since(seen.pane),
            forced=forced,
        )
        may = sendable(recipient, tx.now)
        if may and may[0].alone:
            return Wanted(may[:1])
        announced = tuple(item for item in may if not item.alone)
        return notice.choose(announced, _withheld(recipient, may), self._phrase)

    def _phrase(self, item: Obligation) -> str:
        return self._sources.of(item).phrase(item)

    def _write(self, tx: Transaction, attempt: AttemptId, wanted: Wanted, ready: Ready) -> Written:
        """The text for what is named: a notice, or the text of its own of a debt that is told alone."""
        first = wanted.named[0]
        if first.alone:
            return self._write_own(tx, first, ready)
        coordctl = self._spelling(ready.seen.terminal_id)
        cleaned = sanitise(notice.compose(attempt, wanted, self._phrase, coordctl))
        return Written(cleaned.text, _receipt(cleaned.text, cleaned.removed, attempt, ready.mark))

    def _write_own(self, tx: Transaction, item: Obligation, ready: Ready) -> Written:
        head, body, tail = self._sources.own_text(tx, item)
        whole = notice.own(head, body, tail)
        if not notice.goes_by_file(ready.kind, whole.text, self._letters.limit):
            receipt = _receipt(whole.text, whole.removed, item.record, ready.mark)
            return Written(whole.text, receipt)
        letter = sanitise(body).text
        path = str(self._letters.folder / f"{item.record}.txt")
        text = sanitise(notice.by_file(head, path, len(letter.encode()), tail)).text
        receipt = _receipt(text, whole.removed, item.record, ready.mark, path)
        return Written(text, receipt, letter)

    async def _write_and_type(self, claimed: Claimed, pane: PaneId) -> tuple[Stage, str]:
        written = claimed.written
        if written.letter is not None and written.receipt.file is not None:
            try:
                path = Path(written.receipt.file)
                await anyio.to_thread.run_sync(put_letter, path, written.letter)
            except OSError as error:
                return "not-delivered", f"its file could not be written: {error.strerror}"
        match await self._typist.prompt(pane, written.text):
            case Typed():
                return "typed", "the host took the text"
            case NotTyped(why):
                return "not-delivered", why
            case MaybeTyped(why):
                return "uncertain", why


def _receipt(
    text: str,
    removed: tuple[str, ...],
    needle: str,
    mark: Mark | None,
    file: str | None = None,
) -> Receipt:
    return Receipt(
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        removed=removed,
        needle=needle,
        mark=None if mark is None else msgspec.structs.replace(mark, needle=needle),
        file=file,
    )


def _same_place(before: Sighting | Gone | Unseen, now: Sighting | Gone | Unseen) -> bool:
    """May what was begun for one pane go on? A pane that cannot be seen now is for the gate to hold."""
    return not (isinstance(before, Sighting) and isinstance(now, Sighting)) or (
        before.pane == now.pane
    )


def _as_before(before: Sighting, now: Sighting | Gone | Unseen) -> bool:
    """Is what the host says of the agent still what it said when the look began? Labels may change."""
    return isinstance(now, Sighting) and _agent(before) == _agent(now)


def _agent(seen: Sighting) -> tuple[object, ...]:
    return seen.terminal_id, seen.agent, seen.status, seen.state_change_seq, seen.live


def _withheld(recipient: Recipient, may: tuple[Obligation, ...]) -> int:
    """Items the recipient was not surely told of and is not told now: only counted."""
    told = {
        key for key, each in recipient.told.items() if each.stage in ("uncertain", "not-delivered")
    }
    return len([item for item in recipient.items if item.id in told and item not in may])
