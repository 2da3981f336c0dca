"""What each kind of debt implements, so that delivery and views need not know the kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from coordinatord.features.obligations.records import Obligation, Owed, Telling

if TYPE_CHECKING:
    from coordinatord.ids import SeatId
    from coordinatord.store.database import Transaction, View


class Source(Protocol):
    """One kind of debt. All methods are plain functions of records."""

    kinds: frozenset[str]

    def derive(self, view: View, now: float, to: SeatId | None = None) -> Owed:
        """All that is owed of these kinds now; cost grows with what is open, not with history. ``to``: only
        what this seat owes is asked for; more does no harm."""

    def phrase(self, obligation: Obligation) -> str:
        """The notice's words for it: record ids, no prose, for example ``question q-… on t-… is open``."""

    def reading(self, obligation: Obligation) -> str:
        """The arguments of `coordctl` that show it, for example ``inbox``."""

    def settling(self, obligation: Obligation) -> str:
        """The arguments of `coordctl` that end it, for example ``answer q-… TEXT``."""


@runtime_checkable
class Speaking(Source, Protocol):
    """A source some of whose debts (``alone``) are told by a text of their own, one attempt each."""

    def own_text(self, view: View, obligation: Obligation) -> tuple[str, str, str]:
        """Head, body and tail of what is typed. The head names the record and begins with a letter or
        ``[``; the body is cleaned before it is typed, and goes by a file where it is too long."""

    def telling(self, tx: Transaction, record: str, telling: Telling) -> None:
        """An attempt to tell ``record`` has got further; in the transaction that stores it."""
