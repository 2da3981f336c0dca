"""Clean text that is to be typed, and say what an agent would do with it instead of reading it.

Inside a bracketed paste an end-of-paste sequence would turn the rest into keys, and any other
control may be taken as a key: they go, by name, so that a receipt can tell (cases G-10;
herdr-protocol.md §10). What is only odd to look at, such as right-to-left marks and joiners, stays.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from coordinatord.kinds.agent_kind import AgentKind, Hazard

_TAB: Final = " " * 4
_UNWANTED: Final = re.compile(
    r"(?P<end>(?:\x1b\[|\x9b)201~)"
    r"|(?P<start>(?:\x1b\[|\x9b)200~)"
    r"|\r\n?|\t"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
)
_CALLED: Final = {"\x00": "NUL", "\x1b": "ESC", "\x7f": "DEL", "\r": "CR"}


class Cleaned(msgspec.Struct, frozen=True):
    """Text that is safe inside one paste, and the names of what was taken out, each once."""

    text: str
    removed: tuple[str, ...]


def sanitise(text: str) -> Cleaned:
    """Take out controls; any ``str`` is accepted, and cleaning twice changes nothing more.

    Line ends become ``\\n`` (a lone CR is named), a tab four blanks. Lone surrogates cannot be
    written as UTF-8 and go too.
    """
    removed: dict[str, None] = {}

    def replacement(match: re.Match[str]) -> str:
        instead, name = _instead(match)
        if name:
            removed[name] = None
        return instead

    clean = _UNWANTED.sub(replacement, text)
    return Cleaned(clean, tuple(removed))


def unsafe_start(kind: AgentKind, text: str) -> Hazard | None:
    """What this kind would do instead of taking the text as a message, by its first and last words.

    None: it is safe, as every notice is (it begins with ``[`` and ends with ``]``). Source:
    agents.md §1.1.
    """
    bare = text.strip()
    for sign, hazard in kind.starts.items():
        if bare.startswith(sign):
            return hazard
    for pattern, hazard in kind.ends.items():
        if re.search(rf"(?:{pattern})\Z", bare):
            return hazard
    return None


def _instead(match: re.Match[str]) -> tuple[str, str]:
    found = match[0]
    if found in ("\r\n", "\t"):
        return ("\n" if found == "\r\n" else _TAB), ""
    if match.lastgroup:
        return "", f"paste-{match.lastgroup}"
    name = _CALLED.get(found) or f"U+{ord(found):04X}"
    return ("\n" if found == "\r" else ""), name
