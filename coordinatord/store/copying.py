"""A whole database, written to another file at one moment and read again there.

The source is read in one read transaction: writers go on, and the copy holds exactly what was committed
when it began.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from coordinatord.errors import Refused
from coordinatord.store import admission, faults
from coordinatord.store.connection import open_untouching
from coordinatord.store.migrate import Migration, shipped, sync


class Taken(Refused):
    """Something stands where the copy was to go, or another one is on its way there."""


def copy_to(source: Path, target: Path, busy_ms: int) -> None:
    """Write the database at ``source`` to the new file ``target``, mode 0600, on disk when this returns.

    Raises:
        Refused: ``store-failed`` (something stands there, or the folder cannot be written),
            ``store-full``, ``store-corrupt``, ``store-busy``: no file is left behind.
    """
    partial = target.with_name(f"{target.name}.partial")
    try:
        if target.exists() or target.is_symlink():
            raise _taken(target)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise _taken(partial) from None
    except OSError as error:
        raise faults.refusal_of_os(error, target) from error
    try:
        _copy(source, partial, busy_ms)
        verify(partial, busy_ms)
        sync(partial)
        _name(partial, target)
        sync(target.parent)
    except FileExistsError:
        raise _taken(target) from None
    except sqlite3.Error as error:
        raise faults.refusal_of(error, source) or error from error
    except OSError as error:
        raise faults.refusal_of_os(error, target) from error
    finally:
        partial.unlink(missing_ok=True)


def _name(partial: Path, target: Path) -> None:
    """Give the finished file its name, and replace nothing.

    Raises:
        FileExistsError: somebody was faster.
    """
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # some file systems, as those of memory sticks, know no links
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        partial.rename(target)


def verify(path: Path, busy_ms: int, migrations: Sequence[Migration] | None = None) -> None:
    """Look at every page of a database of ours.

    Raises:
        Refused: as `admission.check_file`; ``store-corrupt``.
    """
    newest = len(shipped() if migrations is None else migrations)
    try:
        admission.check_file(path, newest, busy_ms, looked_through=math.inf)
    except sqlite3.Error as error:
        raise faults.refusal_of(error, path) or error from error


def _copy(source: Path, partial: Path, busy_ms: int) -> None:
    connection = open_untouching(source, busy_ms)
    try:
        connection.execute("VACUUM INTO ?", (str(partial),))
    finally:
        connection.close()


def _taken(target: Path) -> Taken:
    return Taken(
        "store-failed", f"{target} is there already; it was not changed.", "Name a new file."
    )
