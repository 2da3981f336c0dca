"""Turns what is told of a decision into a line without words: a pure step that everything passes.

Ids, states, times and counts stay. Names that people choose, folders, tokens and arguments are left out; what
only has to be told apart (conversations, machines) becomes a hash that is salted for each recording.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from coordinatord.features.delivery.pacing import Decided, Due, Recipient, Resting, Waiting
from coordinatord.features.delivery.records import Attempt
from coordinatord.features.panes.judgement import Judgement
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
)
from coordinatord.features.trace.masking import mask_screen
from coordinatord.features.trace.nameless import Nameless
from coordinatord.features.trace.told import Called, Changed, Heard
from coordinatord.features.typing.records import Held, Looked
from coordinatord.ids import SeatId
from coordinatord.kinds import AgentKind
from coordinatord.terminals.port import (
    LookAround,
    LookAt,
    Sighting,
    StreamDown,
    StreamUp,
)

_NAMED: Final = re.compile(r"\[(?:coord|msg) ([a-z]-[0-9a-z]{8})\b")


class Concealer:
    """Makes lines. It belongs to one recording, whose salt it has."""

    def __init__(self, kinds: Mapping[str, AgentKind], salt: bytes) -> None:
        self._kinds = kinds
        self._without = Nameless(kinds, salt)

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
                return EventLine(at=at, event="look-at", pane=self._without.pane(pane))

    def _call(self, fact: Called, at: float) -> CallLine:
        named = _NAMED.match(fact.text or "")
        return CallLine(
            at=at,
            method=fact.method,
            took_s=round(fact.took_s, 4),
            pane=None if fact.pane is None else self._without.pane(fact.pane),
            failed=fact.failed and self._without.failure(fact.failed),
            panes=[self._without.sighting(each) for each in fact.panes],
            attempt=named[1] if named else None,
            characters=None if fact.text is None else len(fact.text),
        )

    def _judgement(self, fact: Judgement, at: float) -> JudgementLine:
        return JudgementLine(
            at=at,
            seat=self._without.seat(fact.seat),
            recorded=fact.recorded and self._without.occupant(fact.recorded),
            where=self._without.where(fact.seen),
            shell=fact.shell and self._without.process(fact.shell),
            outcome=fact.outcome,
        )

    def _look(self, fact: Looked, at: float) -> LookLine:
        agent = fact.seen.agent if isinstance(fact.seen, Sighting) else None
        masked = None
        if fact.screen and fact.reading is not None:  # empty: it could not be read
            masked = mask_screen(self._kinds.get(agent or ""), fact.screen, fact.reading)
        return LookLine(
            at=at,
            where=self._without.where(fact.seen),
            outcome=fact.outcome,
            foreground=fact.foreground and self._without.foreground(fact.foreground),
            screen=masked.text if masked else None,
            reading=masked.reading if masked else None,
            unlike=masked.unlike if masked else False,
            verdict=fact.verdict.reason if isinstance(fact.verdict, Held) else "clear",
        )

    def _decision(self, fact: Decided) -> DecisionLine:
        considered = self._considered(fact.recipient)
        match fact.decision:
            case Due(items=items):
                ids = tuple(self._without.debt(item.id) for item in items)
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
            seat=self._without.seat(recipient.seat),
            items=tuple(
                replace(
                    item,
                    id=self._without.debt(item.id),
                    record=self._without.record_id(item.record),
                    to=self._without.seat(item.to),
                    task=item.task and self._without.record_id(item.task),
                )
                for item in recipient.items
            ),
            told={
                self._without.debt(key): replace(
                    each,
                    obligation=self._without.debt(each.obligation),
                    seat=self._without.seat(each.seat),
                )
                for key, each in recipient.told.items()
            },
            where=self._without.where(recipient.seen),
            held=recipient.held.reason if recipient.held else None,
            behind=tuple(sorted(self._without.debt(each) for each in recipient.behind)),
            **{name: getattr(recipient, name) for name in PLAIN},
        )

    def _record(self, fact: Changed) -> RecordLine:
        return RecordLine(
            at=fact.at,
            seq=fact.seq,
            kind=fact.kind,
            id=self._without.record_id(fact.id),
            task=fact.task and self._without.record_id(fact.task),
            seat=fact.seat and self._without.seat(SeatId(fact.seat)),
        )

    def _attempt(self, fact: Attempt, at: float) -> AttemptLine:
        return AttemptLine(
            at=at,
            id=fact.id,
            seat=self._without.seat(fact.seat),
            binding=fact.binding,
            pane=fact.pane and self._without.pane(fact.pane),
            obligations=tuple(self._without.debt(each) for each in fact.obligations),
            stage=fact.stage,
            stranded=fact.stranded,
        )
