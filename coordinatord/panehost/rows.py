"""From rows of cells to text: soft-wrapped rows joined, blanks at the end dropped, styles as SGR.

Pure. An empty row of cells is blank text in the default pen; what is styled is never dropped.
Source of the shapes: herdr-protocol.md §2.4 (plain rows end in LF, styled rows are joined by CR LF
and have no final newline).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from avt._avt import Cell, Color, Line, Pen

_WRAPPED: Final = "⏎"
"""How the emulator writes in a row's repr, and nowhere else, that the row goes on in the next."""

_ATTRIBUTES: Final = (
    ("bold", 1),
    ("faint", 2),
    ("italic", 3),
    ("underline", 4),
    ("blink", 5),
    ("inverse", 7),
    ("strikethrough", 9),
)

Row = tuple[Line, ...]
"""A logical line: one row, or all the rows that it was wrapped into."""


def is_wrapped(line: Line) -> bool:
    """Whether the text of this row goes on in the next one."""
    end = repr(line).removesuffix('")')
    return end.endswith(_WRAPPED) and (
        not line.text.endswith(_WRAPPED) or end.endswith(2 * _WRAPPED)
    )


def joined(lines: Sequence[Line], unwrap: bool) -> list[Row]:
    """The rows as they are, or with soft-wrapped ones put together."""
    if not unwrap:
        return [(line,) for line in lines]
    rows: list[Row] = []
    goes_on = False
    for line in lines:
        if goes_on:
            rows[-1] += (line,)
        else:
            rows.append((line,))
        goes_on = is_wrapped(line)
    return rows


def plain_text(rows: Sequence[Row], source: str) -> str:
    """Text without styles; blanks at the end of each line are dropped."""
    if not rows:
        return ""
    text = "\n".join(_text_of(row).rstrip(" ") for row in rows)
    return text if source == "recent_unwrapped" else text + "\n"


def styled_text(rows: Sequence[Row], typed_columns: int) -> str:
    """Text with SGR sequences; blanks in the default pen at the end of each line are dropped.

    Args:
        typed_columns: how many columns of the last line are known to be written, so that the blank
            after a prompt stays.
    """
    keep = [0] * len(rows)
    if keep:
        keep[-1] = typed_columns
    return "\r\n".join(
        _styled(_cells_of(row), least) for row, least in zip(rows, keep, strict=True)
    )


def _text_of(row: Row) -> str:
    if len(row) == 1:
        return row[0].text
    return "".join(
        _without_filler(line.text, following)
        for line, following in zip(row, (*row[1:], None), strict=True)
    )


def _without_filler(text: str, following: Line | None) -> str:
    """A wide character that did not fit leaves a blank column behind."""
    wide_follows = following is not None and following[0].width == 2
    return text[:-1] if wide_follows and text.endswith(" ") else text


def _cells_of(row: Row) -> list[Cell]:
    cells: list[Cell] = []
    for line in row:
        own = line.cells
        if cells and own[0].width == 2 and cells[-1].is_default():
            cells.pop()
        cells.extend(own)
    return cells


def _styled(cells: Sequence[Cell], least: int) -> str:
    end = len(cells)
    while end > least and cells[end - 1].is_default():
        end -= 1
    written: list[str] = []
    style = ""
    for cell in cells[:end]:
        if cell.width == 0:
            continue
        wanted = _sequence(cell.pen)
        if wanted != style:
            written.append("\x1b[0m" + wanted)
            style = wanted
        written.append(cell.char)
    if style:
        written.append("\x1b[0m")
    return "".join(written)


def _sequence(pen: Pen) -> str:
    if pen.is_default():
        return ""
    on = "".join(f"\x1b[{number}m" for name, number in _ATTRIBUTES if getattr(pen, name))
    return on + _colour(38, pen.foreground) + _colour(48, pen.background)


def _colour(ground: int, colour: Color | None) -> str:
    match colour:
        case Color.Indexed():
            return f"\x1b[{ground};5;{colour[0]}m"
        case Color.RGB():
            return f"\x1b[{ground};2;{colour[0]};{colour[1]};{colour[2]}m"
        case _:
            return ""
