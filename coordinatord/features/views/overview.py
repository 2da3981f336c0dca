"""How tasks are ordered and how a context is kept within its bound. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from coordinatord.features.obligations.records import Obligation

_LEAST: int = 200
"""Characters that a cut text keeps at least: less says nothing."""


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """Where a task stands in the rundown."""

    task: str
    seq: int
    decision_since: float | None = None
    debt_since: float | None = None


def ranked(tasks: Iterable[tuple[str, int]], owed: Sequence[Obligation]) -> list[Ranked]:
    """The tasks, the one with the oldest open decision first, then by their oldest debt, then by age."""
    decision: dict[str, float] = {}
    debt: dict[str, float] = {}
    for item in owed:
        if item.task is not None:
            debt[item.task] = min(item.since, debt.get(item.task, item.since))
            if item.weight == "decision":
                decision[item.task] = min(item.since, decision.get(item.task, item.since))
    found = [
        Ranked(task=task, seq=seq, decision_since=decision.get(task), debt_since=debt.get(task))
        for task, seq in tasks
    ]
    return sorted(found, key=_place)


def _place(each: Ranked) -> tuple[int, float, int]:
    if each.decision_since is not None:
        return 0, each.decision_since, each.seq
    if each.debt_since is not None:
        return 1, each.debt_since, each.seq
    return 2, 0.0, each.seq


class Bound:
    """A budget of characters that texts are fitted into, the most important first."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        self.cut: list[str] = []
        """Names of what did not fit whole."""

    def take(self, text: str) -> str:
        """A text that is never cut; it uses the budget up all the same."""
        self._left -= len(text)
        return text

    def fit(self, name: str, text: str) -> str:
        """The beginning of a text, as far as there is room."""
        if len(text) <= self._left:
            return self.take(text)
        self._note(name)
        kept = text[: max(self._left, _LEAST)]
        self._left -= len(kept)
        return kept

    def room(self, name: str, size: int) -> bool:
        """Is there room for one more item? After the first that does not fit, for none."""
        if name in self.cut or size > self._left:
            self._note(name)
            return False
        self._left -= size
        return True

    def _note(self, name: str) -> None:
        if name not in self.cut:
            self.cut.append(name)
