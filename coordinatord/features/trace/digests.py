"""Tells two versions of an agent kind's rules apart."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from coordinatord.kinds import AgentKind


def digests(kinds: Mapping[str, AgentKind]) -> dict[str, str]:
    """A short hash of each kind's rules."""
    return {
        name: hashlib.blake2s(msgspec.json.encode(kind), digest_size=6).hexdigest()
        for name, kind in kinds.items()
    }
