"""Find the composer at the bottom of a screen: three shapes, each anchored to the last rows.

A shape that does not fit exactly is no composer. What stands above it is never searched, except for
the one nearest row that may say "working".
"""

from __future__ import annotations

import re
from typing import Final, assert_never

import msgspec
from wcwidth import wcwidth

from coordinatord.kinds.agent_kind import Barred, ComposerShape, Ruled, Status
from coordinatord.kinds.sgr import Row

_RULE: Final = re.compile(r"─{2,}(?: [^─]+ ─{2,})?")
_NARROWEST_RULE: Final = 8
_SHELL_PROMPT: Final = re.compile(r"(?:^|[\s\])~\w])[$#]$")


class Found(msgspec.Struct, frozen=True):
    """A composer: its rows, the row over it, the rows below, what its rules say."""

    body: tuple[Row, ...]
    over: str
    below: tuple[str, ...]
    label: str = ""


def find(shape: ComposerShape, rows: tuple[Row, ...]) -> Found | None:
    """The composer that ends this screen, or None."""
    if not rows or _SHELL_PROMPT.search(rows[-1].text):
        return None
    match shape:
        case Ruled():
            return _ruled(shape, rows)
        case Status():
            return _status(shape, rows)
        case Barred():
            return _barred(shape, rows)
        case _:
            assert_never(shape)


def _ruled(shape: Ruled, rows: tuple[Row, ...]) -> Found | None:
    lower = _last_rule(rows, len(rows))
    if lower is None or len(rows) - 1 - lower > shape.below:
        return None
    upper = _last_rule(rows, lower)
    if upper is None or columns(rows[upper].text) != columns(rows[lower].text):
        return None
    below = tuple(row.text for row in rows[lower + 1 :])
    body = rows[upper + 1 : lower]
    if not body or not _footer_fits(shape, below) or not body[0].text.startswith(shape.glyph):
        return None
    body = (body[0].cut(len(shape.glyph)), *body[1:])
    return Found(body, _nearest(rows[:upper]), below, _label(rows[upper].text, rows[lower].text))


def _footer_fits(shape: Ruled, below: tuple[str, ...]) -> bool:
    known = not shape.footer or any(re.search(shape.footer, text) for text in below)
    ended = shape.never_below and any(re.search(shape.never_below, text) for text in below)
    return known and not ended


def _last_rule(rows: tuple[Row, ...], before: int) -> int | None:
    for at in range(before - 1, -1, -1):
        text = rows[at].text
        if text.startswith("──") and len(text) >= _NARROWEST_RULE and _RULE.fullmatch(text):
            return at
    return None


def _label(*rules: str) -> str:
    return " ".join(filter(None, (rule.strip("─ ") for rule in rules)))


def _status(shape: Status, rows: tuple[Row, ...]) -> Found | None:
    start = next((at for at in range(len(rows) - 1, -1, -1) if _opens(shape, rows[at])), None)
    if start is None:
        return None
    foot = _status_row(shape, rows, start)
    if foot is None:
        return None
    below = tuple(row.text for row in rows[foot:])
    body = (rows[start].cut(len(shape.glyph)), *rows[start + 1 : foot])
    indented = all(not row.text or row.text.startswith("  ") for row in body[1:])
    armed = shape.never_below and any(re.search(shape.never_below, text) for text in below)
    return Found(body, _nearest(rows[:start]), below) if indented and not armed else None


def _opens(shape: Status, row: Row) -> bool:
    return row.text == shape.glyph or row.text.startswith(f"{shape.glyph} ")


def _status_row(shape: Status, rows: tuple[Row, ...], start: int) -> int | None:
    """The first row of the last group; with no blank row before it, the first that fits."""
    first = len(rows) - 1
    while first - 1 > start and rows[first - 1].text:
        first -= 1
    apart = first - 1 > start
    for at in range(first, len(rows)):
        if len(rows) - at <= shape.below and re.search(shape.status, rows[at].text):
            return at
        if apart:
            return None
    return None


def _barred(shape: Barred, rows: tuple[Row, ...]) -> Found | None:
    found = _closing(shape, rows)
    if found is None:
        return None
    lower, closing = found
    bar, width = closing[1] + "┃", columns(closing[0])
    upper = lower
    while upper and rows[upper - 1].text.startswith(bar):
        upper -= 1
    inside = [_within(row, width).cut(len(bar)) for row in rows[upper:lower]]
    if not inside or not re.search(shape.status, inside[-1].text):
        return None
    below = tuple(row.text for row in rows[lower + 1 :])
    return Found(tuple(inside[:-1]), _nearest(rows[:upper]), below)


def _closing(shape: Barred, rows: tuple[Row, ...]) -> tuple[int, re.Match[str]] | None:
    """The last bar that closes a box. Blank rows below do not count: a start page stands in the
    middle of a terminal of any height."""
    written = 0
    for at in range(len(rows) - 1, -1, -1):
        closing = re.match(r"( *)╹(▀{8,})", rows[at].text)
        if closing:
            return at, closing
        written += bool(rows[at].text)
        if written > shape.below:
            return None
    return None


def _within(row: Row, width: int) -> Row:
    used = 0
    for at, char in enumerate(row.text):
        used += max(wcwidth(char), 0)
        if used > width:
            return row.cut(0, at)
    return row


def _nearest(rows: tuple[Row, ...]) -> str:
    return next((row.text for row in reversed(rows) if row.text), "")


def columns(text: str) -> int:
    """Columns that the text takes in a terminal."""
    return sum(max(wcwidth(char), 0) for char in text)
