"""Plain text and attributes from text with SGR sequences, as a terminal host's ANSI read gives it.

Only dim (2) and reverse (7) matter: agents draw suggestions and placeholders dim and the cursor's
cell in reverse. Colours are skipped with their arguments, so that the 2 of ``38;2;r;g;b`` is not
taken for dim. Every other escape sequence and control is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

_TOKEN: Final = re.compile(
    r"\x1b\[([0-9;:]*)m"  # SGR
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # another control sequence
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC (links), DCS and the like
    r"|\x1b[ #%()*+].?|\x1b.?"  # character sets and other short ones
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]",
    re.DOTALL,
)
_BLANKS: Final = str.maketrans({"\xa0": " ", "\t": " "})
_EXTENDED: Final = frozenset({"38", "48", "58"})


class Row(msgspec.Struct, frozen=True):
    """One row without blanks at its end; ``dim`` and ``reverse`` mark each character by 1."""

    text: str
    dim: bytes
    reverse: bytes

    def cut(self, start: int, end: int | None = None) -> Row:
        """The piece from character ``start`` up to ``end``."""
        return Row(self.text[start:end], self.dim[start:end], self.reverse[start:end])


def rows(ansi: str) -> tuple[Row, ...]:
    """The rows of a screen, without blank ones at the end; tabs become one blank."""
    lines: list[list[tuple[str, bool, bool]]] = [[]]
    for piece, dim, reverse in _pieces(ansi.replace("\r\n", "\n").translate(_BLANKS)):
        first, *more = piece.split("\n")
        lines[-1].append((first, dim, reverse))
        lines.extend([(text, dim, reverse)] for text in more)
    found = [_row(line) for line in lines]
    while found and not found[-1].text:
        found.pop()
    return tuple(found)


def plain(ansi: str) -> str:
    """The text alone."""
    return "\n".join(row.text for row in rows(ansi))


def _row(pieces: list[tuple[str, bool, bool]]) -> Row:
    text = "".join(piece for piece, _, _ in pieces).rstrip()
    dim = b"".join(bytes([dim]) * len(piece) for piece, dim, _ in pieces)
    reverse = b"".join(bytes([reverse]) * len(piece) for piece, _, reverse in pieces)
    return Row(text, dim[: len(text)], reverse[: len(text)])


def _pieces(ansi: str) -> Iterator[tuple[str, bool, bool]]:
    at, dim, reverse = 0, False, False
    for match in _TOKEN.finditer(ansi):
        if match.start() > at:
            yield ansi[at : match.start()], dim, reverse
        at = match.end()
        if match[1] is not None:
            dim, reverse = _applied(match[1], dim, reverse)
    if at < len(ansi):
        yield ansi[at:], dim, reverse


def _applied(parameters: str, dim: bool, reverse: bool) -> tuple[bool, bool]:
    words = iter(parameters.split(";"))
    for word in words:
        if word in _EXTENDED:
            for _ in range({"5": 1, "2": 3}.get(next(words, ""), 0)):
                next(words, None)
            continue
        code = word.lstrip("0")
        if not code:
            dim = reverse = False
        else:
            dim = (dim or code == "2") and code != "22"
            reverse = (reverse or code == "7") and code != "27"
    return dim, reverse
