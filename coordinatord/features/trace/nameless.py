"""What lines are made of, without what could tell anything about anybody."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.features.trace.lines import Where
from coordinatord.features.trace.masking import mask_text
from coordinatord.ids import PaneId, ProcessId, SeatId, is_pane, kind_of
from coordinatord.kinds import AgentKind, kind_of_program
from coordinatord.terminals.port import Foreground, Occupant, Program, Sighting

_HANDLE: Final = re.compile(
    r"(?=.*\d)[A-Za-z]{0,12}[-_:]?[0-9A-Fa-f][0-9A-Fa-f-]{0,39}|w[0-9A-Z]+:t[0-9A-Z]+"
)
"""How hosts write terminal ids: a prefix and a number."""

_CODE: Final = re.compile(r"[a-z_-]{0,40}")
"""How hosts write the codes of their refusals."""

_SEAT: Final = re.compile(r"(?:worker|reviewer):(.+)")
_PLAIN_SEATS: Final = frozenset({"coordinator", "operator", "developer"})
_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "zsh", "fish", "ksh", "tmux", "screen", "vim", "nvim", "vi", "nano",
     "emacs", "less", "more", "man", "top", "htop", "git", "node", "bun", "deno", "python", "python3"}
)  # fmt: skip
"""Programs whose names tell nothing about anybody, and much about why a pane is not typed into."""


class Nameless:
    """Leaves out names and folders; what only has to be told apart becomes a salted hash."""

    def __init__(self, kinds: Mapping[str, AgentKind], salt: bytes) -> None:
        self._kinds = kinds
        self._salt = salt

    def failure(self, words: str) -> str:
        """The kind of error; of a refusal the code, if it is written like one."""
        kind, _, code = words.partition(" ")
        return words if _CODE.fullmatch(code) else f"{kind} {self._hashed(code)}"

    def where(self, seen: Sighting | Gone | Unseen) -> Where:
        """A pane as it was seen."""
        match seen:
            case Sighting():
                return Where("there", self.sighting(seen))
            case Gone():
                return Where("gone")
            case Unseen():
                return Where("unseen")

    def sighting(self, seen: Sighting) -> Sighting:
        """States and ids of a pane; no label, name, folder or token."""
        return Sighting(
            pane=self.pane(seen.pane),
            terminal_id=self._handle(seen.terminal_id),
            workspace_id=self._handle(seen.workspace_id),
            tab_id=self._handle(seen.tab_id),
            status=seen.status,
            agent=self._agent(seen.agent),
            session=self.occupant(Occupant(terminal_id="", session=seen.session)).session,
            focused=seen.focused,
            live=seen.live,
            launch_pending=seen.launch_pending,
            interactive_ready=seen.interactive_ready,
            state_change_seq=seen.state_change_seq,
        )

    def occupant(self, who: Occupant) -> Occupant:
        """Who is recorded, told apart by hashes."""
        session = who.session
        if session is not None:
            session = msgspec.structs.replace(
                session,
                source=self._hashed(session.source),
                agent=self._agent(session.agent) or "",
                kind=self._hashed(session.kind),
                value=self._hashed(session.value),
            )
        return Occupant(
            terminal_id=self._handle(who.terminal_id) if who.terminal_id else "",
            agent=self._agent(who.agent),
            session=session,
            shell=who.shell and self.process(who.shell),
        )

    def process(self, process: ProcessId) -> ProcessId:
        """A process; its machine's boot is hashed."""
        return msgspec.structs.replace(process, boot_id=self._hashed(process.boot_id))

    def foreground(self, front: Foreground) -> Foreground:
        """What runs in front; no folder and no token."""
        return Foreground(
            shell=front.shell and self.process(front.shell),
            group=front.group,
            programs=tuple(self._program(each) for each in front.programs),
        )

    def _program(self, program: Program) -> Program:
        """Only what the program was recognised by is left of its name and arguments."""
        environ = {"HERDR_AGENT": program.declared} if program.declared else {}
        kind = kind_of_program(self._kinds, program.name, program.argv, environ)
        name = program.name.removeprefix("-")
        known = name in _SHELLS or any(name in each.executables for each in self._kinds.values())
        masked = Program(pid=program.pid, name=name if known else mask_text(name))
        if kind_of_program(self._kinds, masked.name, (), {}) == kind:
            return masked
        return msgspec.structs.replace(masked, declared=kind)

    def _agent(self, name: str | None) -> str | None:
        """The name of a known kind, else a hash."""
        return name if name is None or name in self._kinds else self._hashed(name)

    def pane(self, pane: PaneId) -> PaneId:
        """A pane's address."""
        return pane if is_pane(pane) else PaneId(self._hashed(pane))

    def seat(self, seat: SeatId) -> SeatId:
        """A seat, as its ids are written."""
        if seat in _PLAIN_SEATS:
            return seat
        role, _, rest = seat.partition(":")
        if _SEAT.fullmatch(seat):
            return SeatId(f"{role}:{self.record_id(rest)}")
        return SeatId(f"peer:{self._handle(rest)}" if role == "peer" else self._hashed(seat))

    def record_id(self, name: str) -> str:
        """A record's id; what is not written like one is hashed."""
        if kind_of(name) is not None or name in _PLAIN_SEATS:
            return name
        return str(self.seat(SeatId(name))) if ":" in name else self._hashed(name)

    def debt(self, name: str) -> str:
        """``<kind>:<record>``, and perhaps more of the same."""
        kind, _, rest = name.partition(":")
        parts = ":".join(self.record_id(part) for part in rest.split(":"))
        return f"{kind if kind.replace('-', '').isalpha() else self._hashed(kind)}:{parts}"

    def _handle(self, name: str) -> str:
        """A terminal's or a tab's id."""
        return name if _HANDLE.fullmatch(name) else self._hashed(name)

    def _hashed(self, text: str) -> str:
        """Tells two texts apart within one recording."""
        return (
            "~"
            + hashlib.blake2s(text.encode("utf-8", "surrogatepass"), key=self._salt).hexdigest()[
                :10
            ]
        )
