"""Many seeds: ``python -m tests.simulation [--seeds N] [--steps N] [--from N]``."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from contextlib import closing
from pathlib import Path

from tests.simulation.script import Simulation, run
from tests.simulation.traced import TraceFile


def main() -> int:
    """0 if no promise was broken. A broken one is told with the command that shows it again.

    A run can be had in parts with ``--from``: a line after every hundred seeds says what is through, so that
    one that was ended can be taken up where it was.
    """
    asked = _asked()
    begun, told, races, broken = time.monotonic(), 0, 0, list[int]()
    for done, seed in enumerate(range(asked.first, asked.first + asked.seeds), start=1):
        print(f"\rseed {seed}", end="", flush=True, file=sys.stderr)
        try:
            host = _run(asked, seed).host
            told, races = told + len(host.notices), races + host.races
        except Exception:  # noqa: BLE001 - whatever it is, the other seeds are run too
            print(f"seed {seed}: {traceback.format_exc()}", flush=True)
            broken.append(seed)
        if done % 100 == 0 or done == asked.seeds:
            print(
                f"seeds {asked.first} to {seed}: {done * asked.steps} steps, {told} debts told "
                f"({races} texts met a pane that changed meanwhile), {time.monotonic() - begun:.0f} s: "
                + (f"broken by {broken}" if broken else "nothing broken"),
                flush=True,
            )
    return 1 if broken else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--kill-at", type=int, help="the only fault: die at this step")
    parser.add_argument(
        "--trace", type=Path, help="write what the last seed's daemon saw and decided"
    )
    return parser.parse_args()


def _run(asked: argparse.Namespace, seed: int) -> Simulation:
    if asked.trace is None:
        return run(seed, asked.steps, asked.kill_at)
    with closing(TraceFile(asked.trace)) as trace:
        return run(seed, asked.steps, asked.kill_at, trace)


if __name__ == "__main__":
    sys.exit(main())
