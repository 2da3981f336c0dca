"""Tells two versions of an agent kind's rules apart."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from coordinatord.kinds import AgentKind


def digests(kinds: Mapping[str, AgentKind]) -> dict[str, str]:
    """A short hash of what decisions go by: all but where the kind's transcripts are."""
    ruling = (msgspec.structs.replace(kind, transcript=None) for kind in kinds.values())
    return {
        kind.name: hashlib.blake2s(msgspec.json.encode(kind), digest_size=6).hexdigest()
        for kind in ruling
    }
