"""The screen of one pane: the terminal emulator, behind this one file.

The emulator is asciinema's avt through pyavt. Its traps, all measured, are met here and nowhere
else: it is fed at most 4 KiB at a time (a call returns every row that scrolled away and holds the
interpreter lock), it is never narrower than two columns, its panics are no ``Exception`` and cost
this screen only, and it tells no modes (`modes.py` does).

Scrollback is ours, not the emulator's: it hands over each row that scrolls away. That way it is
twice as fast, a read takes the rows it needs and not a copy of all, and scrollback can be erased.
The price: rows in scrollback keep the width they had; the flag that they were wrapped stays with
them. Invariant: rows are handed over at the end of each drawn stretch, for the buffer that is shown
then, so a switch of buffers is drawn by itself.
Sources: herdr-protocol.md §2.4 for what a read of a pane returns.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeVar

from avt._avt import Line, Vt

from coordinatord.panehost import flood
from coordinatord.panehost.modes import Mark, Scanner
from coordinatord.panehost.rows import joined, plain_text, styled_text

Source = Literal["visible", "recent", "recent_unwrapped", "detection"]

PIECE: Final = 4096
"""Most that the emulator is fed in one call, in bytes."""
NARROWEST: Final = 2
"""The emulator panics when a wide character meets a single column."""
WIDEST_KEPT: Final = 200
"""Columns up to which scrollback keeps all its rows; of wider ones fewer, for the same memory."""
LINES_DEFAULT: Final = 80
"""Rows that the ``recent`` sources give where nothing was asked for."""
LINES_CAP: Final = 1000
"""Most rows that a read gives."""

_C1: Final = re.compile("[\x80-\x9f]")
"""Control characters that a UTF-8 terminal does not obey, but the emulator would."""
_REPEATED: Final = re.compile(r"([^\x00-\x1f])\x1b\[(\d+)b")
"""A character and how often it comes once more, which not every terminal understands."""
_USUAL: Final = (
    b"\x1b[!p\x1b[?1049l\x1b[?6l\x1b[?7h\x1b[?25h\x1b[4l\x1b[r\x1b(B\x1b)B\x0f\x1b[m\x1b[H\x1b[2J"
)
"""What a repaint begins with. Not every terminal knows the soft reset that says most of it."""
_NOTHING: Final[tuple[list[int], list[Line]]] = ([], [])

T = TypeVar("T")


class Screen:
    """An emulated terminal: bytes of the application in, text and answers out.

    Args:
        columns, rows: size; clamped to 2 by 1.
        scrollback: most rows kept above the screen; of very wide ones fewer are kept.
    """

    def __init__(self, columns: int, rows: int, scrollback: int = 5000) -> None:
        self.columns, self.rows = _clamped(columns, rows)
        self.panics = 0
        self._scanner = Scanner()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._terminal = self._fresh()
        self._scrollback = scrollback
        self._history: deque[Line] = deque(maxlen=self._kept)
        self._primary_shown = True
        self._scrolls = False

    def feed(self, data: bytes) -> bytes:
        """Draw what the application wrote; returns the answers to its questions, to write back.

        Never raises, whatever the bytes.
        """
        if len(data) <= PIECE:
            return self._feed(data)
        return b"".join(self._feed(data[at : at + PIECE]) for at in range(0, len(data), PIECE))

    def worth_drawing(self, output: bytes) -> bytes:
        """The end of what comes next that has to be drawn; the rest would leave no trace.

        While plain lines come and rows scroll away with them, more plain lines scroll too, whatever
        the margins are. Of these only as many need drawing as fill the scrollback and, twice, the
        screen: once to push out what stands there now.
        """
        # half as many again: looking for the place costs time, too
        if (
            self._scrolls
            and flood.has_more(output, self._traces + self._traces // 2)
            and flood.is_plain(output)
        ):
            return flood.tail(output, self._traces)
        return output

    def floods(self, output: bytes) -> bool:
        """Whether output that comes next is the beginning of so many short lines that most of them
        will leave no trace."""
        return self._scrolls and flood.is_dense(output, self._traces) and flood.is_plain(output)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; what the screen shows is wrapped anew."""
        self.columns, self.rows = _clamped(columns, rows)
        self._take(lambda: self._terminal.resize(self.columns, self.rows))
        self._scrolls = False
        if self._history.maxlen != self._kept:
            self._history = deque(self._history, self._kept)

    def text(self, source: Source, lines: int | None, ansi: bool) -> tuple[str, bool]:
        """What stands on the screen, and whether there was more than was given.

        ``visible`` and ``detection`` drop blank rows at the bottom before they take the last
        ``lines``; the ``recent`` sources take the last ``lines`` (80 where None) of scrollback and
        screen first. At most 1000 rows. ``recent_unwrapped`` joins wrapped rows and has no final
        newline.
        """
        rows, truncated = self._selected(source, lines)
        if ansi:
            column = self.cursor[0] if self._cursor_in_last(rows) else 0
            return styled_text(joined(rows, source == "recent_unwrapped"), column), truncated
        return plain_text(joined(rows, source == "recent_unwrapped"), source), truncated

    def redraw(self) -> bytes:
        """Bytes that repaint both buffers, cursor and modes on a terminal of the same size."""
        drawn = self._guarded(self._terminal.dump, "").replace("\x9b", "\x1b[")
        drawn = _REPEATED.sub(lambda again: again[1] * (int(again[2]) + 1), drawn)
        return _USUAL + drawn.encode("utf-8", "replace") + self._scanner.modes.sequences()

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
        return 0 if self.alternate else len(self._history)

    @property
    def _traces(self) -> int:
        """Lines of a flood that have to be drawn."""
        return self._kept + 2 * self.rows

    @property
    def _kept(self) -> int:
        """Rows of this width that scrollback holds."""
        return self._scrollback * WIDEST_KEPT // max(WIDEST_KEPT, self.columns)

    def _feed(self, piece: bytes) -> bytes:
        marks = self._scanner.scan(piece)
        if not marks:
            self._draw(piece)
            self._scrolls = self._scrolls and flood.is_plain(piece)
            return b""
        answers, at = [], 0
        for mark in marks:
            apart = max(at, mark.end - mark.length)
            self._draw(piece[at:apart])
            if mark.kind in ("to-alternate", "to-primary", "reset"):
                self._primary_shown = mark.kind != "to-alternate"
            if mark.instead:  # its beginning may have been drawn with the piece before: cancelled
                self._draw(b"\x18" + mark.instead)
            else:
                self._draw(piece[apart : mark.end])
            at = mark.end
            answers.append(self._obey(mark))
        self._draw(piece[at:])
        self._scrolls = False
        return b"".join(answers)

    def _draw(self, piece: bytes) -> None:
        text = self._decoder.decode(piece)
        if not text.isascii():
            text = _C1.sub("", text)
        if text:
            self._take(lambda: self._terminal.feed_str(text))

    def _take(self, call: Callable[[], tuple[list[int], list[Line]]]) -> None:
        """Do something to the emulator and keep the rows that scroll away."""
        _, gone = self._guarded(call, _NOTHING)
        self._scrolls = bool(gone) and self._primary_shown
        if gone and self._primary_shown:
            self._history.extend(gone)

    def _obey(self, mark: Mark) -> bytes:
        """Do what a mark asks for; returns what is to be written back."""
        match mark.kind:
            case "cursor" | "private-cursor":
                column, row = self.cursor
                sign = b"?" if mark.kind == "private-cursor" else b""
                return b"\x1b[%s%d;%dR" % (sign, row + 1, column + 1)
            case "size":
                return b"\x1b[8;%d;%dt" % (self.rows, self.columns)
            case "answer":
                return mark.answer
            case "erase-scrollback" | "reset":
                self._history.clear()
                return b""
            case "to-alternate" | "to-primary" | "endless":
                return b""

    def _selected(self, source: Source, lines: int | None) -> tuple[list[Line], bool]:
        """The rows that a read gives, and whether there were more."""
        rows = self._visible_rows()
        if source in ("recent", "recent_unwrapped"):
            wanted = min(LINES_CAP, LINES_DEFAULT if lines is None else lines)
            total = self.max_offset + len(rows)
            rows = [*self._last_scrolled(min(self.max_offset, wanted - len(rows))), *rows]
        else:
            wanted = min(LINES_CAP, LINES_CAP if lines is None else lines)
            rows = _without_blank_end(rows)
            total = len(rows)
        return _without_blank_end(rows[max(0, len(rows) - wanted) :]), total > wanted

    def _last_scrolled(self, count: int) -> list[Line]:
        last = list(itertools.islice(reversed(self._history), max(0, count)))
        last.reverse()
        return last

    def _visible_rows(self) -> list[Line]:
        return self._guarded(self._terminal.view, [])

    def _cursor_in_last(self, rows: Sequence[Line]) -> bool:
        """Whether the cursor stands in the last row that is not blank: blanks before it count."""
        return len(_without_blank_end(self._visible_rows())) == self.cursor[1] + 1 and bool(rows)

    def _fresh(self) -> Vt:
        return Vt(self.columns, self.rows, 0)

    def _guarded(self, call: Callable[[], T], otherwise: T) -> T:
        try:
            return call()
        except BaseException as panic:
            # the binding's class for panics is a BaseException and exported nowhere
            if type(panic).__name__ != "PanicException":
                raise
            self.panics += 1
            self._terminal = self._fresh()
            if not self._primary_shown:  # the application is still there, and its modes still hold
                self._terminal.feed_str("\x1b[?1047h")
            return otherwise


def _clamped(columns: int, rows: int) -> tuple[int, int]:
    return max(NARROWEST, columns), max(1, rows)


def _without_blank_end(rows: Sequence[Line]) -> list[Line]:
    end = len(rows)
    while end and not rows[end - 1].text.strip(" "):
        end -= 1
    return list(rows[:end])
