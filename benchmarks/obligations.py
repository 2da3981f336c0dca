"""What it costs to know what is owed, whatever lies behind.

Run ``python benchmarks/obligations.py [--json] [--tasks N]``. Ten open questions among N tasks that are
over: derived through the partial indexes in one read transaction, and recomputed from all records as
`coordctl doctor` does. The first must not grow with N (limit: 5 ms at 100,000 tasks).
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import history

from coordinatord.features.obligations.table import Communication
from coordinatord.features.upkeep.table import differing
from coordinatord.store.database import Database, View

ROUNDS = 200
LIMIT_MS = 5.0


def derive(view: View) -> tuple[int, float]:
    """How many are owed, and the milliseconds on the reader's thread."""
    begun = time.perf_counter()
    found = Communication().derive(view, time.time())
    return len(found.items), (time.perf_counter() - begun) * 1000


async def run(folder: Path, tasks: int) -> dict[str, Any]:
    """Make the history, then measure."""
    path = folder / "coordinator.db"
    begun = time.perf_counter()
    await history.make(path, over=tasks, active=10, owed=10)
    made_s = time.perf_counter() - begun
    async with await Database.open(path, wall=time.time, source=random.Random()) as database:
        found = [await database.read(derive) for _ in range(ROUNDS)]
        begun = time.perf_counter()
        missing, invented = await database.read(differing, time.time())
        recomputed_s = time.perf_counter() - begun
    times = sorted(took for _, took in found)
    return {
        "tasks": tasks,
        "owed": found[0][0],
        "p50_ms": round(times[len(times) // 2], 3),
        "p95_ms": round(times[len(times) * 95 // 100], 3),
        "max_ms": round(times[-1], 3),
        "limit_ms": LIMIT_MS,
        "recomputed_s": round(recomputed_s, 2),
        "differing": len(missing) + len(invented),
        "database_mib": round(path.stat().st_size / 2**20, 1),
        "made_s": round(made_s, 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tasks", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(run, Path(folder), options.tasks)
    if options.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:14}{value}")


if __name__ == "__main__":
    main()
