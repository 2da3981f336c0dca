"""Fills an empty workspace from a backup: without a daemon, under the workspace's lock."""

from __future__ import annotations

import random
import time
from pathlib import Path

import anyio.to_thread

from coordinatord import locate
from coordinatord.daemon import instance
from coordinatord.errors import Refused
from coordinatord.features.delivery.files import keep_events
from coordinatord.features.delivery.run_switch import remembered
from coordinatord.features.upkeep import files
from coordinatord.features.upkeep.table import forget_the_world
from coordinatord.store import admission, copying
from coordinatord.store.database import Database
from coordinatord.store.migrate import sync

BUSY_MS = 8000


async def restore(workspace: locate.Workspace, backup: str) -> Path:
    """Put the backup's records into a workspace that has none; where they are now.

    Raises:
        Refused: ``already-running``; ``wrong-state`` where there are records already;
            ``store-…`` where the backup cannot be used. Nothing was changed then.
    """
    target = Path(workspace.file("coordinator.db"))
    held = instance.only_one(workspace)
    try:
        await anyio.to_thread.run_sync(_check, Path(backup), target)
        fresh = files.restoring(target)
        try:
            await _prepare(Path(backup), fresh, Path(workspace.file("config.toml")))
            # in one step, and only now: whoever is killed before leaves no records that seem to be lived in
            await anyio.to_thread.run_sync(_put_in_place, fresh, target)
        finally:
            await anyio.to_thread.run_sync(_clear, fresh)
    finally:
        held.release()
    return target


async def _prepare(backup: Path, fresh: Path, config: Path) -> None:
    await anyio.to_thread.run_sync(_clear, fresh)
    await anyio.to_thread.run_sync(copying.copy_to, backup, fresh, BUSY_MS)
    source = random.SystemRandom()
    async with await Database.open(fresh, wall=time.time, source=source) as database:
        await database.write(forget_the_world)
        wanted = await database.read(remembered)
    if wanted is False:  # a restored workspace is as quiet as the saved one was
        await anyio.to_thread.run_sync(keep_events, config, False)


def _check(backup: Path, target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise Refused(
            "wrong-state",
            f"{target} is there: only a workspace without records can be restored into.",
            "Move it away with its -wal file, or restore into another folder: -C DIR",
        )
    if not backup.is_file():
        raise Refused("bad-params", f"There is no backup {backup}.", "Name the file itself.")
    admission.check_absent(target)
    copying.verify(backup, BUSY_MS)


def _put_in_place(fresh: Path, target: Path) -> None:
    fresh.rename(target)
    sync(target.parent)


def _clear(fresh: Path) -> None:
    for path in (
        fresh,
        *(Path(f"{fresh}{suffix}") for suffix in admission.LOGS),
        Path(f"{fresh}-shm"),
    ):
        path.unlink(missing_ok=True)
