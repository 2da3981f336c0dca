"""The part of a screen that an alert quotes: bounded, and without what looks like a credential. Pure."""

from __future__ import annotations

from typing import Final

from coordinatord import redaction

LINES: Final = 40
CHARACTERS: Final = 4000


def cut(text: str) -> tuple[str, int]:
    """The last lines of a screen, and how often something was taken out of them."""
    lines = [_printable(line.rstrip()) for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    redacted, count = redaction.counted("\n".join(lines[-LINES:]))
    return redacted[-CHARACTERS:], count


def _printable(line: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in line)
