"""Reads what is owed from the database, source by source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coordinatord.features.messages import table as messages
from coordinatord.features.obligations import derivation
from coordinatord.features.obligations.records import Obligation, Owed
from coordinatord.features.obligations.source import Source
from coordinatord.features.questions import table as questions
from coordinatord.features.reports import table as reports
from coordinatord.ids import SeatId
from coordinatord.store.database import View


class Communication:
    """The debts of questions, reports and messages: the features below this one."""

    kinds = frozenset(derivation.PHRASES)

    def derive(self, view: View, now: float) -> Owed:
        """See `Source`."""
        asked, filed, sent = questions.owed(view), reports.owed(view), messages.owed(view, now)
        items = [owed for question in asked.items if (owed := derivation.from_question(question))]
        items += map(derivation.from_report, filed.items)
        items += map(derivation.from_message, sent.items)
        return Owed(
            items=items, unreadable=[*asked.unreadable, *filed.unreadable, *sent.unreadable]
        )

    def phrase(self, obligation: Obligation) -> str:
        """See `Source`."""
        return derivation.worded(derivation.PHRASES[obligation.kind], obligation)

    def reading(self, obligation: Obligation) -> str:
        """See `Source`."""
        return derivation.worded(derivation.READINGS[obligation.kind], obligation)

    def settling(self, obligation: Obligation) -> str:
        """See `Source`."""
        return derivation.worded(derivation.SETTLINGS[obligation.kind], obligation)


class Sources:
    """All kinds of debt together; built once by the daemon."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self._by_kind = {kind: source for source in sources for kind in source.kinds}

    def owed(self, view: View, now: float) -> Owed:
        """Everything owed now, in the order in which it came about."""
        parts = [source.derive(view, now) for source in self._sources]
        return Owed(
            items=sorted((item for part in parts for item in part.items), key=lambda o: o.seq),
            unreadable=[name for part in parts for name in part.unreadable],
        )

    def owed_to(self, view: View, now: float, seat: SeatId) -> Owed:
        """What one seat owes."""
        owed = self.owed(view, now)
        return Owed(
            items=[item for item in owed.items if item.to == seat], unreadable=owed.unreadable
        )

    def of(self, obligation: Obligation) -> Source:
        """The source that knows the words for this obligation."""
        return self._by_kind[obligation.kind]


def about(owed: Iterable[Obligation], record: str) -> list[Obligation]:
    """The obligations that one record brought about."""
    return [item for item in owed if item.record == record]
