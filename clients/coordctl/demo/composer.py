"""What a terminal sends, as edits of a composer: text, pastes, Enter. Pure."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field

PASTE_BEGIN = "\x1b[200~"
PASTE_END = "\x1b[201~"


@dataclass
class Composer:
    """The text that is being written. `feed` returns what was submitted by Enter, in order."""

    text: str = ""
    _pending: str = ""
    _pasting: bool = False
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def feed(self, raw: bytes) -> list[str]:
        """Take bytes as they came; an unfinished sequence waits for the next ones."""
        self._pending += self._decoder.decode(raw)
        submitted: list[str] = []
        while self._pending and self._step(submitted):
            pass
        return submitted

    def _step(self, submitted: list[str]) -> bool:
        if self._pending[0] == "\x1b":
            return self._sequence()
        sign, self._pending = self._pending[0], self._pending[1:]
        if self._pasting:
            self.text += "\n" if sign == "\r" else sign
        elif sign == "\r":
            if self.text.strip():
                submitted.append(self.text)
            self.text = ""
        elif sign in "\x7f\b":
            self.text = self.text[:-1]
        elif sign.isprintable():
            self.text += sign
        return True

    def _sequence(self) -> bool:
        for marker, pasting in ((PASTE_BEGIN, True), (PASTE_END, False)):
            if self._pending.startswith(marker):
                self._pending, self._pasting = self._pending[len(marker) :], pasting
                return True
            if marker.startswith(self._pending):
                return False
        self._pending = self._pending[1:]
        return True
