"""Files of the workspace: modes, what a killed program left behind, where backups go. Runs in a thread."""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.upkeep.findings import good
from coordinatord.features.upkeep.records import Finding
from coordinatord.store import journal
from coordinatord.store.connection import open_untouching
from coordinatord.store.copying import Taken, copy_to
from coordinatord.store.transaction import View

BUSY_MS: Final = 8000
_HALF_MADE: Final = ("coordinator.db.new", "coordinator.db.restoring")
_REMAINS: Final = tuple(f"{name}{rest}" for name in _HALF_MADE for rest in ("", "-wal", "-shm"))


_PRIVATE: Final = ("coordinator.db", "coordinator.db-wal", "coordinator.db-shm", "daemon.log")
_PRIVATE_FOLDERS: Final = ("backups", "messages", "runs")
"""Copies of records, texts and outputs: as private as the database."""


class Premises(msgspec.Struct, frozen=True, kw_only=True):
    """Where this workspace's files are."""

    folder: Path
    socket: Path | None = None

    @property
    def database(self) -> Path:
        """The one database."""
        return self.folder / "coordinator.db"

    @property
    def backups(self) -> Path:
        """Where backups go that are given no name."""
        return self.folder / "backups"


def restoring(database: Path) -> Path:
    """Where a backup is made ready before it takes this database's place."""
    return database.with_name(f"{database.name}.restoring")


def back_up(premises: Premises, destination: str | None, now: float) -> Path:
    """Write a backup; where it is.

    Raises:
        Refused: ``bad-params`` for a place that is not to be written, or what `copy_to` raises.
    """
    if destination is not None:
        target = _accepted(premises, destination)
        copy_to(premises.database, target, BUSY_MS)
        return target
    for target in _free(premises, now):
        with suppress(Taken):  # by another backup of this second
            copy_to(premises.database, target, BUSY_MS)
            return target
    raise Refused("store-failed", f"{premises.backups} is full of backups of this second.")


def contents(path: Path) -> tuple[int, int]:
    """What a backup holds, as it is read from it: the last line of the journal, and how many tasks."""
    connection = open_untouching(path, BUSY_MS)
    try:
        view = View(connection)
        row = view.row("SELECT count(*) FROM tasks")
        return journal.last_seq(view), int(row[0]) if row else 0
    finally:
        connection.close()


def _free(premises: Premises, now: float) -> Iterator[Path]:
    """Names that seem to be free, the plainest first."""
    premises.backups.mkdir(mode=0o700, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    for number in range(1000):
        target = premises.backups / f"coordinator-{stamp}{f'-{number}' if number else ''}.db"
        if not target.exists():
            yield target


def _accepted(premises: Premises, destination: str) -> Path:
    target = Path(destination)
    if not target.is_absolute():
        raise Refused(
            "bad-params", f"{destination!r:.200} is not an absolute path.", "Begin it with a slash."
        )
    try:
        folder = target.parent.resolve(strict=True)
    except OSError:
        raise Refused(
            "bad-params", f"The folder of {destination!r:.200} is not there.", "Make it first."
        ) from None
    own = premises.folder.resolve()
    if own in (folder, *folder.parents) and folder != premises.backups.resolve():
        raise Refused(
            "bad-params",
            f"{destination!r:.200} lies among the workspace's own files.",
            "Name a place outside .coordinatord.",
        )
    return folder / target.name


def of_records(premises: Premises, before: float) -> dict[str, list[Path]]:
    """By record, the files that hold its long text or its output and are as old as ``before``."""
    found: dict[str, list[Path]] = {}
    for folder in (premises.folder / "messages", premises.folder / "runs"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        for path in folder.iterdir():
            with suppress(OSError):  # somebody else has removed it
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_mtime <= before:
                    found.setdefault(path.name.partition(".")[0], []).append(path)
    return found


def remove(paths: Iterable[Iterable[Path]]) -> None:
    """Remove these files; one that cannot be removed stays, and the others go."""
    for path in itertools.chain.from_iterable(paths):
        with suppress(OSError):
            path.unlink()


def modes(premises: Premises, *, fix: bool) -> list[Finding]:
    """Are folder, database and socket for their owner only?"""
    wanted = [premises.folder, *(premises.folder / name for name in _PRIVATE)]
    for folder in (premises.folder / name for name in _PRIVATE_FOLDERS):
        inside = folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ()
        wanted += [folder, *inside]
    if premises.socket is not None:
        wanted += [premises.socket.parent, premises.socket]
    found = [finding for path in wanted if (finding := _mode(path, 0o077, fix))]
    return found or [good("file-modes")]


def _mode(path: Path, forbidden: int, fix: bool) -> Finding | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    foreign = status.st_uid != os.geteuid()
    if not foreign and not stat.S_IMODE(status.st_mode) & forbidden:
        return None
    mendable = not foreign and not stat.S_ISLNK(status.st_mode)
    if fix and mendable:
        path.chmod(stat.S_IMODE(status.st_mode) & ~forbidden)
    return Finding(
        id="file-modes",
        level="fixed" if fix and mendable else "bad",
        subject=str(path),
        reason="foreign" if foreign else "open-to-others",
        remedy=""
        if fix and mendable
        else "coordctl doctor --fix"
        if mendable
        else "look who made it",
        fixable=mendable,
    )


def leftovers(premises: Premises, *, fix: bool) -> list[Finding]:
    """What a program that was killed left behind, and nobody needs."""
    remains = [premises.folder / name for name in _REMAINS]
    remains += premises.backups.glob("*.partial")
    found = [_leftover(path, fix) for path in remains if path.is_file() and not path.is_symlink()]
    return found or [good("leftovers")]


def _leftover(path: Path, fix: bool) -> Finding:
    if fix:
        path.unlink(missing_ok=True)
    return Finding(
        id="leftovers",
        level="fixed" if fix else "bad",
        subject=str(path),
        reason="half-made",
        remedy="" if fix else "coordctl doctor --fix",
        fixable=True,
    )
