"""A short folder of our own: socket paths have room for 103 bytes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinatord.sockets import lock as locks


@pytest.fixture
def short() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="c-", dir="/tmp")).resolve()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def lock(short: Path) -> Iterator[locks.Lock]:
    held = locks.acquire(short / "lock")
    yield held
    held.release()
