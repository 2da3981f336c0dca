"""Remembers why seats are not told, and writes only what is news."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from coordinatord.errors import Refused
from coordinatord.features.delivery import table
from coordinatord.features.delivery.records import Hold, HoldRecord
from coordinatord.ids import SeatId
from coordinatord.store.database import PASSING, Database, Transaction

Reason: TypeAlias = tuple[Hold, str | None]
"""Why a seat is not told now, and a bounded detail without prose."""


class Holds:
    """The holds in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def remember(
        self,
        waiting: Mapping[SeatId, Reason],
        free: Iterable[SeatId] = (),
        known: Mapping[SeatId, HoldRecord] | None = None,
    ) -> bool:
        """Store who waits and why, and who is held no more; ``known`` is what stands there already.
        False: there was nothing to store."""
        news = {
            seat: reason
            for seat, reason in waiting.items()
            if known is None or _differs(known.get(seat), reason)
        }
        free = [seat for seat in free if seat not in waiting]
        if news or free:
            await self._database.write(_store, news, free)
        return bool(news or free)


@contextmanager
def suppress_passing() -> Iterator[None]:
    """Go on without what the store does not take now."""
    try:
        yield
    except Refused as error:
        if error.reason not in PASSING:
            raise


def _differs(known: HoldRecord | None, reason: Reason) -> bool:
    return known is None or (known.reason, known.detail) != reason


def _store(tx: Transaction, news: Mapping[SeatId, Reason], free: Iterable[SeatId]) -> None:
    for seat in free:
        table.release(tx, seat)
    for seat, (reason, detail) in news.items():
        table.hold(tx, seat, reason, detail)
