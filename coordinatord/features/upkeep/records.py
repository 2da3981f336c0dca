"""What upkeep answers."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from coordinatord.ids import TaskId

Check = Literal[
    "store-integrity",
    "records-readable",
    "obligations",
    "file-modes",
    "terminal-host",
    "seats",
    "clock",
    "leftovers",
]
Level = Literal["good", "fixed", "bad"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. ``reason`` is a word, ``subject`` what it is about, ``remedy`` a
    command, or what a person does where none can."""

    id: Check
    level: Level
    subject: str = ""
    reason: str = ""
    remedy: str = ""
    fixable: bool = False


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was written and read again. ``seq`` is the last line of the journal in it."""

    path: str
    bytes: int
    seq: int
    at: float
    tasks: int


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """One record as it is stored, and the table that it stands in."""

    id: str
    table: str
    record: Any


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the export. ``next`` is what to ask for the following part with; None: it was the last."""

    items: list[Exported]
    next: str | None = None
    incomplete: bool = False
    unreadable: list[str] = []


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """Archived tasks that were removed, or would be; ``kept`` were old enough and stay for now.

    ``others`` counts what else is over and as old: messages, tool runs, seats of panes that are gone, lines
    of the journal and attempts that tell of nothing that is still there. ``more`` waits for another call.
    """

    tasks: list[TaskId]
    kept: int
    removed: bool
    others: dict[str, int] = {}
    more: bool = False
