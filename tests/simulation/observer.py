"""What must be true at every moment, checked from outside the daemon: its typing and its records.

The five promises, and who checks them: nothing is typed into a pane that is not the settled, proven
addressee, and nothing twice by a machine (`WatchedHost`, in the moment of typing); whoever is owed
something, settled and not held is told within a bound, and every hold has a true reason (`everything_told`,
`holds_are_true`); no accepted record is lost (`nothing_lost`).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from coordinatord.features.delivery.records import HoldRecord
from coordinatord.features.panes.records import Seat
from coordinatord.ids import PaneId
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.fake_panes import FakeAgent, FakePane
from coordinatord.terminals.port import SETTLED

ATTEMPT = re.compile(r"^\[coord (d-[0-9a-z]{8}): ")
NOT_TOLD: Final = frozenset({"pending", "not-delivered", "stalled"})
"""Of what is owed in one of these states the recipient was provably not told."""


class Violated(AssertionError):
    """A promise was broken; the seed in the message reproduces it."""


class Facts(msgspec.Struct, frozen=True):
    """What matters about a pane when a text is typed into it."""

    terminal_id: str
    status: str | None
    composer: str
    dialog: str | None


def facts(pane: FakePane) -> Facts:
    """The pane as it really is."""
    agent = pane.agent
    if agent is None:
        return Facts(pane.terminal_id, None, "", None)
    return Facts(pane.terminal_id, agent.status, agent.composer, agent.dialog)


class Occupants:
    """Who really is who, whatever the daemon recorded: from the moment of a binding on, what is linked to
    the occupant by its terminal, by its shell's process or by its conversation is the same one."""

    def __init__(self) -> None:
        self._marks: dict[str, set[object]] = {}

    def follow(self, bindings: Mapping[str, str], panes: Iterable[FakePane]) -> None:
        """Learn what is new: bindings and the terminals of those who took them, and what became of both."""
        for binding, terminal in bindings.items():
            self._marks.setdefault(binding, {terminal})
        for pane in panes:
            marks = self._marks_of(pane)
            for known in self._marks.values():
                if known & marks:
                    known |= marks

    def is_in(self, binding: str, pane: FakePane) -> bool:
        """Does the one who took this binding sit in this pane?"""
        return bool(self._marks.get(binding, set()) & self._marks_of(pane))

    @staticmethod
    def _marks_of(pane: FakePane) -> set[object]:
        session = pane.agent.session if pane.agent else None
        return {pane.terminal_id, pane.shell} | ({session.value} if session else set())


class WatchedHost(FakeHost):
    """Looks at every text in the moment in which it is typed.

    ``broken`` keeps what was violated: a daemon forgives an exception that concerns one of many, the
    simulation does not.
    """

    def __init__(self, clock: Callable[[], float], disk: sqlite3.Connection) -> None:
        super().__init__(clock)
        self._disk = disk
        self.notices: list[tuple[str, PaneId, str]] = []
        self._told: set[tuple[str, str]] = set()
        self._occupants = Occupants()
        self.broken: list[str] = []
        self.paused = False
        self.races = 0
        """Texts that were on their way when the pane changed: nobody could see that (§3.8, 9)."""

    def prompt(self, pane: PaneId, text: str, shown: Facts | None = None) -> None:
        """``shown``: what the daemon was shown last before it sent this, where the way took time."""
        now = facts(self.panes[pane]) if pane in self.panes else None
        super().prompt(pane, text)
        assert now is not None, "the host refuses to type where no pane is"
        self.races += shown not in (None, now)
        self._judge(shown or now)
        self._check_addressee(pane, (shown or now).terminal_id, text)

    def forget_faults(self) -> None:
        """What was scripted to fail does not."""
        self._faults.clear()

    def violated(self, what: str) -> None:
        """Remember it, and go no further here."""
        self.broken.append(what)
        raise Violated(what)

    def _judge(self, pane: Facts) -> None:
        if pane.status not in SETTLED:
            self.violated(f"typed into an agent that is {pane.status}")
        if pane.composer or pane.dialog:
            self.violated(f"typed over a draft or a dialog: {pane.composer!r} {pane.dialog!r}")

    def _check_addressee(self, pane: PaneId, terminal: str, text: str) -> None:
        match = ATTEMPT.match(text)
        if match is None:
            self.violated("typed something that is no notice")
        assert match is not None
        attempt = self._record("attempts", match[1])
        if attempt is None:
            self.violated(f"typed {match[1]} before it was claimed")
        if (stage := attempt["trail"][-1]["stage"]) != "claimed":
            self.violated(f"typed {match[1]} when it was {stage}")
        binding = f"{attempt['seat']}#{attempt['binding']}"
        self.follow()
        if self.panes[pane].terminal_id == terminal and not self._occupants.is_in(
            binding, self.panes[pane]
        ):
            self.violated(f"typed for {binding} into the pane of somebody else")
        for obligation in attempt["obligations"]:
            self._tell(obligation, pane, binding)

    def follow(self) -> None:
        """Learn who took a seat since the last time."""
        bindings = {
            f"{name}#{binding}": terminal
            for name, binding, terminal in self._disk.execute(
                "SELECT id, json_extract(body, '$.binding'),"
                " json_extract(body, '$.occupant.terminal_id') FROM seats"
            )
            if terminal is not None
        }
        self._occupants.follow(bindings, self.panes.values())

    def _tell(self, obligation: str, pane: PaneId, to: str) -> None:
        """No debt is typed twice to one binding of a seat."""
        self.notices.append((obligation, pane, to))
        if (obligation, to) in self._told:
            self.violated(f"told twice: {obligation} to {to}")
        self._told.add((obligation, to))

    def _record(self, table: str, name: str) -> Any:
        row = self._disk.execute(f"SELECT body FROM {table} WHERE id = ?", (name,)).fetchone()
        return row and msgspec.json.decode(row[0])


def nothing_broken(host: WatchedHost) -> None:
    """Nothing was violated while texts were typed, and no part of the daemon failed."""
    if host.broken:
        raise Violated("; ".join(host.broken))


def nothing_lost(disk: sqlite3.Connection, accepted: Iterable[str]) -> None:
    """Every record whose acceptance was answered is there."""
    for name in accepted:
        if disk.execute("SELECT 1 FROM journal WHERE id = ? LIMIT 1", (name,)).fetchone() is None:
            raise Violated(f"accepted and lost: {name}")


def no_attempt_in_the_air(disk: sqlite3.Connection) -> None:
    """With nobody at work every attempt has an outcome."""
    left = disk.execute(
        "SELECT id, stage FROM attempts WHERE stage IN ('claimed', 'typed')"
    ).fetchall()
    if left:
        raise Violated(f"attempts without an outcome: {left}")


def everything_told(
    owed: Iterable[Any], told: Mapping[tuple[str, str], str], held: Iterable[str]
) -> None:
    """Owed, settled and not held: told. And whoever is not told is held for a reason."""
    for item in owed:
        state = told.get((item.id, item.to), "pending")
        if state in NOT_TOLD and item.to not in held:
            raise Violated(f"{item.id} is owed by {item.to}, {state}, and nothing holds it")


class Standing(msgspec.Struct, frozen=True):
    """A seat at rest: what the world and the records say about it, to hold a reason against.

    ``pane`` is where its occupant is, or its recorded pane with ``same`` false; ``stages`` tells how far
    each of its debts has come.
    """

    bound: bool
    pane: FakePane | None
    same: bool
    stages: frozenset[str]

    @property
    def agent(self) -> FakeAgent | None:
        """The agent in the pane."""
        return self.pane.agent if self.pane else None


def standing(seat: Seat | None, panes: Iterable[FakePane], stages: Iterable[str]) -> Standing:
    """How it is for one seat, from the host's own memory."""
    occupant = seat.occupant if seat else None
    if seat is None or seat.pane is None or occupant is None:
        return Standing(False, None, False, frozenset(stages))
    panes = list(panes)
    for pane in panes:
        if pane.terminal_id == occupant.terminal_id:
            return Standing(True, pane, True, frozenset(stages))
    there = next((each for each in panes if each.pane == seat.pane), None)
    return Standing(True, there, False, frozenset(stages))


def holds_are_true(holds: Mapping[str, HoldRecord], at: Mapping[str, Standing]) -> None:
    """At rest, with a host that answers, each reason for which somebody is not told is so."""
    for seat, hold in holds.items():
        if seat in at and not (hold.reason in _TRUE and _TRUE[hold.reason](at[seat])):
            raise Violated(f"{seat} is held as {hold.reason} ({hold.detail}), which is not so")


_TRUE: Final[dict[str, Callable[[Standing], bool]]] = {
    "unbound": lambda at: not at.bound,
    "absent": lambda at: at.pane is None,
    "replaced": lambda at: at.pane is not None and not at.same,
    "unobservable": lambda at: at.pane is not None and not at.same,
    "not-agent": lambda at: at.agent is None,
    "launching": lambda at: at.agent is not None and (not at.agent.live or at.agent.pending),
    "busy": lambda at: at.agent is not None and at.agent.status not in SETTLED,
    "uncertain": lambda at: "uncertain" in at.stages,
    "stalled": lambda at: "stalled" in at.stages,
    "pacing": lambda at: "not-delivered" in at.stages,
    # what it was told is not dealt with
    "coalesced": lambda at: "submitted" in at.stages,
    "draft": lambda at: "typed" in at.stages or (at.agent is not None and at.agent.composer != ""),
}
"""When a reason is so; all others cannot be at rest."""
