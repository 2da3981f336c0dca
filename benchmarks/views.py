"""What it costs to read, on the socket, with 10,000 tasks of history.

Run ``python benchmarks/views.py [--json] [--tasks N]``. A daemon of its own with the embedded pane host
serves a database with a past; one client calls `rundown.read` and `inbox.read` in turn (limit: 20 ms at
the 95th percentile). Size of the database and the time from start to the first answer stand beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import history

from coordinatord import locate

CALLS = 300
LIMIT_MS = 20.0
WITHIN_S = 30.0
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("rundown.read", {}),
    ("inbox.read", {"seat": "coordinator"}),
    ("daemon.status", {}),
)


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the caller's daemon or terminal host."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HERDR_", "COORDINATORD_"))
    }
    return kept | {"XDG_RUNTIME_DIR": str(folder), "HOME": str(folder), "SHELL": "/bin/sh"}


def connect(path: str) -> socket.socket:
    """Connect as soon as the daemon listens."""
    end = time.monotonic() + WITHIN_S
    while True:
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.connect(path)
        except OSError:
            stream.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.005)
        else:
            return stream


def timed(lines: Any, stream: socket.socket, method: str, params: dict[str, Any]) -> float:
    """Milliseconds from the request to its whole answer."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    begun = time.perf_counter()
    stream.sendall(line.encode() + b"\n")
    answer = json.loads(lines.readline())
    took = (time.perf_counter() - begun) * 1000
    if "error" in answer:
        raise SystemExit(answer["error"]["message"])
    return took


def spread(times: list[float]) -> dict[str, float]:
    """The usual percentiles."""
    times = sorted(times)
    return {
        "p50_ms": round(times[len(times) // 2], 2),
        "p95_ms": round(times[len(times) * 95 // 100], 2),
        "max_ms": round(times[-1], 2),
    }


def measure(root: Path, environ: dict[str, str]) -> dict[str, Any]:
    """Start the daemon and call."""
    workspace = locate.Workspace(str(root), environ)
    command = [sys.executable, "-m", "coordinatord", "-C", str(root), "--terminal", "embedded"]
    begun = time.perf_counter()
    daemon = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with connect(workspace.socket) as stream, stream.makefile("rb") as lines:
            timed(lines, stream, "daemon.status", {})
            started_s = time.perf_counter() - begun
            found: dict[str, Any] = {"started_s": round(started_s, 2), "limit_ms": LIMIT_MS}
            for method, params in METHODS:
                found[method] = spread([timed(lines, stream, method, params) for _ in range(CALLS)])
            timed(lines, stream, "daemon.stop", {"panes": True, "key": "end"})
        daemon.wait(10)
    finally:
        with contextlib.suppress(ProcessLookupError):
            daemon.kill()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--active", type=int, default=50)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="coord-views-"))
    try:
        root = folder / "work"
        root.mkdir()
        environ = environment(folder)
        workspace = locate.Workspace(str(root), environ)
        locate.make(workspace)
        database = Path(workspace.file("coordinator.db"))
        make = {"over": options.tasks, "active": options.active, "owed": 20}
        anyio.run(lambda: history.make(database, **make))
        found = {"tasks": options.tasks, "active": options.active}
        found["database_mib"] = round(database.stat().st_size / 2**20, 1)
        found |= measure(root, environ)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:14}{value}")


if __name__ == "__main__":
    main()
