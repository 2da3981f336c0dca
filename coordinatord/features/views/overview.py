"""How tasks are ordered and how a context is kept within its bound. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from coordinatord.features.obligations.records import Obligation

_LEAST: int = 200
"""Characters that a cut text keeps at least: less says nothing."""


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """Where a task stands in the rundown: by the numbers of what is owed on it, whatever the clock says."""

    task: str
    seq: int
    decision: int | None = None
    debt: int | None = None


def ranked(tasks: Iterable[tuple[str, int]], owed: Sequence[Obligation]) -> list[Ranked]:
    """The tasks, the one with the oldest open decision first, then by their oldest debt, then by age."""
    decision: dict[str, int] = {}
    debt: dict[str, int] = {}
    for item in owed:
        if item.task is not None:
            debt[item.task] = min(item.seq, debt.get(item.task, item.seq))
            if item.weight == "decision":
                decision[item.task] = min(item.seq, decision.get(item.task, item.seq))
    found = [
        Ranked(task=task, seq=seq, decision=decision.get(task), debt=debt.get(task))
        for task, seq in tasks
    ]
    return sorted(found, key=_place)


def _place(each: Ranked) -> tuple[int, int]:
    if each.decision is not None:
        return 0, each.decision
    return (1, each.debt) if each.debt is not None else (2, each.seq)


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
