"""Which log lines are written and which are only counted. Pure: the time is handed in.

A line is written when it is the first of its sort. Those like it that follow are counted, and told
as one line with ``repeated`` when the window ends; each further window of the same row is twice as
long. So a row of equal lines costs lines that grow with the logarithm of its duration (G-12).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

FIRST_WINDOW_S: Final = 10.0
LONGEST_WINDOW_S: Final = 600.0
MOST_ROWS: Final = 256
"""Sorts of lines that are watched at a time; beyond it the oldest is told and forgotten."""

Line = Mapping[str, Any]


class _Row(Struct):
    ends: float
    window: float
    begun: float
    last: Line
    repeated: int = 0


def sort_of(line: Line) -> tuple[Any, ...] | None:
    """What makes two lines alike: everything but the numbers in them. None: this one always counts.

    A line with a log id is the answer to somebody who was given that id; it is never folded.
    """
    if "log_id" in line:
        return None
    return tuple((name, _told(value)) for name, value in sorted(line.items()))


class Folding:
    """The rows of equal lines that are open now."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Any, ...], _Row] = {}

    def admit(self, line: Line, now: float) -> list[Line]:
        """The lines to write because of this one: it, a count of earlier ones, or nothing.

        Args:
            line: event and fields.
            now: seconds of a clock that only goes forward.
        """
        written = self.due(now)
        sort = sort_of(line)
        if sort is None:
            return [*written, line]
        if row := self._rows.get(sort):
            row.last, row.repeated = line, row.repeated + 1
            return written
        if len(self._rows) >= MOST_ROWS:
            written += _summary(self._rows.pop(next(iter(self._rows))), now)
        self._rows[sort] = _Row(now + FIRST_WINDOW_S, FIRST_WINDOW_S, now, line)
        return [*written, line]

    def due(self, now: float) -> list[Line]:
        """The counts of the windows that have ended. A row without a repetition is forgotten."""
        written: list[Line] = []
        for sort, row in list(self._rows.items()):
            if row.ends > now:
                continue
            if row.repeated == 0:
                del self._rows[sort]
                continue
            written += _summary(row, now)
            row.window = min(2 * row.window, LONGEST_WINDOW_S)
            row.begun, row.ends, row.repeated = now, now + row.window, 0
        return written

    def all(self, now: float) -> list[Line]:
        """Every count that is still open, for the end of the program."""
        rows, self._rows = self._rows, {}
        return [line for row in rows.values() for line in _summary(row, now)]


def _summary(row: _Row, now: float) -> list[Line]:
    if not row.repeated:
        return []
    return [{**row.last, "repeated": row.repeated, "within_s": round(now - row.begun, 1)}]


def _told(value: Any) -> str:
    return "#" if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)
