"""From a terminal's byte stream to the text that a person or an agent reads. Pure.

Escapes are stripped, what a carriage return overwrote is dropped, full-screen drawings are left out,
and cuts fall on a character (delegation-tools-loops.md §4.3).
"""

from __future__ import annotations

import re
from typing import Final

LIMIT: Final = 64 * 1024
"""Longest tail, in bytes of UTF-8."""

_ALTERNATE: Final = re.compile(
    rb"\x1b\[\?(?:[0-9;]{0,64};)?(?:1049|1047|47)(?:;[0-9;]{0,64})?([hl])"
)
# as many modes as a program sets at once: without a bound, output could be made that takes hours
_ESCAPES: Final = re.compile(
    r"""
    \x1b \[ [0-?]* [ -/]* [@-~]                  # CSI: colours, cursor
  | \x1b \] .*? (?: \x07 | \x1b\\ | \Z )         # OSC: titles, links
  | \x1b [PX^_] .*? (?: \x1b\\ | \Z )            # strings to the terminal
  | \x1b [ -/]+ [0-~]                            # character sets
  | \x1b [0-Z\\-~]                               # two-character ones
  | \x1b (?: \[ [0-?]* [ -/]* )? \Z              # one that the end cuts
  """,
    re.VERBOSE | re.DOTALL,
)
_OTHER_CONTROLS: Final = re.compile(r"[\x00-\x07\x0b-\x1f\x7f-\x9f]")


def primary(raw: bytes) -> bytes:
    """The stream without what was drawn on the alternate screen.

    A stream that begins inside one is cut up to where it leaves.
    """
    kept: list[bytes] = []
    position, inside = 0, None
    for match in _ALTERNATE.finditer(raw):
        enters = match[1] == b"h"
        if inside is None and not enters:
            kept.clear()
        elif not inside:
            kept.append(raw[position : match.start()])
        position, inside = match.end(), enters
    if not inside:
        kept.append(raw[position:])
    return b"".join(kept)


def draws(raw: bytes) -> bool:
    """Does the stream enter or leave the alternate screen?"""
    return _ALTERNATE.search(raw) is not None


def clean(raw: bytes) -> str:
    """The text that the stream leaves on a terminal that only ever scrolls."""
    text = _ESCAPES.sub("", _whole(raw).decode("utf-8", "replace"))
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    if "\x08" in text:
        text = "\n".join(_struck(line) for line in text.split("\n"))
    return _OTHER_CONTROLS.sub("", text)


def _whole(raw: bytes) -> bytes:
    """Without the pieces of characters at both ends."""
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    for back in range(1, min(4, len(raw) - start) + 1):
        lead = raw[-back]
        if lead & 0xC0 != 0x80:
            needs = 2 if lead >= 0xC0 else 1
            needs += (lead >= 0xE0) + (lead >= 0xF0)
            return raw[start:-back] if needs > back else raw[start:]
    return raw[start:]


def _overwritten(line: str) -> str:
    """The last thing that was written over the line."""
    return next((part for part in reversed(line.split("\r")) if part), "")


def whole_lines(raw: bytes) -> tuple[bytes, bytes]:
    """What can be shown of a stream so far, and the beginning of a line that is kept for later."""
    lines, end, part = raw.rpartition(b"\n")
    return (raw, b"") if len(part) > LIMIT else (lines + end, part)


def _struck(line: str) -> str:
    """Without what backspaces took back."""
    kept: list[str] = []
    for sign in line if "\x08" in line else ():
        if sign != "\x08":
            kept.append(sign)
        elif kept:
            kept.pop()
    return "".join(kept) if "\x08" in line else line


def last(text: str, lines: int | None = None, limit: int = LIMIT) -> tuple[str, bool]:
    """The end of the text, and whether something was left out before it."""
    kept = text
    if lines is not None:
        ends = text.endswith("\n")
        rows = text.removesuffix("\n").split("\n")
        kept = "\n".join(rows[-lines:]) + ("\n" if ends else "")
    encoded = kept.encode()
    if len(encoded) > limit:
        kept = _whole(encoded[-limit:]).decode()
    return kept, len(kept) < len(text)


def last_line(raw: bytes) -> str:
    """The last line with something in it, for showing progress."""
    rows = clean(primary(raw)).split("\n")
    return next((row.strip() for row in reversed(rows) if row.strip()), "")
