"""Answers `pane.send` and `typing.…`."""

from __future__ import annotations

from coordinatord.errors import Refused
from coordinatord.features.panes.methods import standing_pane
from coordinatord.features.panes.records import Caller
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.typing import table
from coordinatord.features.typing.records import Pause
from coordinatord.features.typing.requests import PauseTyping, ResumeTyping, SendToPane
from coordinatord.features.typing.run import Typist
from coordinatord.ids import PaneId
from coordinatord.prose import accept
from coordinatord.store.database import Database, Transaction
from coordinatord.wire.requests import Done


class TypingMethods:
    """Routes of this feature."""

    def __init__(self, database: Database, lookout: Lookout, typist: Typist) -> None:
        self._database = database
        self._lookout = lookout
        self._typist = typist

    async def send(self, caller: Caller, request: SendToPane) -> Done:
        """Type text into a pane as it is; journalled before it is done."""
        if request.text or not request.enter:  # Enter alone is a wish of its own
            accept(request.text, "what is typed")
        pane = await standing_pane(self._lookout, request.pane)
        await self._database.write(_journal, caller, pane)
        await self._typist.raw(pane, request.text, request.enter)
        return Done()

    async def pause(self, caller: Caller, request: PauseTyping) -> Pause:
        """Stop all typing. At once: what is claimed already is not typed any more."""
        kept = await self._database.write(table.pause, caller)
        self._typist.paused = True
        return kept

    async def resume(self, caller: Caller, request: ResumeTyping) -> Pause:
        """Allow typing again; the journal line wakes the pump after the flag has fallen."""
        self._typist.paused = False
        try:
            return await self._database.write(table.resume, caller)
        except Refused:
            self._typist.paused = True
            raise


def _journal(tx: Transaction, caller: Caller, pane: PaneId) -> None:
    tx.journal("typing", pane, actor=caller.seat, proof=caller.proof)
