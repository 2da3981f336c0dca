"""What proves that a text arrived: pure decisions about screens, states and transcripts.

Best is the agent's own transcript: a user message with our id, behind the position that was noted
before typing (agents.md §1, facts 6 and 11). Accepted by the host is not delivered, and a stalled
prompt is not lost.
"""

from __future__ import annotations

import datetime
import re
from typing import Final, Literal

from coordinatord.features.delivery.records import Mark
from coordinatord.kinds import AgentKind, Busy, Composer, Reading, composer_holds, shows
from coordinatord.terminals.port import Sighting

CLOCK_SLACK_S: Final = 2.0
"""By how much an agent's own time of a line may lie before ours: both clocks are this machine's."""

Testimony = Literal["seen", "absent", "unknown"]
"""``seen``: the transcript has the message. ``absent``: the session's own transcript was read from the
noted position and has it not. ``unknown``: nothing can be said."""

Standing = Literal["stands", "left", "unclear"]
"""Our text in the composer: it stands there, it was there or was shown and is gone, or not proven."""


def turn_started(before: Sighting, now: Sighting) -> str | None:
    """The sign that the agent took a turn since, in words; None: there is none.

    A dialog that opened is no such sign: it may have been opened by somebody else's turn.
    """
    if now.status == "blocked" or now.agent != before.agent:
        return None
    if now.status == "working":
        return "the agent works"
    if now.state_change_seq != before.state_change_seq:
        return f"the agent's state changed and is {now.status}"
    return None


def standing(kind: AgentKind, reading: Reading, screen: str, text: str, needle: str) -> Standing:
    """Where our text is, by the screen. ``left`` needs it to be shown outside a composer without it."""
    if isinstance(reading, Composer) and composer_holds(kind, reading, text):
        return "stands"
    composer = reading.composer if isinstance(reading, Busy) else reading
    if isinstance(composer, Composer) and not mentions(composer, needle):
        return "left" if shows(screen, needle) else "unclear"
    return "unclear"


def mentions(composer: Composer, needle: str) -> bool:
    """May our text stand in this composer? A sign for a long paste may hide it."""
    return composer.chip or needle in re.sub(r"\s", "", composer.draft)


def recent(mark: Mark, stated: str | None) -> bool:
    """Was the line written after the mark, by the agent's own time? Copied lines keep the old one."""
    if stated is None:
        return False
    try:
        at = datetime.datetime.fromisoformat(stated)
    except ValueError:
        return False
    if at.tzinfo is None:
        return False
    return at.timestamp() >= mark.at - CLOCK_SLACK_S


def claude_folder(directory: str) -> str:
    """The name of Claude Code's folder for sessions in this directory (agents.md §3.1)."""
    return re.sub(r"[^A-Za-z0-9]", "-", directory)
