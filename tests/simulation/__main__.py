"""Many seeds: ``python -m tests.simulation [--seeds N] [--steps N] [--from N]``."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.script import run


def main() -> int:
    """0 if no promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    asked = parser.parse_args()
    begun, told = time.monotonic(), 0
    for seed in range(asked.first, asked.first + asked.seeds):
        # a broken promise raises: the last number printed is its seed
        print(f"\rseed {seed}", end="", flush=True, file=sys.stderr)
        told += len(run(seed, asked.steps).host.notices)
    spent, steps = time.monotonic() - begun, asked.seeds * asked.steps
    print(f"\n{asked.seeds} seeds, {steps} steps, {told} debts told, {spent:.0f} s: nothing broken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
