"""What hooks may report about an agent, and how much it counts (herdr-protocol.md §2.6, §3.3)."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord.panehost.records import AgentSession
from coordinatord.panehost.requests import Status

SCREEN_ONLY_SOURCES: Final = frozenset(
    f"herdr:{kind}"
    for kind in (
        "claude",
        "codex",
        "copilot",
        "devin",
        "droid",
        "qodercli",
        "qwen",
        "cursor",
        "grok",
    )
)
"""Sources whose state is dropped: only the session id of their reports is kept."""
FULL_AUTHORITIES: Final = frozenset(
    f"herdr:{kind}" for kind in ("pi", "omp", "mastracode", "opencode", "kilo", "kimi")
)
"""Sources whose state switches looking at the screen off."""
_REPLACING: Final[dict[str, frozenset[str]]] = {
    "claude": frozenset({"clear", "resume", "compact"}),
    "codex": frozenset({"startup", "clear", "resume", "compact"}),
    "pi": frozenset({"new", "resume", "fork"}),
    "omp": frozenset({"startup", "new", "resume", "fork"}),
    "qwen": frozenset({"startup", "clear", "resume", "compact", "branch"}),
    "hermes": frozenset({"startup", "new", "resume"}),
    "mastracode": frozenset({"startup"}),
    "opencode": frozenset({"select"}),
}
"""Start sources with which another session id of the same source replaces the stored one (§3.3)."""
_LONGEST_ID: Final = 512
_LONGEST_PATH: Final = 4096


class Report(msgspec.Struct, frozen=True):
    """The last state a source reported for a kind."""

    source: str
    agent: str
    state: Status


def session_of(
    source: str, agent: str, session_id: str | None, path: str | None
) -> AgentSession | None:
    """The session a report carries, or None if it carries none that may be kept."""
    if session_id and len(session_id) <= _LONGEST_ID and session_id.isprintable():
        return AgentSession(source, agent, "id", session_id)
    if path and len(path) <= _LONGEST_PATH and path.startswith("/") and path.isprintable():
        return AgentSession(source, agent, "path", path)
    return None


def is_official(session: AgentSession) -> bool:
    """Only an integration made for a kind may name that kind's session."""
    return session.source == f"herdr:{session.agent}"


def may_replace(agent: str, start: str | None) -> bool:
    """May another session of the same source take the place of the stored one, started this way?"""
    return agent == "agy" or start in _REPLACING.get(agent, frozenset())
