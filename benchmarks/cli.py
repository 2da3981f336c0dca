"""What one cold call of `coordctl` costs, as a ratio to the bare interpreter that imports socket and json.

    python benchmarks/cli.py [--pairs N] [--json FILE]

Both commands run in turn, from start to exit, and the ratio is taken pair by pair: the machine's other work
touches both. The promise is a median of at most 1.8.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

PROMISE = 1.8


def spent(command: Sequence[str], folder: str, environ: dict[str, str]) -> float:
    """Seconds from start to exit."""
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def main() -> int:
    """0 if the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--json", metavar="FILE")
    asked = parser.parse_args()
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COORDINATORD_"))}
    bare = [sys.executable, "-I", "-S", "-c", "import socket, json"]
    coordctl = os.path.join(os.path.dirname(sys.executable), "coordctl")
    inbox = [coordctl, "inbox", "--json"]
    with tempfile.TemporaryDirectory(prefix="coord-bench-") as folder:
        subprocess.run([coordctl, "up", "--json"], cwd=folder, env=environ, check=True)
        try:
            spent(bare, folder, environ), spent(inbox, folder, environ)
            pairs = [
                (spent(bare, folder, environ), spent(inbox, folder, environ))
                for _ in range(asked.pairs)
            ]
        finally:
            subprocess.run(
                [coordctl, "down", "--panes", "--json"], cwd=folder, env=environ, check=False
            )
    figures = {
        "bare_ms": 1000 * statistics.median(first for first, _ in pairs),
        "inbox_ms": 1000 * statistics.median(second for _, second in pairs),
        "ratio": statistics.median(second / first for first, second in pairs),
        "promise": PROMISE,
    }
    for name, value in figures.items():
        print(f"{name:<10} {value:8.2f}")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(figures, file)
    return 0 if figures["ratio"] <= PROMISE else 1


if __name__ == "__main__":
    sys.exit(main())
