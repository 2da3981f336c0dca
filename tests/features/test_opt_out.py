"""Who switched delivery by events off keeps it off: over a restart, and in a workspace from a backup."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import anyio

from coordinatord.features.delivery import run_switch
from coordinatord.features.delivery.requests import DisableDelivery, EnableDelivery
from coordinatord.store.database import Database
from tests.house import living


def _restored(root: Path, backup: Path) -> dict[str, Any]:
    root.mkdir()
    environ = os.environ | {"XDG_RUNTIME_DIR": str(root)}
    command = [sys.executable, "-m", "coordctl", "-C", str(root), "restore", str(backup)]
    subprocess.run(command, env=environ, check=True, capture_output=True, timeout=30)
    config = root / ".coordinatord" / "config.toml"
    return tomllib.loads(config.read_text()) if config.exists() else {}


async def restored(root: Path, backup: Path) -> dict[str, Any]:
    """The configuration of a workspace that is filled from that file."""
    return await anyio.to_thread.run_sync(_restored, root, backup)


async def test_the_opt_out_comes_back_with_a_backup(tmp_path: Path) -> None:
    """C-34, coordination §4.2: a restored workspace pushes nothing that the saved one did not push."""
    saved = tmp_path / "saved"
    saved.mkdir()
    async with living(saved) as house:
        await house.call(DisableDelivery())
    config = await restored(tmp_path / "off", saved / "coordinator.db")
    assert config["delivery"] == {"events": False}
    async with living(saved) as house:
        await house.call(EnableDelivery())
    assert "delivery" not in await restored(tmp_path / "on", saved / "coordinator.db")


async def test_each_version_says_once_how_delivery_stands(tmp_path: Path) -> None:
    """Coordination §4.2: the first start after an upgrade says it; a preference from the file is kept."""
    path = tmp_path / "coordinator.db"
    async with await Database.open(path, wall=lambda: 1.0, source=random.Random(1)) as database:
        assert await database.read(run_switch.remembered) is None
        assert await database.write(run_switch.first_start_of, "1.0", True)
        assert not await database.write(run_switch.first_start_of, "1.0", False)
        assert await database.read(run_switch.remembered) is False
        assert await database.write(run_switch.first_start_of, "1.1", False)
