"""A database in a temporary folder, and means to decide what shares a commit."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.abc import TaskGroup

from coordinatord.store.database import Database, Transaction

NOW = 1_700_000_000.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "coordinator.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    async with await Database.open(path, wall=lambda: NOW, source=random.Random(7)) as opened:
        yield opened


@pytest.fixture
async def impatient(path: Path) -> AsyncIterator[Database]:
    """A database whose calls wait only a fifth of a second for another program's lock."""
    async with await Database.open(
        path, wall=lambda: NOW, source=random.Random(7), busy_seconds=0.2
    ) as opened:
        yield opened


@contextmanager
def another_program(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program that has the same database open, as an sqlite3 shell would."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        yield connection
    finally:
        connection.close()


class Gate:
    """A write that keeps the writer's thread: what comes until it is opened shares a commit."""

    def __init__(self) -> None:
        self._held = threading.Event()
        self._open = threading.Event()

    async def close(self, database: Database, tasks: TaskGroup) -> None:
        """Return when the writer stands before the gate."""
        tasks.start_soon(database.write, self._hold)
        assert await anyio.to_thread.run_sync(self._held.wait, 5)

    def _hold(self, tx: Transaction) -> None:
        self._held.set()
        assert self._open.wait(5)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()
