"""From an agent's idle event on the socket to the prompt request in the host's hands.

Run ``python benchmarks/delivery.py [--json] [--over N …]``. A daemon's parts on a real database and a
real socket to a host that only answers (`delivery_host.py`, a process of its own): 100 tasks, 67 active, each
worker owed an answer; one after the other becomes idle. Shown is the time beyond the host's own answers
(limits: p50 5 ms, p95 15 ms), with nothing and with 20,000 closed tasks in the past: they must not matter.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import history

from coordinatord import kinds
from coordinatord.clock import SystemClock
from coordinatord.daemon.ground import Ground
from coordinatord.daemon.parts import Parts
from coordinatord.daemon.settings import Settings
from coordinatord.features.launches.run import Surroundings
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table as questions
from coordinatord.features.tasks import table as tasks
from coordinatord.features.views.methods import Running
from coordinatord.ids import COORDINATOR, PaneId, worker_of
from coordinatord.store.database import Database, Transaction
from coordinatord.terminals.herdr.backend import HerdrTerminal
from coordinatord.terminals.herdr.request import ask
from coordinatord.terminals.port import Occupant

TASKS, ACTIVE = 100, 67
LIMIT_P50_MS, LIMIT_P95_MS = 5.0, 15.0
BETWEEN_S = 0.05
COMMITS = 100


def occupant(number: int) -> Occupant:
    """Who sits in the pane with this number."""
    return Occupant(terminal_id=f"term_w1:p{number}", agent="codex")


def staff(tx: Transaction) -> None:
    """A coordinator in the last pane, and an answer owed to each active worker."""
    seats.take(
        tx,
        None,
        COORDINATOR,
        "coordinator",
        pane=PaneId(f"w1:p{ACTIVE + 1}"),
        occupant=occupant(ACTIVE + 1),
    )
    for number in range(1, TASKS + 1):
        task = tasks.add(tx, history.BOSS, f"Task {number}", history.TEXT)
        worker = Caller(seat=worker_of(task.id), role="worker", proof="ancestry", task=task.id)
        if number > ACTIVE:
            tasks.archive(tx, history.BOSS, task)
            continue
        pane = PaneId(f"w1:p{number}")
        seats.take(
            tx,
            history.BOSS,
            worker.seat,
            "worker",
            pane=pane,
            occupant=occupant(number),
            task=task.id,
        )
        asked = questions.ask(tx, worker, task.id, history.TEXT)
        questions.answer(tx, history.BOSS, asked.id, "The first one.")


def ground(folder: Path, database: Database, host: str) -> Ground:
    """What the parts stand on."""
    clock, source = SystemClock(), random.Random()
    return Ground(
        database=database,
        terminal=HerdrTerminal(host, deadline=5.0, source=source, clock=clock),
        kinds=kinds.load(None),
        clock=clock,
        source=source,
        settings=Settings(),
        surroundings=Surroundings(
            root="/work", name="work", coordctl="/opt/bin/coordctl", path="/usr/bin"
        ),
        letters=folder / "messages",
        environment=lambda pid: {"HOME": str(folder)},
        running=Running(pid=1, version="0", workspace="/work", socket="/s", started_at=0.0),
        host_socket=host,
        host_kind="herdr",
        in_repository=False,
        stop=lambda panes: None,
    )


async def measure(folder: Path, database: Database, host: str) -> list[dict[str, Any]]:
    """Let every worker become idle once."""
    parts = Parts(ground(folder, database, host))
    found: list[dict[str, Any]] = []
    async with anyio.create_task_group() as group:
        for part in (
            parts.watches,
            parts.intake,
            parts.pump,
            parts.settler,
            parts.attendant,
            parts.ager,
        ):
            await group.start(part.run)
        while not parts.sightings.connected:  # noqa: ASYNC110
            await anyio.sleep(0.05)
        await anyio.sleep(1.5)  # the stream that watches all seats stands, and every hold is stored
        for number in range(1, ACTIVE + 1):
            params = {"pane_id": f"w1:p{number}"}
            found.append(json.loads(bytes(await ask(host, "bench.idle", params, deadline=60.0))))
            await anyio.sleep(BETWEEN_S)
        group.cancel_scope.cancel()
    return found


async def commit(database: Database) -> float:
    """Milliseconds of a write of next to nothing, until it is on disk: one such is on the way."""
    begun = time.perf_counter()
    await database.write(_next_to_nothing, str(begun))
    return (time.perf_counter() - begun) * 1000


def _next_to_nothing(tx: Transaction, value: str) -> None:
    tx.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('benchmark', ?)", value)


async def run(folder: Path, over: int) -> dict[str, Any]:
    """One row of the table."""
    path, host = folder / "coordinator.db", str(folder / "host.sock")
    await history.make(path, over=over, active=0, owed=0)
    command = [sys.executable, str(Path(__file__).with_name("delivery_host.py")), host]
    command += [str(ACTIVE + 1)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet) as process:  # noqa: ASYNC220
        assert process.stdout is not None
        process.stdout.readline()
        try:
            async with await Database.open(
                path, wall=time.time, source=random.Random()
            ) as database:
                await database.write(staff)
                found = await measure(folder, database, host)
                commits = sorted([await commit(database) for _ in range(COMMITS)])
        finally:
            process.kill()
    beyond = sorted(each["took_ms"] - each["host_ms"] for each in found)
    return {
        "closed_tasks": over,
        "rounds": len(beyond),
        "p50_ms": round(beyond[len(beyond) // 2], 2),
        "p95_ms": round(beyond[len(beyond) * 95 // 100], 2),
        "max_ms": round(beyond[-1], 2),
        "host_p50_ms": round(sorted(each["host_ms"] for each in found)[len(found) // 2], 2),
        "commit_p50_ms": round(commits[COMMITS // 2], 2),
        "host_calls": max(each["calls"] for each in found),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--over", type=int, nargs="+", default=[0, 20_000])
    options = parser.parse_args()
    rows = []
    for over in options.over:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(anyio.run(run, Path(folder), over))
    limits = {"limit_p50_ms": LIMIT_P50_MS, "limit_p95_ms": LIMIT_P95_MS}
    if options.json:
        print(json.dumps({"rows": rows, **limits}))
        return
    print("".join(f"{name:>14}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value:>14}" for value in row.values()))
    print(f"limits: p50 {LIMIT_P50_MS} ms, p95 {LIMIT_P95_MS} ms")


if __name__ == "__main__":
    main()
