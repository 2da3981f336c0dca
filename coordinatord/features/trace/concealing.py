"""Turns what is told of a decision into a line without words: a pure step that everything passes.

Ids, states, times and counts stay. Names that people choose, folders, tokens and arguments are left out; what
only has to be told apart (conversations, machines) becomes a hash that is salted for each recording.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from coordinatord.features.delivery.pacing import Decided, Due, Recipient, Resting, Waiting
from coordinatord.features.delivery.records import Attempt
from coordinatord.features.panes.judgement import Gone, Judgement, Unseen
from coordinatord.features.trace.lines import (
    PLAIN,
    AttemptLine,
    CallLine,
    Considered,
    DecisionLine,
    EventLine,
    JudgementLine,
    Line,
    LookLine,
    RecordLine,
    Where,
)
from coordinatord.features.trace.masking import mask_screen, mask_text
from coordinatord.features.trace.told import Called, Changed, Heard
from coordinatord.features.typing.records import Held, Looked
from coordinatord.ids import PaneId, ProcessId, SeatId, is_pane, kind_of
from coordinatord.kinds import AgentKind, kind_of_program
from coordinatord.terminals.port import (
    Foreground,
    LookAround,
    LookAt,
    Occupant,
    Program,
    Sighting,
    StreamDown,
    StreamUp,
)

_HANDLE: Final = re.compile(
    r"[A-Za-z]{0,12}[-_:]?[0-9A-Fa-f][0-9A-Fa-f-]{0,39}|w[0-9A-Z]+:t[0-9A-Z]+"
)
"""How hosts write terminal ids: a prefix and a number."""

_SEAT: Final = re.compile(r"(?:worker|reviewer):(.+)")
_PLAIN_SEATS: Final = frozenset({"coordinator", "operator", "developer"})
_NAMED: Final = re.compile(r"\[(?:coord|msg) ([a-z]-[0-9a-z]{8})\b")
_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "zsh", "fish", "ksh", "tmux", "screen", "vim", "nvim", "vi", "nano",
     "emacs", "less", "more", "man", "top", "htop", "git", "node", "bun", "deno", "python", "python3"}
)  # fmt: skip
"""Programs whose names tell nothing about anybody, and much about why a pane is not typed into."""


class Concealer:
    """Makes lines. It belongs to one recording, whose salt it has."""

    def __init__(self, kinds: Mapping[str, AgentKind], salt: bytes) -> None:
        self._kinds = kinds
        self._salt = salt

    def line(self, fact: object, at: float) -> Line | None:
        """The line for what was told; None for what no trace has."""
        match fact:
            case Heard():
                return self._event(fact, at)
            case Called():
                return self._call(fact, at)
            case Judgement():
                return self._judgement(fact, at)
            case Looked():
                return self._look(fact, at)
            case Decided():
                return self._decision(fact)
            case Changed():
                return self._record(fact)
            case Attempt():
                return self._attempt(fact, at)
            case _:
                return None

    def _event(self, fact: Heard, at: float) -> EventLine:
        match fact.event:
            case StreamUp():
                return EventLine(at=at, event="up")
            case StreamDown():
                return EventLine(at=at, event="down")
            case LookAround():
                return EventLine(at=at, event="look-around")
            case LookAt(pane):
                return EventLine(at=at, event="look-at", pane=self._pane(pane))

    def _call(self, fact: Called, at: float) -> CallLine:
        named = _NAMED.match(fact.text or "")
        return CallLine(
            at=at,
            method=fact.method,
            took_s=round(fact.took_s, 4),
            pane=None if fact.pane is None else self._pane(fact.pane),
            failed=fact.failed,
            panes=[self._sighting(each) for each in fact.panes],
            attempt=named[1] if named else None,
            characters=None if fact.text is None else len(fact.text),
        )

    def _judgement(self, fact: Judgement, at: float) -> JudgementLine:
        return JudgementLine(
            at=at,
            seat=self._seat(fact.seat),
            recorded=fact.recorded and self._occupant(fact.recorded),
            where=self._where(fact.seen),
            shell=fact.shell and self._process(fact.shell),
            outcome=fact.outcome,
        )

    def _look(self, fact: Looked, at: float) -> LookLine:
        agent = fact.seen.agent if isinstance(fact.seen, Sighting) else None
        masked = None
        if fact.screen and fact.reading is not None:  # empty: it could not be read
            masked = mask_screen(self._kinds.get(agent or ""), fact.screen, fact.reading)
        return LookLine(
            at=at,
            where=self._where(fact.seen),
            outcome=fact.outcome,
            foreground=fact.foreground and self._foreground(fact.foreground),
            screen=masked.text if masked else None,
            reading=masked.reading if masked else None,
            unlike=masked.unlike if masked else False,
            verdict=fact.verdict.reason if isinstance(fact.verdict, Held) else "clear",
        )

    def _decision(self, fact: Decided) -> DecisionLine:
        considered = self._considered(fact.recipient)
        match fact.decision:
            case Due(items=items):
                ids = tuple(self._debt(item.id) for item in items)
                return DecisionLine(at=fact.now, recipient=considered, decision="due", items=ids)
            case Waiting(held=held, until=until):
                decided = DecisionLine(at=fact.now, recipient=considered, decision="held")
                return msgspec.structs.replace(decided, reason=held.reason, until=until)
            case Resting(reason=reason, until=until):
                decided = DecisionLine(at=fact.now, recipient=considered, decision="resting")
                return msgspec.structs.replace(decided, reason=reason, until=until)

    def _considered(self, recipient: Recipient) -> Considered:
        replace = msgspec.structs.replace
        return Considered(
            seat=self._seat(recipient.seat),
            items=tuple(
                replace(
                    item,
                    id=self._debt(item.id),
                    record=self._record_id(item.record),
                    to=self._seat(item.to),
                )
                for item in recipient.items
            ),
            told={
                self._debt(key): replace(
                    each, obligation=self._debt(each.obligation), seat=self._seat(each.seat)
                )
                for key, each in recipient.told.items()
            },
            where=self._where(recipient.seen),
            held=recipient.held.reason if recipient.held else None,
            behind=tuple(sorted(self._debt(each) for each in recipient.behind)),
            **{name: getattr(recipient, name) for name in PLAIN},
        )

    def _record(self, fact: Changed) -> RecordLine:
        return RecordLine(
            at=fact.at,
            seq=fact.seq,
            kind=fact.kind,
            id=self._record_id(fact.id),
            task=fact.task and self._record_id(fact.task),
            seat=fact.seat and self._seat(SeatId(fact.seat)),
        )

    def _attempt(self, fact: Attempt, at: float) -> AttemptLine:
        return AttemptLine(
            at=at,
            id=fact.id,
            seat=self._seat(fact.seat),
            binding=fact.binding,
            pane=fact.pane and self._pane(fact.pane),
            obligations=tuple(self._debt(each) for each in fact.obligations),
            stage=fact.stage,
            stranded=fact.stranded,
        )

    # what a line is made of

    def _where(self, seen: Sighting | Gone | Unseen) -> Where:
        match seen:
            case Sighting():
                return Where("there", self._sighting(seen))
            case Gone():
                return Where("gone")
            case Unseen():
                return Where("unseen")

    def _sighting(self, seen: Sighting) -> Sighting:
        return Sighting(
            pane=self._pane(seen.pane),
            terminal_id=self._handle(seen.terminal_id),
            workspace_id=self._handle(seen.workspace_id),
            tab_id=self._handle(seen.tab_id),
            status=seen.status,
            agent=self._agent(seen.agent),
            session=self._occupant(Occupant(terminal_id="", session=seen.session)).session,
            focused=seen.focused,
            live=seen.live,
            launch_pending=seen.launch_pending,
            interactive_ready=seen.interactive_ready,
            state_change_seq=seen.state_change_seq,
        )

    def _occupant(self, who: Occupant) -> Occupant:
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
            shell=who.shell and self._process(who.shell),
        )

    def _process(self, process: ProcessId) -> ProcessId:
        return msgspec.structs.replace(process, boot_id=self._hashed(process.boot_id))

    def _foreground(self, front: Foreground) -> Foreground:
        return Foreground(
            shell=front.shell and self._process(front.shell),
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
        return name if name is None or name in self._kinds else self._hashed(name)

    def _pane(self, pane: PaneId) -> PaneId:
        return pane if is_pane(pane) else PaneId(self._hashed(pane))

    def _seat(self, seat: SeatId) -> SeatId:
        if seat in _PLAIN_SEATS:
            return seat
        role, _, rest = seat.partition(":")
        if _SEAT.fullmatch(seat):
            return SeatId(f"{role}:{self._record_id(rest)}")
        return SeatId(f"peer:{self._handle(rest)}" if role == "peer" else self._hashed(seat))

    def _record_id(self, name: str) -> str:
        if kind_of(name) is not None or name in _PLAIN_SEATS:
            return name
        return str(self._seat(SeatId(name))) if ":" in name else self._hashed(name)

    def _debt(self, name: str) -> str:
        """``<kind>:<record>``, and perhaps more of the same."""
        kind, _, rest = name.partition(":")
        parts = ":".join(self._record_id(part) for part in rest.split(":"))
        return f"{kind if kind.replace('-', '').isalpha() else self._hashed(kind)}:{parts}"

    def _handle(self, name: str) -> str:
        return name if _HANDLE.fullmatch(name) else self._hashed(name)

    def _hashed(self, text: str) -> str:
        return (
            "~"
            + hashlib.blake2s(text.encode("utf-8", "surrogatepass"), key=self._salt).hexdigest()[
                :10
            ]
        )
