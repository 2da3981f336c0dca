"""When to look again for what became of an attempt, and what a look settles. Pure.

What is uncertain stays so until something proves it: the agent's transcript, or that its own
transcript, read to the end while it rests before an empty composer, has nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from coordinatord.features.delivery.evidence import Testimony, mentions
from coordinatord.features.delivery.records import Attempt, Stage
from coordinatord.kinds import Busy, Composer, Reading, shows
from coordinatord.terminals.port import SETTLED, Sighting

PAUSES_S: Final = (0.3, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Pauses before each further look; after the last one only a change of the pane makes one again."""

ABSENT_AFTER_S: Final = 15.0
"""Least age of an attempt that a transcript without it disproves: agents store within a second, older
ones with their answer (agents.md §1.3)."""


class Schedule(msgspec.Struct, frozen=True):
    """How often was looked since the pane changed last, and when to look again (awake seconds)."""

    seen: object
    looks: int
    again_at: float


def over(attempt: Attempt, owed: frozenset[str], unreadable: Iterable[str]) -> bool:
    """Is all that the attempt told dealt with? What cannot be read is not known to be."""
    if set(attempt.records) & set(unreadable):
        return False
    return not owed.intersection(attempt.obligations)


def worth_a_look(attempt: Attempt) -> bool:
    """Could a look still teach something?"""
    if attempt.stage in ("submitted", "turn-started"):
        return attempt.mark is not None
    return attempt.stranded or (attempt.stage == "uncertain" and attempt.mark is not None)


def next_look(known: Schedule | None, seen: object, now: float) -> Schedule:
    """The schedule when a pane shows this; a change begins anew."""
    if known is None or known.seen != seen:
        return Schedule(seen, 0, now + PAUSES_S[0])
    return known


def looked(schedule: Schedule, now: float) -> Schedule:
    """The schedule after a look that settled nothing."""
    looks = schedule.looks + 1
    pause = PAUSES_S[looks] if looks < len(PAUSES_S) else float("inf")
    return Schedule(schedule.seen, looks, now + pause)


def needs_screen(attempt: Attempt, said: Testimony, seen: Sighting, age_s: float) -> bool:
    """Does the screen have to be read to settle this attempt?"""
    if (
        said == "seen"
        or seen.status not in SETTLED
        or attempt.stage in ("submitted", "turn-started")
    ):
        return attempt.stranded and said != "seen"
    return attempt.stranded or (said == "absent" and age_s >= ABSENT_AFTER_S)


def settle(
    attempt: Attempt,
    said: Testimony,
    seen: Sighting | None,
    reading: Reading | None,
    screen: str,
    age_s: float,
) -> tuple[Stage, str] | None:
    """What is proven now; None: nothing new.

    ``reading`` and ``screen`` are what the pane shows, if it had to be read. A person may submit or
    delete a text that stands unsubmitted.
    """
    if said == "seen":
        return "seen", "the agent's transcript has the message"
    if seen is None or reading is None:
        return None
    composer = reading.composer if isinstance(reading, Busy) else reading
    if not isinstance(composer, Composer) or mentions(composer, attempt.needle):
        return None
    if said == "absent" and not composer.draft and seen.status in SETTLED:
        if age_s >= ABSENT_AFTER_S:
            return (
                "not-delivered",
                "the agent's transcript has no trace of it and its composer is empty",
            )
        return None
    if not attempt.stranded:
        return None
    if shows(screen, attempt.needle):
        return "submitted", "the text left the composer and is shown above it"
    return "uncertain", "the text stood in the composer and is gone"
