"""How much of a flood of plain lines must be drawn at all.

A program can write lines far faster than any emulator can draw them. Of plain lines only the last
ones leave a trace: those that end up on the screen and in the scrollback. Pure.
"""

from __future__ import annotations

from typing import Final

_PLAIN: Final = bytes([9, 10, 13, *range(32, 127), *range(128, 256)])

_MUCH: Final = 4096
"""Bytes that come at once: a terminal's whole buffer."""
_IN_REACH: Final = 64 << 10
"""Bytes of a flood that may be read ahead before all lines that leave a trace are there."""


def is_plain(output: bytes) -> bool:
    """Nothing but text, tabs and line ends: drawing it changes no mode, margin or style."""
    return not output.translate(None, _PLAIN)


def has_more(output: bytes, lines: int) -> bool:
    """Are there more lines in it than these?"""
    return output.count(b"\n") > lines


def is_dense(output: bytes, lines: int) -> bool:
    """Is it so much, in such short lines, that so many of them are in reach?"""
    return len(output) >= _MUCH and output.count(b"\n") * _IN_REACH >= lines * len(output)


def tail(output: bytes, lines: int) -> bytes:
    """The end of plain output that has at least so many line feeds, behind a return to the margin.

    All of it where it has no such end.
    """
    low, high = 0, len(output)
    while high - low > 1:  # what follows `low` always has enough
        middle = (low + high) // 2
        if output.count(b"\n", middle) >= lines:
            low = middle
        else:
            high = middle
    return output[max(0, output.rfind(b"\r\n", 0, low + 2)) :]
