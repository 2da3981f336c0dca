"""The screen of one pane: the terminal emulator, behind this one file.

The emulator is asciinema's avt through pyavt. Its traps, all measured, are met here and nowhere
else: it is fed at most 4 KiB at a time (a call returns every line that scrolled away and holds the
interpreter lock), it is never narrower than two columns, its panics are no ``Exception`` and cost
this screen only, it never erases scrollback on request, and it tells no modes (`modes.py` does).
Sources: herdr-protocol.md §2.4 for what a read of a pane returns.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeVar

from avt._avt import Line, Vt

from coordinatord.panehost.modes import Mark, Scanner
from coordinatord.panehost.rows import joined, plain_text, styled_text

Source = Literal["visible", "recent", "recent_unwrapped", "detection"]

PIECE: Final = 4096
"""Most that the emulator is fed in one call, in bytes."""
NARROWEST: Final = 2
"""The emulator panics when a wide character meets a single column."""
LINES_DEFAULT: Final = 80
"""Rows that the ``recent`` sources give where nothing was asked for."""
LINES_CAP: Final = 1000
"""Most rows that a read gives."""

T = TypeVar("T")


class Screen:
    """An emulated terminal: bytes of the application in, text and answers out.

    Args:
        columns, rows: size; clamped to 2 by 1.
        scrollback: rows kept above the screen.
    """

    def __init__(self, columns: int, rows: int, scrollback: int = 5000) -> None:
        self.columns, self.rows = _clamped(columns, rows)
        self.panics = 0
        self._scrollback = scrollback
        self._scanner = Scanner()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._terminal = self._fresh()
        self._scrolled: int | None = 0

    def feed(self, data: bytes) -> bytes:
        """Draw what the application wrote; returns the answers to its questions, to write back.

        Never raises, whatever the bytes.
        """
        if len(data) <= PIECE:
            return self._feed(data)
        return b"".join(self._feed(data[at : at + PIECE]) for at in range(0, len(data), PIECE))

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; lines are wrapped anew."""
        self.columns, self.rows = _clamped(columns, rows)
        self._scrolled = None
        self._guarded(lambda: self._terminal.resize(self.columns, self.rows), None)

    def text(self, source: Source, lines: int | None, ansi: bool) -> tuple[str, bool]:
        """What stands on the screen, and whether there was more than was given.

        ``visible`` and ``detection`` drop blank rows at the bottom before they take the last
        ``lines``; the ``recent`` sources take the last ``lines`` (80 where None) of scrollback and
        screen first. At most 1000 rows. ``recent_unwrapped`` joins wrapped rows and has no final
        newline.
        """
        recent = source in ("recent", "recent_unwrapped")
        rows = self._all_rows() if recent else self._visible_rows()
        wanted = min(
            LINES_CAP, (LINES_DEFAULT if recent else LINES_CAP) if lines is None else lines
        )
        if not recent:
            rows = _without_blank_end(rows)
        truncated = len(rows) > wanted
        rows = _without_blank_end(rows[max(0, len(rows) - wanted) :])
        if ansi:
            column = self.cursor[0] if self._cursor_in_last(rows) else 0
            return styled_text(joined(rows, source == "recent_unwrapped"), column), truncated
        return plain_text(joined(rows, source == "recent_unwrapped"), source), truncated

    def redraw(self) -> bytes:
        """Bytes that repaint both buffers, cursor and modes on a terminal of the same size."""
        drawn = self._guarded(self._terminal.dump, "").replace("\x9b", "\x1b[")
        return (
            b"\x1b[!p\x1b[?1049l\x1b[m\x1b[H\x1b[2J"
            + drawn.encode("utf-8", "replace")
            + self._scanner.modes.sequences()
        )

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the cursor, from 0."""
        cursor = self._terminal.cursor
        return min(cursor.col, self.columns - 1), cursor.row

    @property
    def title(self) -> str | None:
        """The title that the application set, without control characters."""
        return self._scanner.modes.title

    @property
    def reported_cwd(self) -> str | None:
        """The folder that the shell reported with OSC 7. A claim, not a fact."""
        return self._scanner.modes.reported_cwd

    @property
    def bracketed_paste(self) -> bool:
        """The application has asked for pasted text to be wrapped."""
        return self._scanner.modes.bracketed_paste

    @property
    def application_cursor(self) -> bool:
        """The application has asked for cursor keys as ``ESC O x``."""
        return self._scanner.modes.application_cursor

    @property
    def alternate(self) -> bool:
        """The alternate screen is shown."""
        return self._scanner.modes.alternate

    @property
    def mouse(self) -> bool:
        """The application takes mouse reports."""
        return self._scanner.modes.mouse

    @property
    def max_offset(self) -> int:
        """Rows of scrollback above the shown screen; 0 in the alternate screen."""
        if self.alternate:
            return 0
        if self._scrolled is None:
            self._scrolled = max(0, len(self._all_rows()) - self.rows)
        return self._scrolled

    def _feed(self, piece: bytes) -> bytes:
        marks = self._scanner.scan(piece)
        if not marks:
            self._draw(piece)
            return b""
        erase = max((mark.end for mark in marks if mark.kind == "erase-scrollback"), default=-1)
        answers, at = [], 0
        for mark in marks:
            self._draw(piece[at : mark.end])
            at = mark.end
            answers.append(self._answer(mark))
            if mark.end == erase:
                self._erase_scrollback()
        self._draw(piece[at:])
        if any(mark.kind == "switch-buffer" for mark in marks):
            self._scrolled = None
        return b"".join(answers)

    def _draw(self, piece: bytes) -> None:
        text = self._decoder.decode(piece)
        if text:
            nothing: tuple[list[int], list[Line]] = ([], [])
            _, gone = self._guarded(lambda: self._terminal.feed_str(text), nothing)
            # the emulator drops rows only where it holds as many as it may
            self._scrolled = self._scrollback if gone and not self.alternate else None

    def _answer(self, mark: Mark) -> bytes:
        match mark.kind:
            case "cursor" | "private-cursor":
                column, row = self.cursor
                sign = b"?" if mark.kind == "private-cursor" else b""
                return b"\x1b[%s%d;%dR" % (sign, row + 1, column + 1)
            case "size":
                return b"\x1b[8;%d;%dt" % (self.rows, self.columns)
            case "answer":
                return mark.answer
            case "erase-scrollback" | "switch-buffer":
                return b""

    def _erase_scrollback(self) -> None:
        """The emulator cannot, so a fresh one is drawn from it; at most once per piece."""
        drawn = self._guarded(self._terminal.dump, "")
        self._terminal = self._fresh()
        self._guarded(lambda: self._terminal.feed_str(drawn), None)
        self._scrolled = 0

    def _all_rows(self) -> list[Line]:
        return self._guarded(self._terminal.lines, [])

    def _visible_rows(self) -> list[Line]:
        return self._guarded(self._terminal.view, [])

    def _cursor_in_last(self, rows: Sequence[Line]) -> bool:
        """Whether the cursor stands in the last row that is not blank: blanks before it count."""
        return len(_without_blank_end(self._visible_rows())) == self.cursor[1] + 1 and bool(rows)

    def _fresh(self) -> Vt:
        return Vt(self.columns, self.rows, self._scrollback)

    def _guarded(self, call: Callable[[], T], otherwise: T) -> T:
        try:
            return call()
        except BaseException as panic:
            # the binding's class for panics is a BaseException and exported nowhere
            if type(panic).__name__ != "PanicException":
                raise
            self.panics += 1
            self._terminal = self._fresh()
            self._scrolled = None
            if self.alternate:  # the application is still there, and its modes still hold
                self._terminal.feed_str("\x1b[?1047h")
            return otherwise


def _clamped(columns: int, rows: int) -> tuple[int, int]:
    return max(NARROWEST, columns), max(1, rows)


def _without_blank_end(rows: Sequence[Line]) -> list[Line]:
    end = len(rows)
    while end and not rows[end - 1].text.strip(" "):
        end -= 1
    return list(rows[:end])
