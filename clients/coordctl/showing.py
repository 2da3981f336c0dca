"""Values for people: tables on a terminal, plain lines elsewhere, times as they are spoken.

Text from agents is shown, never obeyed: control characters in it are made visible.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final

    Record = dict[str, Any]

_HARMLESS: Final = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u200c\u200d\u202f\u205f\u3000"
)
"""Blanks of all scripts, and what joins emoji and letters: Python does not call them printable."""
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def ago(at: float, now: float) -> str:
    """``3 min ago``, ``in 2 h``, ``now``."""
    seconds = abs(now - at)
    for unit, name in _UNITS:
        if seconds >= unit:
            amount = f"{int(seconds // unit)} {name}"
            return f"{amount} ago" if now >= at else f"in {amount}"
    return "now"


def lasting(seconds: float) -> str:
    """A length of time in its largest unit: ``3 min``."""
    return ago(0.0, seconds).removesuffix(" ago") if seconds >= 1 else "less than 1 s"


def visible(text: str, *, lines: bool = False) -> str:
    """The text without control characters, so that it cannot drive the terminal it is shown on."""
    kept = _HARMLESS + "\n\t" if lines else _HARMLESS
    return "".join(each if each.isprintable() or each in kept else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under headings: drawn by rich on a terminal, else columns of plain text."""
    clean = [[visible(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(columns, clean)
        return ""
    widths = [max(map(len, cells)) for cells in zip(columns, *clean, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in ([name.upper() for name in columns], *clean)
    )


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        drawn.add_column(name, style="cyan" if index == 0 else "", no_wrap=index == 0)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout).print(drawn)


def bold(text: str) -> str:
    """Emphasis, on a terminal whose owner wants colour."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\033[1m{text}\033[0m" if wanted else text


def with_gap(text: str, result: Record) -> str:
    """The text, and that records are missing in it, where some cannot be read."""
    if not result.get("incomplete"):
        return text
    gap = "Some stored records cannot be read and are missing here."
    return f"{text}\n{gap}" if text else gap


def line_of(template: str) -> Callable[[Record, float], str]:
    """A form that is one sentence with the answer's fields in it."""
    return lambda result, now: visible(template.format_map(result))
