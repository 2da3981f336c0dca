"""What looks like a credential in a text, and the text without it. Pure.

Patterns, not proof: they keep an obvious secret out of notes and out of what is shown; they cannot find
every one.
"""

from __future__ import annotations

import re
from typing import Final

_SHAPES: Final = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}\b",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}\b",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"\bsk-[A-Za-z0-9_-]{12,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}",
    r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    r"(?i:\b[\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization)[\w-]*[\"']?\s*[=:]\s*)"
    r"(?i:(?:bearer|basic)\s+)?(?:\"[^\"\n]{6,}\"|'[^'\n]{6,}'|[^\s\"',;]{8,})",
    r"(?i:\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/-]{16,}=*",
)
_ANY: Final = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES))
MARK: Final = "[redacted]"


def credentials(text: str) -> int:
    """How many places of the text look like a credential."""
    return sum(1 for _ in _ANY.finditer(text))


def redacted(text: str) -> str:
    """The text with every such place replaced by `MARK`."""
    return counted(text)[0]


def counted(text: str) -> tuple[str, int]:
    """The redacted text, and how many places were taken out of it."""
    return _ANY.subn(MARK, text)
