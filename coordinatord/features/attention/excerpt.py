"""The part of a screen that an alert quotes: bounded, and without what looks like a credential. Pure."""

from __future__ import annotations

import re
from typing import Final

LINES: Final = 40
CHARACTERS: Final = 4000

_SECRETS: Final = re.compile(
    "|".join(
        (
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            r"(?i:\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}",
            r"(?i:\b[\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization)\b[\"']?\s*[:=]\s*)"
            r"(?i:(?:bearer|basic)\s+)?(?:\"[^\"\n]*\"|'[^'\n]*'|\S+)",
            r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
            r"\bsk-[A-Za-z0-9_-]{12,}",
            r"\b(?:gh[opsur]|github_pat|glpat|xox[abprs])[_-][A-Za-z0-9_-]{12,}",
            r"\bAKIA[0-9A-Z]{16}\b",
            r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        )
    )
)
REDACTED: Final = "[redacted]"


def cut(text: str) -> tuple[str, int]:
    """The last lines of a screen, and how often something was taken out of them."""
    lines = [_printable(line.rstrip()) for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    redacted, count = _SECRETS.subn(REDACTED, "\n".join(lines[-LINES:]))
    return redacted[-CHARACTERS:], count


def _printable(line: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in line)
