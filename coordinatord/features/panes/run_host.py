"""Names the machine that records are made on; a database that came from another one brings no seats."""

from __future__ import annotations

from coordinatord.features.panes import table
from coordinatord.store.database import Transaction


def name_host(tx: Transaction, host: str) -> int:
    """Write from now on as ``host``; how many seats were given up because they were on another machine.

    Tasks and what is owed on them stay to be seen; nothing is typed until somebody is seated here.
    """
    before = tx.host()
    if before != host:
        tx.run(
            "INSERT INTO meta (key, value) VALUES ('host', ?)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            host,
        )
        tx.journal("host", host, actor="coordinatord")
    left = [
        seat for seat in table.all_seats(tx) if seat.host and seat.host != host and not seat.vacant
    ]
    for seat in left:
        table.vacate(tx, None, seat.id)
    return len(left)
