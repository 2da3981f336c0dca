"""Which agent is in front of a pane, and what its screen says: the one door to `kinds`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coordinatord import kinds
from coordinatord.kinds import AgentKind
from coordinatord.lineage import environment
from coordinatord.panehost.foreground import ForegroundFacts
from coordinatord.panehost.requests import Status

_SESSION = "{session}"


class Kinds:
    """The agent kinds that this host knows."""

    def __init__(self, known: Mapping[str, AgentKind]) -> None:
        self._known = known

    @classmethod
    def load(cls, user_folder: Path | None = None) -> Kinds:
        """The packaged kinds and the user's. Raises `Refused` for a file that is wrong."""
        return cls(kinds.load(user_folder))

    def startable(self, kind: str) -> bool:
        """May an agent of this kind be started?"""
        return kind in self._known and bool(self._known[kind].start)

    def kind_of(self, facts: ForegroundFacts) -> str | None:
        """The kind of the program in front, by ``HERDR_AGENT`` or by its executable's name."""
        for program in facts.programs:
            found = kinds.kind_of_program(
                self._known, program.name, program.argv, environment(program.pid)
            )
            if found is not None:
                return found
        return None

    def status_on(self, kind: str, ansi_text: str, title: str | None) -> Status | None:
        """What title and screen show; None where no rule matches. A composer is no rule."""
        known = self._known.get(kind)
        if known is None:
            return None
        match kinds.read_title(known, title or ""), kinds.read_screen(known, ansi_text):
            case ("blocked", _) | (_, kinds.Dialog()):
                return "blocked"
            case ("busy", _) | (_, kinds.Busy()):
                return "working"
            case _:
                return None

    def command(self, kind: str, args: list[str]) -> list[str]:
        """The argv that starts an agent of this kind."""
        return [*self._known[kind].start, *args]

    def resume(self, kind: str, session: str) -> list[str] | None:
        """The argv that takes up a session again, or None where the kind cannot."""
        known = self._known.get(kind)
        if known is None or not known.resume:
            return None
        return [word.replace(_SESSION, session) for word in known.resume]
