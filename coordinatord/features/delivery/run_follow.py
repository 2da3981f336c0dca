"""Looks for proof that a text was submitted, right after it was typed; bounded.

Never a blind key: Enter is repeated only while the screen shows that exactly our text stands in the
composer, and at most twice (agents.md §1, facts 2 and 3).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import WorldFailed
from coordinatord.features.delivery import ageing, evidence, table
from coordinatord.features.delivery.records import Attempt, Stage
from coordinatord.features.delivery.run_evidence import Witness
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.typing.records import Typed
from coordinatord.features.typing.run import Typist
from coordinatord.kinds import AgentKind
from coordinatord.store.database import Database
from coordinatord.terminals.port import SETTLED, Sighting

EVIDENCE_WITHIN_S: Final = 5.0
"""How long evidence of a turn is looked for after the host took the text."""

FIRST_LOOK_S: Final = 0.6
"""Herdr presses Enter 300 ms after the text; a look before that proves nothing (agents.md §1.3, §1.4)."""

ENTERS_AFTER_S: Final = (1.0, 3.0)
"""Seconds after the text at which Enter may be repeated, and how often. Before the first the host's own
is still on its way; the second leaves a slow start its time (OpenCode took 3 s for its first prompt)."""

LOOK_EVERY_S: Final = 0.5

_REPEATED: Final = {0: "", 1: "Enter repeated once", 2: "Enter repeated twice"}


class Shown(msgspec.Struct, frozen=True):
    """What one look shows. ``stage`` None: the text stands in the composer, or nothing is proven."""

    stage: Stage | None
    words: str = ""
    stands: bool = False


class Follower:
    """Follows one attempt from *typed* to the first proof of more."""

    def __init__(
        self,
        database: Database,
        lookout: Lookout,
        typist: Typist,
        sources: Sources,
        witness: Witness,
        clock: Clock,
    ) -> None:
        self._database = database
        self._lookout = lookout
        self._typist = typist
        self._sources = sources
        self._witness = witness
        self._clock = clock

    async def follow(self, attempt: Attempt, text: str, before: Sighting, kind: AgentKind) -> None:
        """Look until something is proven or the bound passes, and store what was."""
        begun = self._clock.awake()
        enters, shown = 0, Shown(None)
        await self._clock.sleep(FIRST_LOOK_S)
        while True:
            shown = await self._look(attempt, text, before, kind)
            after = self._clock.awake() - begun
            if shown.stage is not None or after >= EVIDENCE_WITHIN_S:
                break
            if shown.stands and enters < len(ENTERS_AFTER_S) and after >= ENTERS_AFTER_S[enters]:
                enters += isinstance(await self._typist.press_enter(before.pane), Typed)
            await self._clock.sleep(LOOK_EVERY_S)
        await self._store(attempt, shown, enters)

    async def _store(self, attempt: Attempt, shown: Shown, enters: int) -> None:
        repeated = _REPEATED[enters]
        if shown.stage is None and shown.stands:
            words = _joined("typed, not submitted: the text stands in the composer", repeated)
            await self._database.insist(table.strand, attempt.id, words)
            with suppress(WorldFailed):  # the journal and `status` have it as well
                await self._lookout.terminal.notify(*ageing.stranded_words(attempt))
            return
        stage = shown.stage or "uncertain"
        words = _joined(shown.words or "no sign of a turn was seen", repeated)
        await self._database.insist(table.reach, self._sources, attempt.id, stage, words)

    async def _look(self, attempt: Attempt, text: str, before: Sighting, kind: AgentKind) -> Shown:
        if attempt.mark is not None:
            seen = self._lookout.sightings.panes.get(before.pane)
            if await self._witness.testify(attempt.mark, seen) == "seen":
                return Shown("seen", f"{kind.name}'s transcript has the message")
        now = await self._lookout.look(before.pane)
        if not isinstance(now, Sighting):
            return Shown(None)
        if now.terminal_id != before.terminal_id:
            return Shown("uncertain", "the pane's terminal changed right after typing")
        sign = evidence.turn_started(before, now)
        if sign is not None and now.status not in SETTLED:
            return Shown("turn-started", sign)
        reading, screen = await self._typist.screen(before.pane, kind)
        standing = evidence.standing(kind, reading, screen, text, attempt.needle)
        if standing == "stands":  # whatever moved the state: a dialog may have taken the Enter
            return Shown(None, stands=True)
        if sign is not None:
            return Shown("turn-started", sign)
        if standing == "left":
            return Shown("submitted", "the text left the composer and is shown above it")
        return Shown(None)


def _joined(*words: str) -> str:
    return "; ".join(filter(None, words))
