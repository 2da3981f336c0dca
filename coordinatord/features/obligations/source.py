"""What each kind of debt implements, so that delivery and views need not know the kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from coordinatord.features.obligations.records import Obligation, Owed

if TYPE_CHECKING:
    from coordinatord.store.database import View


class Source(Protocol):
    """One kind of debt. All methods are plain functions of records."""

    kinds: frozenset[str]

    def derive(self, view: View, now: float) -> Owed:
        """All that is owed of these kinds now; cost grows with what is open, not with history."""

    def phrase(self, obligation: Obligation) -> str:
        """The notice's words for it: record ids, no prose, for example ``question q-… on t-… is open``."""

    def reading(self, obligation: Obligation) -> str:
        """The arguments of `coordctl` that show it, for example ``inbox``."""

    def settling(self, obligation: Obligation) -> str:
        """The arguments of `coordctl` that end it, for example ``answer q-… TEXT``."""
