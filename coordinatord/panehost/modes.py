"""What an application tells its terminal besides text: modes, title, folder, and questions.

The emulator draws; this scanner reads the same bytes for what the emulator keeps to itself. It
knows no screen: a question that needs one (where is the cursor?) comes out as a `Mark` at its place
in the stream. Invariant: what comes out does not depend on how the stream was cut into pieces.
Sources: ECMA-48, xterm's control sequences; herdr-protocol.md §2.4 (bracketed paste).
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass, field
from typing import Final, Literal

MarkKind = Literal[
    "answer",
    "cursor",
    "private-cursor",
    "size",
    "erase-scrollback",
    "to-alternate",
    "to-primary",
    "reset",
    "endless",
]

_TEXT_LIMIT: Final = 8192
"""Longest OSC that is kept, in bytes: titles are far shorter, clipboards are not ours."""
_SEQUENCE_LIMIT: Final = 256
"""Longest unfinished control sequence that is kept for the next piece, in bytes."""
_TITLE_LIMIT: Final = 256
"""Longest title in characters."""

_ALTERNATE: Final = frozenset({47, 1047, 1049})
_MOUSE: Final = frozenset({9, 1000, 1002, 1003})
_TRACKED: Final = _MOUSE | {1, 66, 1004, 1005, 1006, 1007, 1015, 1016, 2004}
_KEYPAD: Final = 66
"""The keypad's application mode; ``ESC =`` and ``ESC >`` say the same."""
_SWITCHED_OFF: Final = _TRACKED - {1007, _KEYPAD}
"""What a repaint switches off where it is not on; 1007 (wheel as cursor keys) is some terminals'
default."""
_MOST_KEYBOARDS: Final = 16
"""Keyboard modes that are kept on top of each other."""

_CSI: Final = re.compile(rb"\x1b\[([<-?]?)([0-9;:]*)([ -/]*)([@-~])")
_TELLING: Final = re.compile(rb"\x1b(?!\[(?:[0-9;:]*[@-IK-Z`adefghlmqrsu]|[0-9]{0,3}b))")
"""The next escape that may matter: colours and cursor moves are most of what there is."""
_CSI_BEGINNING: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*)?")
_STRING_END: Final = re.compile(rb"[\x07\x18\x1a\x1b]")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_FIXED_ANSWERS: Final[dict[tuple[bytes, bytes, bytes], bytes]] = {
    (b"", b"", b"c"): b"\x1b[?62;22c",  # a VT220 with colours
    (b"", b"0", b"c"): b"\x1b[?62;22c",
    (b">", b"", b"c"): b"\x1b[>1;10;0c",
    (b">", b"0", b"c"): b"\x1b[>1;10;0c",
    (b"", b"5", b"n"): b"\x1b[0n",
    (b">", b"", b"q"): b"\x1bP>|coordinatord\x1b\\",
    (b">", b"0", b"q"): b"\x1bP>|coordinatord\x1b\\",
}
_PLACED_MARKS: Final[dict[tuple[bytes, bytes, bytes], MarkKind]] = {
    (b"", b"6", b"n"): "cursor",
    (b"?", b"6", b"n"): "private-cursor",
    (b"", b"18", b"t"): "size",
    (b"", b"3", b"J"): "erase-scrollback",
}
_COLOURS: Final = {b"10": b"rgb:ffff/ffff/ffff", b"11": b"rgb:0000/0000/0000"}
"""What an application hears when it asks for the default colours: light text on a dark ground."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something to do once the bytes before ``end`` (an offset into the piece) are drawn."""

    end: int
    kind: MarkKind
    answer: bytes = b""
    length: int = 0
    """Of the sequence, where what stands before it is to be drawn apart from it."""
    instead: bytes = b""
    """What is drawn in place of the sequence, where that is not the sequence itself."""


@dataclass(slots=True)
class Modes:
    """The modes that an application has switched on now, its title and the folder it reported."""

    private: set[int] = field(default_factory=set)
    alternate: bool = False
    title: str | None = None
    reported_cwd: str | None = None
    cursor_shape: int = 0
    other_keys: int = 0
    """How xterm's modifyOtherKeys is set."""
    keyboards: list[int] = field(default_factory=list)
    """The extended keyboard's flags (``CSI > flags u``), the last on top."""

    @property
    def bracketed_paste(self) -> bool:
        """Pasted text is to be wrapped (DEC private mode 2004)."""
        return 2004 in self.private

    @property
    def application_cursor(self) -> bool:
        """Cursor keys are to be sent as ``ESC O x`` (DEC private mode 1)."""
        return 1 in self.private

    @property
    def mouse(self) -> bool:
        """The application takes mouse reports."""
        return not _MOUSE.isdisjoint(self.private)

    def switch(self, mode: int, on: bool) -> None:
        """Set or reset one DEC private mode; those nobody asks about are dropped."""
        if mode in _ALTERNATE:
            self.alternate = on
        elif mode in _TRACKED and on:
            self.private.add(mode)
        else:
            self.private.discard(mode)

    def push_keyboard(self, flags: int) -> None:
        """Ask for extended keys; the oldest of too many is forgotten."""
        self.keyboards = [*self.keyboards, flags][-_MOST_KEYBOARDS:]

    def pop_keyboards(self, count: int) -> None:
        """Back to what was asked for so many times before."""
        del self.keyboards[-count:]

    def reset(self) -> None:
        """Full or soft reset of the terminal; the title stays."""
        self.private.clear()
        self.alternate = False
        self.cursor_shape = self.other_keys = 0
        self.keyboards = []

    def sequences(self) -> bytes:
        """Bytes that switch any terminal into these modes, the choice of buffer excepted."""
        off = b"".join(b"\x1b[?%dl" % mode for mode in sorted(_SWITCHED_OFF - self.private))
        on = b"".join(b"\x1b[?%dh" % mode for mode in sorted(self.private - {_KEYPAD}))
        keys = b"\x1b=" if _KEYPAD in self.private else b"\x1b>"
        keys += b"\x1b[>4;%dm\x1b[=%du" % (self.other_keys, [0, *self.keyboards][-1])
        return off + on + keys + b"\x1b[%d q" % self.cursor_shape


class Scanner:
    """Feeds on the byte stream of one terminal and keeps its `Modes`."""

    def __init__(self) -> None:
        self.modes = Modes()
        self._unfinished = b""
        self._in_string = False

    def scan(self, piece: bytes) -> list[Mark]:
        """Take the next piece; returns what has to be done at which place in it, in order."""
        if not self._unfinished and not self._in_string and b"\x1b" not in piece:
            return []
        stream = self._unfinished + piece
        before = len(self._unfinished)
        self._unfinished = b""
        marks: list[Mark] = []
        at = self._leave_string(stream, 0) if self._in_string else _next(stream, 0)
        while 0 <= at < len(stream):
            at = self._one(stream, at, before, marks)
        return marks

    def _one(self, stream: bytes, at: int, before: int, marks: list[Mark]) -> int:
        """Read the sequence at ``at``; returns where the next one begins, -1 for nowhere."""
        introducer = stream[at + 1 : at + 2]
        if introducer == b"[":
            found = _CSI.match(stream, at)
            if found:
                if found.end() - at <= _SEQUENCE_LIMIT:
                    self._control(found, found.end() - before, marks)
                return _next(stream, found.end())
        elif introducer == b"]":
            return self._operating_system_command(stream, at, before, marks)
        elif introducer and introducer in b"PX^_":
            self._in_string = True
            return self._leave_string(stream, at + 2)
        elif introducer in (b"=", b">"):
            self.modes.switch(_KEYPAD, introducer == b"=")
        elif introducer == b"c":
            self.modes.reset()
            marks.append(Mark(at + 2 - before, "reset", length=2))
        return self._next_or_keep(stream, at)

    def _next_or_keep(self, stream: bytes, at: int) -> int:
        following = _next(stream, at + 1)
        if following < 0 and len(stream) - at <= _SEQUENCE_LIMIT:
            beginning = _CSI_BEGINNING.match(stream, at)
            if beginning and beginning.end() == len(stream):
                self._unfinished = stream[at:]
        return following

    def _leave_string(self, stream: bytes, at: int) -> int:
        """Skip a string that does not matter; returns the next escape, -1 if it goes on."""
        found = _STRING_END.search(stream, at)
        if found is None:
            return -1
        if found[0] == b"\x1b" and found.end() == len(stream):
            self._unfinished = b"\x1b"  # the terminator itself is cut in two
            return -1
        self._in_string = False
        return _next(stream, found.start())

    def _operating_system_command(
        self, stream: bytes, at: int, before: int, marks: list[Mark]
    ) -> int:
        found = _STRING_END.search(stream, at + 2)
        too_long = (found.start() if found else len(stream)) - at - 2 > _TEXT_LIMIT
        if found is None or (found[0] == b"\x1b" and found.end() == len(stream)):
            self._in_string = too_long
            if too_long:
                self._unfinished = b"\x1b" if found else b""
            else:
                self._unfinished = stream[at:]
            return -1
        end = found.end()
        by_string_terminator = stream[found.start() : end + 1] == b"\x1b\\"
        if by_string_terminator or found[0] == b"\x07":
            end += by_string_terminator
            terminator = stream[found.start() : end]
            command = b"" if too_long else stream[at + 2 : found.start()]
            if answer := self._command(command, terminator):
                marks.append(Mark(end - before, "answer", answer))
            return _next(stream, end)
        return _next(stream, found.start())

    def _command(self, command: bytes, terminator: bytes) -> bytes:
        number, _, rest = command.partition(b";")
        if number in (b"0", b"2"):
            title = _CONTROLS.sub("", rest.decode("utf-8", "replace"))[:_TITLE_LIMIT]
            self.modes.title = title or None
        elif number == b"7":
            self.modes.reported_cwd = _path_of(rest) or self.modes.reported_cwd
        elif number in _COLOURS and rest == b"?":
            return b"\x1b]" + number + b";" + _COLOURS[number] + terminator
        return b""

    def _control(self, found: re.Match[bytes], end: int, marks: list[Mark]) -> None:
        prefix, parameters, intermediate, final = found.groups()
        if intermediate:
            self._with_intermediate(prefix, parameters, intermediate + final, end, marks)
        elif final in b"hl" and prefix == b"?":
            was_alternate = self.modes.alternate
            for parameter in parameters.split(b";"):
                self.modes.switch(_number(parameter), final == b"h")
            if self.modes.alternate != was_alternate:
                kind: MarkKind = "to-primary" if was_alternate else "to-alternate"
                marks.append(Mark(end, kind, length=len(found[0])))
        elif final == b"b" and not prefix and _is_huge(parameters):
            # one such sequence would be drawn for longer than everybody else can wait
            marks.append(Mark(end, "endless", length=len(found[0]), instead=b"\x1b[999b"))
        elif final in b"um" and prefix:
            self._keys(prefix + final, *parameters.partition(b";")[::2])
        elif placed := _PLACED_MARKS.get((prefix, parameters, final)):
            # the alternate screen has no scrollback, and the other one's is not meant there
            if placed != "erase-scrollback" or not self.modes.alternate:
                marks.append(Mark(end, placed))
        elif answer := _FIXED_ANSWERS.get((prefix, parameters, final)):
            marks.append(Mark(end, "answer", answer))

    def _keys(self, kind: bytes, first: bytes, second: bytes) -> None:
        """Kitty's keyboard protocol (push, pop, set), and xterm's modifyOtherKeys."""
        number = max(0, _number(first or b"0"))
        if kind == b">u":
            self.modes.push_keyboard(number)
        elif kind == b"<u":
            self.modes.pop_keyboards(max(1, number))
        elif kind == b"=u":
            self.modes.keyboards[-1:] = [number] if number or self.modes.keyboards else []
        elif kind == b">m" and first in (b"", b"4"):
            self.modes.other_keys = max(0, _number(second or b"0"))

    def _with_intermediate(
        self, prefix: bytes, parameters: bytes, last: bytes, end: int, marks: list[Mark]
    ) -> None:
        if last == b" q" and not prefix:
            self.modes.cursor_shape = max(0, _number(parameters or b"0"))
        elif last == b"!p":
            alternate = self.modes.alternate
            self.modes.reset()
            self.modes.alternate = alternate  # a soft reset does not switch buffers
        elif last == b"$p" and prefix == b"?" and parameters.isdigit():
            answer = b"\x1b[?%s;%d$y" % (parameters, self._mode_state(_number(parameters)))
            marks.append(Mark(end, "answer", answer))

    def _mode_state(self, mode: int) -> int:
        """DECRPM: 0 not known, 1 set, 2 reset."""
        if mode in _ALTERNATE:
            return 1 if self.modes.alternate else 2
        if mode in _TRACKED:
            return 1 if mode in self.modes.private else 2
        return 0


def _next(stream: bytes, at: int) -> int:
    found = _TELLING.search(stream, at)
    return found.start() if found else -1


def _is_huge(parameters: bytes) -> bool:
    count = parameters.replace(b":", b";").partition(b";")[0]
    return count.isdigit() and len(count.lstrip(b"0")) > 3


def _number(parameter: bytes) -> int:
    return int(parameter) if parameter.isdigit() and len(parameter) < 6 else -1


def _path_of(url: bytes) -> str | None:
    """The absolute path in a ``file://host/path`` of OSC 7, or None if it is none."""
    text = url.decode("utf-8", "replace")
    if not text.startswith("file://"):
        return None
    _, slash, path = text[len("file://") :].partition("/")
    path = urllib.parse.unquote("/" + path, errors="replace")
    return path if slash and not _CONTROLS.search(path) else None
