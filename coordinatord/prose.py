"""The one check of text that people and agents write into records."""

from __future__ import annotations

import unicodedata
from typing import Final

from coordinatord.errors import Refused

_HARMLESS: Final = frozenset("\u200c\u200d")
"""What joins emoji and letters."""
LIMIT_BYTES: Final = 256 * 1024
"""Longest text of one record, in bytes of UTF-8 (coordination.md §1.10)."""


def accept(text: str, what: str, limit: int = LIMIT_BYTES) -> str:
    """``text`` as it is, if it may be kept.

    Args:
        what: the thing's name for the refusal, for example ``"the question"``.
        limit: bytes of UTF-8.

    Raises:
        Refused: ``empty`` (nothing but blanks), ``not-unicode`` (lone surrogates), ``too-long``.
    """
    if not text.strip():
        raise Refused(
            "empty",
            f"The text of {what} is empty.",
            "Give some text, or - to read it from standard input.",
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise Refused(
            "not-unicode",
            f"The text of {what} is not valid Unicode at character {error.start + 1}.",
            "Send it as UTF-8 without lone surrogates.",
        ) from None
    if size > limit:
        raise Refused(
            "too-long",
            f"The text of {what} has {size} bytes; at most {limit} are kept.",
            "Put the long part into a file and name the file.",
        )
    return text


def is_line(text: str) -> bool:
    """One line that does nothing to a terminal: blanks of all scripts are text, too."""
    return all(
        each.isprintable() or each in _HARMLESS or unicodedata.category(each) == "Zs"
        for each in text
    )
