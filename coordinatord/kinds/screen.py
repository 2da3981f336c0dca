"""What an agent's visible screen says: composer, dialog, menu, busy, blank, or not clear.

Order (agents.md §1, §6): nothing drawn → blank · a window over the screen → menu · the composer as
the kind's data describes it, at the very bottom → busy or composer · a dialog or menu whose foot
stands at the very bottom → that · everything else → unclear. A status that the host reports is no
part of it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal, TypeAlias

import msgspec

from coordinatord.kinds import composer, sgr
from coordinatord.kinds.agent_kind import AgentKind, Chip, Ruled, ScreenRule

_NUMBERED: Final = re.compile(r"\s*\d{1,2}\. ")
_UNCOMPARED: Final = re.compile(
    r"[\s\u2500-\u259f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


class Composer(msgspec.Struct, frozen=True, tag="composer"):
    """The composer is drawn, nothing covers it, and the screen shows no sign of work.

    Attributes:
        text: what stands in it, rows parted by line breaks; a dim completion after typed text is
            left out.
        placeholder: ``text`` is a suggestion of the agent, nobody typed it.
        chip: ``text`` is a sign for a long paste that the agent does not show.
        cut: the agent says that it does not show all of it.
    """

    text: str = ""
    placeholder: bool = False
    chip: bool = False
    cut: bool = False

    @property
    def draft(self) -> str:
        """What somebody typed and did not send; empty if the composer is drawn and empty."""
        return "" if self.placeholder else self.text


class Dialog(msgspec.Struct, frozen=True, tag="dialog"):
    """The agent waits for an answer; a key would give one."""

    name: str


class Menu(msgspec.Struct, frozen=True, tag="menu"):
    """A picker or palette that somebody opened; a key would choose."""

    name: str


class Busy(msgspec.Struct, frozen=True, tag="busy"):
    """The agent works. ``composer`` is what its composer shows meanwhile."""

    composer: Composer


class Blank(msgspec.Struct, frozen=True, tag="blank"):
    """Nothing is drawn (yet)."""


class Unclear(msgspec.Struct, frozen=True, tag="unclear"):
    """No rule explains the screen."""


Reading: TypeAlias = Composer | Dialog | Menu | Busy | Blank | Unclear


def read_screen(kind: AgentKind, ansi: str) -> Reading:
    """Read a pane's visible text; with SGR sequences in it suggestions are told apart."""
    rows = sgr.rows(ansi)
    if not any(row.text for row in rows):
        return Blank()
    texts = [row.text for row in rows]
    if _search_any(kind.screen.overlay, texts):
        return Menu("overlay")
    shape = kind.screen.composer
    ruled_out = _by_rule(kind, texts) if isinstance(shape, Ruled) and not shape.glyph else None
    if ruled_out is not None:
        return ruled_out
    found = composer.find(shape, rows)
    if found is None:
        return _by_rule(kind, texts) or Unclear()
    return _with_composer(kind, found)


def read_title(kind: AgentKind, title: str) -> Literal["busy", "blocked"] | None:
    """What the title says, for kinds whose screen hides that they work (agents.md §1.4)."""
    signs = kind.screen.title
    if _search_any(signs.blocked, [title]):
        return "blocked"
    return "busy" if _search_any(signs.busy, [title]) else None


def composer_holds(kind: AgentKind, reading: Reading, text: str) -> bool:
    """Is exactly this text what stands in the composer, shown whole or counted by a chip?

    Blanks, line breaks and box lines are not compared: agents wrap, trim and indent. False whenever
    it is not proven: another reading, a busy agent, a chip that counts nothing or something else.
    """
    if not isinstance(reading, Composer) or reading.cut or not reading.draft:
        return False
    if reading.chip:
        return kind.screen.chip is not None and _counts(kind.screen.chip, reading.text, text)
    wanted = _squeezed(text)
    return bool(wanted) and _squeezed(reading.draft) == wanted


def shows(ansi: str, needle: str) -> bool:
    """Does the needle (an id) stand on the screen, even broken over rows of a box?"""
    wanted = _squeezed(needle)
    return bool(wanted) and wanted in _squeezed(sgr.plain(ansi))


def _with_composer(kind: AgentKind, found: composer.Found) -> Reading:
    written = _written(kind, found)
    if any(re.search(rule.foot, text) for rule in kind.screen.rules for text in found.below):
        return Menu("below-composer")
    if _NUMBERED.match(written.text) and not written.placeholder:
        return Dialog("numbered")
    signs = kind.screen.busy
    busy = (
        _search_any(signs.below, found.below)
        or _search_any(signs.above, [found.over])
        or _search_any(signs.label, [found.label])
    )
    return Busy(written) if busy else written


def _by_rule(kind: AgentKind, texts: list[str]) -> Dialog | Menu | None:
    for rule in kind.screen.rules:
        if _stands(rule, texts):
            return Menu(rule.name) if rule.menu else Dialog(rule.name)
    return None


def _stands(rule: ScreenRule, texts: list[str]) -> bool:
    foot = _search_any(rule.foot, texts[-rule.foot_rows :])
    return foot and all(_search_any(pattern, texts[-rule.rows :]) for pattern in rule.body)


def _search_any(pattern: str, texts: list[str] | tuple[str, ...]) -> bool:
    return bool(pattern) and any(re.search(pattern, text) for text in texts)


def _written(kind: AgentKind, found: composer.Found) -> Composer:
    shown = _joined([row.text for row in found.body])
    cut = any(arrow in found.label for arrow in "↑↓")
    flat = " ".join(shown.split())
    if kind.screen.chip is not None and re.fullmatch(kind.screen.chip.pattern, flat):
        return Composer(flat, chip=True, cut=cut)
    if any(re.fullmatch(pattern, flat) for pattern in kind.screen.placeholders):
        return Composer(shown, placeholder=True, cut=cut)
    typed = _joined([_without_dim(row) for row in found.body])
    if shown and not typed:
        return Composer(shown, placeholder=True, cut=cut)
    return Composer(typed, cut=cut)


def _without_dim(row: sgr.Row) -> str:
    """The row with blanks where a suggestion is drawn.

    The cursor's cell shows a suggestion's first letter in reverse instead of dim: a reversed letter
    belongs to the dim one after it. A letter that is only reversed is a draft under the cursor.
    """
    next_dim = row.dim[1:] + b"\0"
    return "".join(
        " " if row.dim[at] or (row.reverse[at] and next_dim[at]) else char
        for at, char in enumerate(row.text)
    )


def _joined(rows: list[str]) -> str:
    """Rows as one text, without the agent's indent of two blanks and blank rows around."""
    stripped = [re.sub(r"^ {1,2}", "", row.rstrip()) for row in rows]
    return "\n".join(stripped).strip("\n").rstrip() if any(stripped) else ""


def _counts(chip: Chip, shown: str, text: str) -> bool:
    match = re.fullmatch(chip.pattern, " ".join(shown.split()))
    counted = {name: int(n) for name, n in match.groupdict().items() if n} if match else {}
    breaks = text.count("\n")
    actual = {
        "chars": len(text) + breaks * (chip.break_length - 1),
        "lines": breaks + 1,
        "breaks": breaks,
    }
    return bool(counted) and all(actual[name] == count for name, count in counted.items())


def _squeezed(text: str) -> str:
    """Without blanks, box lines, and signs without width that terminals drop or move."""
    return _UNCOMPARED.sub("", unicodedata.normalize("NFC", text))
