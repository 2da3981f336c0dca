"""What the database keeps about delivery by events: the preference, and who was told of it.

The preference stands in ``config.toml`` (`files.py`), where a person looks for it; this copy travels in
a backup, so that a restored workspace is as quiet as the saved one was.
"""

from __future__ import annotations

from coordinatord.store.database import Transaction, View


def remember(tx: Transaction, on: bool) -> None:
    """Keep the preference beside the records."""
    _keep(tx, "events", "on" if on else "off")


def remembered(view: View) -> bool | None:
    """The preference that came with the records; None: none was ever kept."""
    kept = _kept(view, "events")
    return None if kept is None else kept == "on"


def first_start_of(tx: Transaction, version: str, on: bool) -> bool:
    """Is this the first start of this version here? Then people are told how delivery stands."""
    remember(tx, on)
    if _kept(tx, "version") == version:
        return False
    _keep(tx, "version", version)
    return True


def first_coordinator(tx: Transaction) -> bool:
    """Is this the first coordinator that was ever seated here?"""
    if _kept(tx, "events-told") is not None:
        return False
    _keep(tx, "events-told", "yes")
    return True


def _kept(view: View, key: str) -> str | None:
    row = view.row("SELECT value FROM meta WHERE key = ?", key)
    return str(row[0]) if row else None


def _keep(tx: Transaction, key: str, value: str) -> None:
    tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key, value,
    )  # fmt: skip
