"""Many seeds: ``python -m tests.simulation [--seeds N] [--steps N] [--from N]``."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.simulation.script import run


def main() -> int:
    """0 if no promise was broken; the first broken one is printed with its seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    asked = parser.parse_args()
    begun, told = time.monotonic(), 0
    for seed in range(asked.first, asked.first + asked.seeds):
        try:
            told += len(run(seed, asked.steps).host.notices)
        except BaseException:
            traceback.print_exc()
            print(f"seed {seed}, {asked.steps} steps: broken")
            return 1
    spent = time.monotonic() - begun
    print(
        f"{asked.seeds} seeds, {asked.seeds * asked.steps} steps, {told} debts told, {spent:.0f} s: no broken promise"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
