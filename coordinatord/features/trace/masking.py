"""Takes the words out of a screen and leaves its shape: what a kind's rules look at stays as it is.

Letters become ``x`` or ``X``, digits ``0``, wide letters a wide one. Signs, blanks and box lines stay. Inside
of what a rule of the kind matches its own literal words stay too; they stand in the kind's file, so
they tell nothing about the user.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec
from wcwidth import wcwidth

from coordinatord.kinds import AgentKind, Composer, Dialog, Menu, Reading, read_screen, sgr

_WORD: Final = re.compile(r"[^\W_]+")
_SYNTAX: Final = re.compile(
    r"\\[A-Za-z]|\(\?P<\w+>|\(\?[a-zA-Z]*[:)=!<]?|\{[\d,]*\}|\[(?:\\.|[^\]\\])*\]"
)
"""What in a pattern looks like letters and is none: classes, groups, flags, counts."""

_ALWAYS: Final = (r"\d{1,2}\. ",)
"""What every kind's screen is searched for, besides its own patterns."""

_NO_PATTERNS: Final = frozenset({"name", "shape"})

_WIDE: Final = "口"
_MARK: Final = "\u0301"
_SIGNS: Final[dict[tuple[bool, bool], str]] = {
    (False, False): "",
    (True, False): "2",
    (False, True): "7",
    (True, True): "2;7",
}


class Masked(msgspec.Struct, frozen=True):
    """A screen without words. ``unlike``: it is not taken for what the real one was taken for."""

    text: str
    reading: str
    unlike: bool


def mask_screen(kind: AgentKind | None, ansi: str, reading: Reading) -> Masked:
    """The screen with all words masked, and whether this kind's rules still see the same in it."""
    rows = sgr.rows(ansi)
    patterns = _patterns(kind) if kind else ()
    text = "\n".join(_row(row, mask_text(row.text, patterns)) for row in rows)
    said = reading_word(reading)
    again = reading_word(read_screen(kind, text)) if kind else said
    return Masked(text, said, again != said)


def reading_word(reading: Reading) -> str:
    """What a screen is taken for, in a word: ``composer``, ``draft``, ``menu picker`` …"""
    word = str(reading.__struct_config__.tag)
    match reading:
        case Composer(draft=draft):
            return "draft" if draft else word
        case Dialog(name=name) | Menu(name=name):
            return f"{word} {name}"
        case _:
            return word


def mask_text(text: str, patterns: tuple[str, ...] = ()) -> str:
    """The text, each letter and digit masked, except for literal words where a pattern matches."""
    kept = {at for pattern in patterns for at in _literal(pattern, text)}
    return "".join(char if at in kept else _masked(char) for at, char in enumerate(text))


def _masked(char: str) -> str:
    if char.isdecimal():
        return "0" if wcwidth(char) == 1 else _WIDE
    if unicodedata.category(char)[0] == "M" and wcwidth(char) == 0:
        return _MARK
    if not char.isalnum() and unicodedata.category(char)[0] not in "MC":
        return char
    if wcwidth(char) == 2:
        return _WIDE
    return "X" if char.isupper() else "x"


def _literal(pattern: str, text: str) -> Iterator[int]:
    """The places of words that stand in the pattern itself, where it matches."""
    words = _words(pattern)
    for match in re.finditer(pattern, text):
        for word in _WORD.finditer(text, *match.span()):
            if word[0].casefold() in words:
                yield from range(*word.span())


@lru_cache(maxsize=512)
def _words(pattern: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(_SYNTAX.sub(" ", pattern)))


@lru_cache(maxsize=64)
def _patterns_of(name: str, encoded: bytes) -> tuple[str, ...]:
    """Every text in a kind's screen rules is taken for a pattern: those that are none match nothing more
    than themselves."""
    found = [*_texts(msgspec.json.decode(encoded)), *_ALWAYS]
    return tuple(dict.fromkeys(pattern for pattern in found if _compiles(pattern)))


def _patterns(kind: AgentKind) -> tuple[str, ...]:
    return _patterns_of(kind.name, msgspec.json.encode(kind.screen))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in _NO_PATTERNS:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return bool(pattern)


def _row(row: sgr.Row, text: str) -> str:
    """The row with the two attributes that matter."""
    pieces, before = [], (False, False)
    for char, dim, reverse in zip(text, row.dim, row.reverse, strict=True):
        if (now := (bool(dim), bool(reverse))) != before:
            pieces.append(f"\x1b[0;{_SIGNS[now]}m" if _SIGNS[now] else "\x1b[0m")
            before = now
        pieces.append(char)
    return "".join(pieces) + ("\x1b[0m" if before != (False, False) else "")
