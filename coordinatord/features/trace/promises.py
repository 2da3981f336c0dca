"""What must be so in every trace, however the single decisions came about. Pure.

The promises of the simulation, as far as a trace can tell: no text without a look that allowed it, none
told twice by a machine, and whoever is due is told or held.
"""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord.features.trace.lines import (
    AttemptLine,
    CallLine,
    DecisionLine,
    GapLine,
    Header,
    Line,
    LookLine,
)
from coordinatord.ids import PaneId, SeatId

DUE_FOR_AT_MOST_S: Final = 60.0
"""A seat may be due for as long as a slow host and the queue of its pane can take."""

_NOT_TYPED: Final = ("Unreachable", "PaneMissing", "HostRefused")


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A promise that the trace shows broken, at which line."""

    number: int
    at: float
    what: str


class _Prompt(msgspec.Struct, frozen=True):
    number: int
    at: float
    attempt: str


def _told_by_a_text_of_its_own(line: AttemptLine) -> list[str]:
    """Such a text bears the record's id instead of the attempt's."""
    return [debt.partition(":")[2] for debt in line.obligations if debt.startswith("inline:")]


class Promises:
    """Goes through a trace line by line; `broken` tells what it found."""

    def __init__(self) -> None:
        self._found: list[Broken] = []
        self._clear: dict[PaneId, bool] = {}
        self._due: dict[SeatId, tuple[int, float]] = {}
        self._forced: set[SeatId] = set()
        self._prompts: list[_Prompt] = []
        self._attempts: dict[str, AttemptLine] = {}
        self._refuted: set[str] = set()

    def take(self, number: int, line: Line) -> None:
        """The next line."""
        self._overdue(line.at)
        match line:
            case LookLine(where=where, verdict=verdict) if where.sighting is not None:
                self._clear[where.sighting.pane] = verdict == "clear"
                if verdict != "clear":
                    self._due.clear()  # whoever it was for was looked at and will be held
            case CallLine(method="prompt", pane=pane) if pane is not None:
                self._prompted(number, line, pane)
            case DecisionLine():
                self._decided(number, line)
            case AttemptLine(seat=seat):
                self._due.pop(seat, None)
                self._attempts[line.id] = line
                for record in _told_by_a_text_of_its_own(line):
                    self._attempts[record] = line
                if line.stage == "not-delivered":
                    self._refuted.add(line.id)
            case GapLine() | Header():
                self._clear.clear()
                self._due.clear()
            case _:
                pass

    def broken(self) -> list[Broken]:
        """Everything that was found, in the order of the lines."""
        return sorted([*self._found, *self._told_twice()], key=lambda each: each.number)

    def _prompted(self, number: int, line: CallLine, pane: PaneId) -> None:
        if not self._clear.get(pane, True):
            self._note(number, line.at, f"a text was typed into {pane} against the last look")
        self._clear[pane] = False  # one look allows one text
        if line.attempt is not None and not (line.failed or "").startswith(_NOT_TYPED):
            self._prompts.append(_Prompt(number, line.at, line.attempt))

    def _decided(self, number: int, line: DecisionLine) -> None:
        seat = line.recipient.seat
        if line.recipient.forced:
            self._forced.add(seat)
        if line.decision == "due":
            self._due.setdefault(seat, (number, line.at))
        else:
            self._due.pop(seat, None)

    def _overdue(self, now: float) -> None:
        for seat, (number, at) in list(self._due.items()):
            if now - at > DUE_FOR_AT_MOST_S:
                del self._due[seat]
                self._note(number, at, f"{seat} was due, and nothing came of it")

    def _told_twice(self) -> list[Broken]:
        told: dict[tuple[str, SeatId, int], str] = {}
        found = []
        for prompt in self._prompts:
            attempt = self._attempts.get(prompt.attempt)
            if attempt is None or attempt.seat in self._forced:
                continue
            for debt in attempt.obligations:
                key = debt, attempt.seat, attempt.binding
                before = told.get(key)
                if before is not None and before not in self._refuted:
                    what = f"{attempt.seat} was told of {debt} twice: {before}, {attempt.id}"
                    found.append(Broken(number=prompt.number, at=prompt.at, what=what))
                told[key] = attempt.id
        return found

    def _note(self, number: int, at: float, what: str) -> None:
        self._found.append(Broken(number=number, at=at, what=what))
