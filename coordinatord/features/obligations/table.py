"""Reads what is owed from the database, source by source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coordinatord.features.briefs import table as briefs
from coordinatord.features.messages import table as messages
from coordinatord.features.obligations import derivation
from coordinatord.features.obligations.records import Obligation, Owed, Telling
from coordinatord.features.obligations.source import Source, Speaking
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Open
from coordinatord.features.reports import table as reports
from coordinatord.features.tasks import table as tasks
from coordinatord.ids import COORDINATOR, SeatId, TaskId
from coordinatord.store.database import Transaction, View


class Communication:
    """The debts of questions, reports, reviews, briefs and messages: the features below this one."""

    kinds = frozenset(derivation.PHRASES)

    def derive(self, view: View, now: float, to: SeatId | None = None) -> Owed:
        """See `Source`."""
        asked, sent = questions.owed(view, to), messages.owed(view, now)
        filed, reviewed = reports.owed(view), reports.reviews_owed(view)
        requested = briefs.requested(view)
        of = [each.task for each in asked.items if isinstance(each.state, Open)]
        of += [record.task for found in (filed, reviewed) for record in found.items]
        parents = tasks.parents(view, of)
        # only what the index calls open is read; what the record itself says decides
        items = [
            owed
            for question in asked.items
            if (owed := derivation.from_question(question, parents.get(question.task)))
        ]
        items += (derivation.from_report(each, _to(parents, each.task)) for each in filed.items)
        items += (derivation.from_review(each, _to(parents, each.task)) for each in reviewed.items)
        items += map(derivation.from_revision, requested.items)
        items += [owed for message in sent.items if (owed := derivation.from_message(message))]
        found = (asked, filed, reviewed, requested, sent)
        return Owed(items=items, unreadable=[name for each in found for name in each.unreadable])

    def phrase(self, obligation: Obligation) -> str:
        """See `Source`."""
        return derivation.worded(derivation.PHRASES[obligation.kind], obligation)

    def reading(self, obligation: Obligation) -> str:
        """See `Source`."""
        return derivation.worded(derivation.READINGS[obligation.kind], obligation)

    def settling(self, obligation: Obligation) -> str:
        """See `Source`."""
        return derivation.worded(derivation.SETTLINGS[obligation.kind], obligation)

    def own_text(self, view: View, obligation: Obligation) -> tuple[str, str, str]:
        """See `Speaking`."""
        message = messages.message_named(view, obligation.record)
        return f"[msg {message.id}]", message.text, "[/msg]"

    def telling(self, tx: Transaction, record: str, telling: Telling) -> None:
        """See `Speaking`."""
        messages.typed(tx, record, derivation.after(telling))


def _to(parents: Mapping[TaskId, SeatId], task: TaskId) -> SeatId:
    """Whom a task reports to; the coordinator where the task itself cannot be read."""
    return parents.get(task, COORDINATOR)


class Sources:
    """All kinds of debt together; built once by the daemon."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self._by_kind = {kind: source for source in sources for kind in source.kinds}
        self._speaking = {
            kind: source for kind, source in self._by_kind.items() if isinstance(source, Speaking)
        }

    def owed(self, view: View, now: float) -> Owed:
        """Everything owed now, in the order in which it came about."""
        return self._derive(view, now, None)

    def _derive(self, view: View, now: float, to: SeatId | None) -> Owed:
        parts = [source.derive(view, now, to) for source in self._sources]
        return Owed(
            items=sorted((item for part in parts for item in part.items), key=lambda o: o.seq),
            unreadable=[name for part in parts for name in part.unreadable],
        )

    def owed_to(self, view: View, now: float, seat: SeatId) -> Owed:
        """What one seat owes."""
        owed = self._derive(view, now, seat)
        return Owed(
            items=[item for item in owed.items if item.to == seat], unreadable=owed.unreadable
        )

    def own_text(self, view: View, obligation: Obligation) -> tuple[str, str, str]:
        """What is typed about a debt that is told alone."""
        source = self.of(obligation)
        assert isinstance(source, Speaking), f"{obligation.kind} is told alone"
        return source.own_text(view, obligation)

    def telling(self, tx: Transaction, obligation: str, telling: Telling) -> None:
        """Let the debt's source know how its attempt stands, where it wants to."""
        kind, _, record = obligation.partition(":")
        source = self._speaking.get(kind)
        if source is not None:
            source.telling(tx, record, telling)

    def of(self, obligation: Obligation) -> Source:
        """The source that knows the words for this obligation."""
        return self._by_kind[obligation.kind]


def about(owed: Iterable[Obligation], record: str) -> list[Obligation]:
    """The obligations that one record brought about."""
    return [item for item in owed if item.record == record]
