"""Many seeds: ``python -m tests.simulation [--seeds N] [--steps N] [--from N]``."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path

from tests.simulation.script import Simulation, run
from tests.simulation.traced import TraceFile


def main() -> int:
    """0 if no promise was broken. A broken one raises, and the error says how it is seen again.

    Runs can be told apart by ``--from``: a line on standard output after every hundred seeds says what is
    through, so that a run that was ended can be taken up where it was.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--kill-at", type=int, help="the only fault: die at this step")
    parser.add_argument(
        "--trace", type=Path, help="write what the last seed's daemon saw and decided"
    )
    asked = parser.parse_args()
    begun, told, races = time.monotonic(), 0, 0
    for done, seed in enumerate(range(asked.first, asked.first + asked.seeds), start=1):
        print(f"\rseed {seed}", end="", flush=True, file=sys.stderr)
        simulation = _run(asked, seed)
        told += len(simulation.host.notices)
        races += simulation.host.races
        if done % 100 == 0 or done == asked.seeds:
            spent = time.monotonic() - begun
            print(
                f"seeds {asked.first} to {seed}: {done * asked.steps} steps, {told} debts told "
                f"({races} texts met a pane that changed meanwhile), {spent:.0f} s: nothing broken",
                flush=True,
            )
    return 0


def _run(asked: argparse.Namespace, seed: int) -> Simulation:
    if asked.trace is None:
        return run(seed, asked.steps, asked.kill_at)
    with closing(TraceFile(asked.trace)) as trace:
        return run(seed, asked.steps, asked.kill_at, trace)


if __name__ == "__main__":
    sys.exit(main())
