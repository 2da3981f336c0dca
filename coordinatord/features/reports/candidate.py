"""What a verification may name as its candidate (interfaces.md, Commands others script)."""

from __future__ import annotations

import re
from typing import Final

from coordinatord.errors import Refused

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONGEST: Final = 64


def accept_candidate(candidate: str, in_repository: bool) -> str:
    """``candidate`` as it is, if it names one thing exactly.

    Raises:
        Refused: ``bad-params`` for a shortened commit id in a repository, a blank or an overlong text.
    """
    if in_repository and not _COMMIT.fullmatch(candidate):
        raise Refused(
            "bad-params",
            f"The candidate {candidate!r:.80} is not a full commit id.",
            "Give all 40 characters: git rev-parse HEAD",
        )
    if not candidate.strip() or len(candidate) > _LONGEST or not candidate.isprintable():
        raise Refused(
            "bad-params",
            f"The candidate must be one printable line of 1 to {_LONGEST} characters.",
            "Name what was looked at, for example a version or a file's checksum.",
        )
    return candidate
