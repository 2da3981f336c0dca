"""What of a pane's output is passed on to a terminal that is attached to it.

The host answers some of an application's questions itself (`modes.py`). An attached terminal that
saw them would answer too, and its answers would reach the application as typed text. So these
questions are taken out. All else passes unchanged, questions that only a real terminal can answer
included. Invariant: what comes out never ends inside an escape sequence or a character, so that a
repaint may follow at any time; an unfinished one waits for its end, up to a limit. Pure.
"""

from __future__ import annotations

import re
from typing import Final

_ANSWERED: Final = re.compile(
    rb"\x1b\[(?:>?0?c|5n|\??6n|18t|>0?q|\?[0-9]{1,5}\$p)"
    rb"|\x1b\]1[01];\?(?:\x07|\x1b\\)"
)
"""The questions of `modes.Scanner` that have an answer."""
_UNFINISHED: Final = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*|[ -/]*|\][^\x07\x1b]*\x1b?)?\Z"
    rb"|[\xc2-\xdf]\Z|[\xe0-\xef][\x80-\xbf]{0,1}\Z|[\xf0-\xf4][\x80-\xbf]{0,2}\Z"
)
_LONGEST: Final = 512
"""Bytes of an unfinished sequence that wait; a longer one passes as it comes."""


class Passing:
    """Feeds on one pane's output, in pieces as they come."""

    def __init__(self) -> None:
        self._held = b""

    def on(self, piece: bytes) -> bytes:
        """What may go to the terminal now."""
        stream = self._held + piece
        begun = _UNFINISHED.search(stream, max(0, len(stream) - _LONGEST))
        end = len(stream) if begun is None else begun.start()
        self._held = stream[end:]
        return _ANSWERED.sub(b"", stream[:end]) if b"\x1b" in stream else stream[:end]
