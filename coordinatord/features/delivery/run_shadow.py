"""Records what would have been typed instead of typing it, and looks later whether that was right.

Also answers `delivery.shadow-…`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from coordinatord.clock import Clock
from coordinatord.features.delivery import shadow
from coordinatord.features.delivery.records import Told, Wanted
from coordinatord.features.delivery.requests import EnterShadow, LeaveShadow, ReadShadow
from coordinatord.features.delivery.run_claim import Ready, Written
from coordinatord.features.delivery.shadow import Mode, Report, Shadow, Unsure
from coordinatord.features.delivery.switch import Switch
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.table import SEATS
from coordinatord.features.typing.records import Held
from coordinatord.features.typing.run import Typist
from coordinatord.ids import AttemptId
from coordinatord.store.database import Database, Transaction, View
from coordinatord.store.records import RecordTable
from coordinatord.terminals.port import Sighting

WATCH_FOR_S: Final = 3.0
"""How long the pane is watched after the text would have been typed: a text is read by its agent, and a
turn begun, well within it (agents.md §1.3)."""

LOOK_EVERY_S: Final = 0.5

_KEY: Final = "shadow"
_MODE: Final = msgspec.json.Decoder(Mode)

SHADOWS: Final = RecordTable(
    "shadows",
    Shadow,
    lambda each: {"seat": each.seat, "state": str(each.state.__struct_config__.tag)},
)

Choose = Callable[[Transaction, Seat, Sighting, bool, Mapping[str, Told]], Wanted]
Write = Callable[[Transaction, AttemptId, Wanted, Ready], Written]


class Shadower:
    """Takes the place of claiming and typing while shadow mode is on."""

    def __init__(
        self, database: Database, lookout: Lookout, typist: Typist, switch: Switch, clock: Clock
    ) -> None:
        self._database = database
        self._lookout = lookout
        self._typist = typist
        self._switch = switch
        self._clock = clock

    @property
    def on(self) -> bool:
        """Is nothing to be typed?"""
        return self._switch.shadow

    async def learn(self) -> None:
        """At start: the mode survives the daemon, a later look that it still owed does not."""
        self._switch.shadow = (await self._database.read(mode_of)).on
        await self._database.write(_give_up)

    async def instead(self, seat: Seat, ready: Ready, choose: Choose, write: Write) -> Held:
        """Record what ``choose`` and ``write`` say would be typed now, and what became of the pane."""
        noted = await self._database.write(_note, seat, ready, choose, write)
        if noted is None:
            return Held("shadow", "recorded before")
        state = await self._watch(seat, ready.seen)
        await self._database.write(_settle, noted.id, state)
        return Held("shadow", f"recorded as {noted.id}")

    async def _watch(self, seat: Seat, before: Sighting) -> shadow.ShadowState:
        ends = self._clock.awake() + WATCH_FOR_S
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            judged = await self._lookout.judge(seat)
            looked = await self._typist.look(judged)
            state = shadow.found(before, judged.seen, looked, self._clock.wall())
            if state != "stands":
                return state
            if self._clock.awake() >= ends:
                return shadow.Right(self._clock.wall())

    async def enter(self, caller: Caller, request: EnterShadow) -> Mode:
        """Switch on. At once: what is claimed already is typed all the same."""
        mode = await self._database.write(_turn, caller, True)
        self._switch.shadow = True
        return mode

    async def leave(self, caller: Caller, request: LeaveShadow) -> Mode:
        """Switch off; the journal line wakes the pump, which tells what is still owed."""
        self._switch.shadow = False
        return await self._database.write(_turn, caller, False)

    def report(self, view: View, caller: Caller, request: ReadShadow) -> Report:
        """What would have been typed since the mode was last switched on."""
        mode = mode_of(view)
        found = SHADOWS.select(view, "seq > ?", int(_value(view, "shadow-seq") or 0))
        return shadow.report(mode, found.items, request.limit)


def mode_of(view: View) -> Mode:
    """Is shadow mode on?"""
    kept = _value(view, _KEY)
    return _MODE.decode(kept) if kept else Mode()


def _value(view: View, key: str) -> str | None:
    row = view.row("SELECT value FROM meta WHERE key = ?", key)
    return str(row[0]) if row else None


def _turn(tx: Transaction, caller: Caller, on: bool) -> Mode:
    """A mode that stands keeps its time and its author."""
    if mode_of(tx).on == on:
        return mode_of(tx)
    seq = tx.journal("delivery", "shadow", actor=caller.seat, proof=caller.proof)
    mode = Mode(on=on, since=tx.now, by=caller.seat)
    _keep(tx, _KEY, msgspec.json.encode(mode).decode())
    if on:
        _keep(tx, "shadow-seq", str(seq))
    return mode


def _keep(tx: Transaction, key: str, value: str) -> None:
    tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key, value,
    )  # fmt: skip


def _note(
    tx: Transaction, seen_seat: Seat, ready: Ready, choose: Choose, write: Write
) -> Shadow | None:
    """Store what would be typed; None: this occupant would have been told all of it already."""
    seat = SEATS.get(tx, seen_seat.id)
    if seat is None or seat.binding != seen_seat.binding or seat.occupant is None:
        return None
    since = int(_value(tx, "shadow-seq") or 0)
    before = SHADOWS.select(tx, "seat = ? AND seq > ?", seat.id, since).items
    wanted = choose(tx, seat, ready.seen, ready.forced, shadow.foretold(seat, before))
    if not wanted.named:
        return None
    name = tx.mint("shadow")
    written = write(tx, AttemptId(name), wanted, ready)
    record = Shadow(
        id=name,
        seq=tx.journal("shadow", name, seat=seat.id, task=seat.task, actor="coordinatord"),
        at=tx.now,
        seat=seat.id,
        binding=seat.binding,
        pane=ready.seen.pane,
        terminal_id=ready.seen.terminal_id,
        obligations=tuple(item.id for item in wanted.named),
        records=tuple(dict.fromkeys(item.record for item in wanted.named)),
        text=None if wanted.named[0].alone else written.text,
        characters=len(written.text),
        sha256=written.receipt.sha256,
    )
    SHADOWS.put(tx, record)
    return record


def _settle(tx: Transaction, name: str, state: shadow.ShadowState) -> None:
    record = SHADOWS.get(tx, name)
    if record is not None:
        tx.journal("shadow", name, seat=record.seat, actor="coordinatord")
        SHADOWS.put(tx, msgspec.structs.replace(record, state=state))


def _give_up(tx: Transaction) -> None:
    for each in SHADOWS.select(tx, "state = 'watching'").items:
        _settle(tx, each.id, Unsure(tx.now, "the daemon ended before the later look"))
