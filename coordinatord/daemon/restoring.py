"""Fills an empty workspace from a backup: without a daemon, under the workspace's lock."""

from __future__ import annotations

import random
import time
from pathlib import Path

import anyio.to_thread

from coordinatord import locate
from coordinatord.errors import Refused
from coordinatord.features.delivery.files import keep_events
from coordinatord.features.delivery.run_switch import remembered
from coordinatord.features.upkeep.table import forget_the_world
from coordinatord.sockets import lock
from coordinatord.store import admission, copying
from coordinatord.store.database import Database

BUSY_MS = 8000


async def restore(workspace: locate.Workspace, backup: str) -> Path:
    """Put the backup's records into a workspace that has none; where they are now.

    Raises:
        Refused: ``already-running``; ``wrong-state`` where there are records already;
            ``store-…`` where the backup cannot be used. Nothing was changed then.
    """
    target = Path(workspace.file("coordinator.db"))
    held = _locked(workspace)
    try:
        await anyio.to_thread.run_sync(_fill, Path(backup), target)
        source = random.SystemRandom()
        async with await Database.open(target, wall=time.time, source=source) as database:
            await database.write(forget_the_world)
            wanted = await database.read(remembered)
        if wanted is False:  # a restored workspace is as quiet as the saved one was
            keep_events(Path(workspace.file("config.toml")), False)
    finally:
        held.release()
    return target


def _fill(backup: Path, target: Path) -> None:
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
    copying.copy_to(backup, target, BUSY_MS)


def _locked(workspace: locate.Workspace) -> lock.Lock:
    try:
        return lock.acquire(Path(workspace.file("lock")))
    except lock.Held as other:
        who = "another process" if other.pid is None else f"pid {other.pid}"
        raise Refused(
            "already-running",
            f"A daemon for {workspace.root} runs: {who}.",
            "Stop it first: coordctl down",
        ) from None
