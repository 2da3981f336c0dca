"""What must be true at every moment, checked from outside the daemon: its typing and its records."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from typing import Any

import msgspec

from coordinatord.ids import PaneId
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.port import SETTLED

ATTEMPT = re.compile(r"^\[coord (d-[0-9a-z]{8}): ")


class Violated(AssertionError):
    """A promise was broken; the seed in the message reproduces it."""


class WatchedHost(FakeHost):
    """Looks at every text in the moment in which it is typed."""

    def __init__(self, clock: Any, disk: sqlite3.Connection) -> None:
        super().__init__(clock)
        self._disk = disk
        self.notices: list[tuple[str, PaneId, str]] = []
        self.forced: set[str] = set()

    def prompt(self, pane: PaneId, text: str) -> None:
        found = self.panes.get(pane)
        before = (found.terminal_id, found.agent) if found else None
        status = found.agent.status if found and found.agent else None
        composer = found.agent.composer if found and found.agent else ""
        dialog = found.agent.dialog if found and found.agent else None
        super().prompt(pane, text)
        assert found is not None
        assert before is not None
        if status not in SETTLED:
            raise Violated(f"typed into an agent that is {status}")
        if composer or dialog:
            raise Violated(f"typed over a draft or a dialog: {composer!r} {dialog!r}")
        self._check_addressee(pane, found.terminal_id, text)

    def _check_addressee(self, pane: PaneId, terminal: str, text: str) -> None:
        match = ATTEMPT.match(text)
        if match is None:
            raise Violated("typed something that is no notice")
        row = self._disk.execute("SELECT body FROM attempts WHERE id = ?", (match[1],)).fetchone()
        if row is None:
            raise Violated(f"typed {match[1]} before it was claimed")
        attempt = msgspec.json.decode(row[0])
        if attempt["trail"][-1]["stage"] != "claimed":
            raise Violated(f"typed {match[1]} when it was {attempt['trail'][-1]['stage']}")
        seat = msgspec.json.decode(
            self._disk.execute(
                "SELECT body FROM seats WHERE id = ?", (attempt["seat"],)
            ).fetchone()[0]
        )
        if seat["occupant"]["terminal_id"] != terminal:
            raise Violated(f"typed for {seat['id']} into another terminal")
        for obligation in attempt["obligations"]:
            self.notices.append((obligation, pane, f"{attempt['seat']}#{attempt['binding']}"))


def nothing_told_twice(host: WatchedHost) -> None:
    """No debt was typed twice to one binding of a seat, unless somebody asked for it."""
    counts = Counter((obligation, to) for obligation, _, to in host.notices)
    twice = {key: count for key, count in counts.items() if count > 1 and key[0] not in host.forced}
    if twice:
        raise Violated(f"told twice: {twice}")


def nothing_lost(disk: sqlite3.Connection, accepted: list[str]) -> None:
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
    owed: list[Any], told: dict[tuple[str, str], str], held: dict[str, str]
) -> None:
    """Owed, settled and not held: told. And whoever is not told is held for a reason."""
    for item in owed:
        state = told.get((item.id, item.to), "pending")
        if state in ("pending", "not-delivered", "stalled") and item.to not in held:
            raise Violated(f"{item.id} is owed by {item.to}, {state}, and nothing holds it")
