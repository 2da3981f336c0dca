"""Accepted writes a second, and their latency.

Run ``python benchmarks/store.py [--json] [--folder DIR]``. Each write is what a question costs: an
id, a journal line and a record of about 600 bytes, on disk when the call returns. The result
depends on how long the disk takes to sync: a bare append with a sync is measured beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec

from coordinatord.store.database import Database, Transaction, View
from coordinatord.store.records import RecordTable

CALLERS = (1, 10, 50, 200)


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """As large as a usual question."""

    id: str
    seq: int
    at: float
    task: str
    text: str


NOTES = RecordTable("notes", Note, lambda note: {"task": note.task})
TEXT = "Which of the two migrations should run first? " * 12


def record(tx: Transaction) -> str:
    """One accepted question."""
    id = tx.mint("question")
    seq = tx.journal(
        "question", id, task="t-1h6v5w0z", seat="coordinator", actor="worker:t-1h6v5w0z"
    )
    NOTES.put(tx, Note(id=id, seq=seq, at=tx.now, task="t-1h6v5w0z", text=TEXT))
    return id


def look(view: View) -> Note | None:
    """One record read by its place in the order."""
    return next(iter(NOTES.select(view, "seq = 1").items), None)


def create(tx: Transaction) -> None:
    """A table as the features have it."""
    tx.run(
        "CREATE TABLE notes (id TEXT PRIMARY KEY, seq INTEGER, body BLOB, task TEXT) WITHOUT ROWID"
    )
    tx.run("CREATE INDEX notes_order ON notes (seq)")


async def measure(call: Any, argument: Any, callers: int, seconds: float) -> dict[str, float]:
    """Call from ``callers`` tasks at once for some seconds."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def repeat() -> None:
        while (begun := time.perf_counter()) < end:
            await call(argument)
            latencies.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(callers):
            tasks.start_soon(repeat)
    took = time.perf_counter() - begun
    latencies.sort()
    return {
        "callers": callers,
        "per_second": round(len(latencies) / took),
        "p50_ms": round(latencies[len(latencies) // 2] * 1000, 3),
        "p99_ms": round(latencies[len(latencies) * 99 // 100] * 1000, 3),
        "max_ms": round(latencies[-1] * 1000, 3),
    }


def bare_syncs(folder: Path, seconds: float) -> dict[str, float]:
    """What the disk alone takes for an append of 4 KiB and an fdatasync."""
    latencies = []
    descriptor = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    end = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        os.write(descriptor, bytes(4096))
        os.fdatasync(descriptor)
        latencies.append(time.perf_counter() - begun)
    os.close(descriptor)
    latencies.sort()
    return {
        "callers": 1,
        "per_second": round(len(latencies) / sum(latencies)),
        "p50_ms": round(latencies[len(latencies) // 2] * 1000, 3),
        "p99_ms": round(latencies[len(latencies) * 99 // 100] * 1000, 3),
        "max_ms": round(latencies[-1] * 1000, 3),
    }


async def run(folder: Path, seconds: float) -> dict[str, list[dict[str, float]]]:
    """All measurements, on a database in ``folder``."""
    path = folder / "coordinator.db"
    async with await Database.open(path, wall=time.time, source=random.Random()) as database:
        await database.write(create)
        writes = [await measure(database.write, record, n, seconds) for n in CALLERS]
        reads = [await measure(database.read, look, n, seconds) for n in CALLERS[:3]]
    return {"write": writes, "read": reads, "bare sync": [bare_syncs(folder, seconds)]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--backend", choices=["asyncio", "trio"], default="asyncio")
    parser.add_argument(
        "--folder", help="where the database is made; decides which disk is measured"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = anyio.run(run, Path(folder), options.seconds, backend=options.backend)
    if options.json:
        print(json.dumps(found))
        return
    print(f"{'':10}{'callers':>8}{'per s':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}")
    for name, rows in found.items():
        for row in rows:
            print(
                f"{name:10}{row['callers']:8}{row['per_second']:9}"
                f"{row['p50_ms']:9.2f}{row['p99_ms']:9.2f}{row['max_ms']:9.2f}"
            )


if __name__ == "__main__":
    main()
