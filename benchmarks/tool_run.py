"""What ``coordctl tool run x -- true`` costs on a pane that is used again, and where time goes.

Run ``python benchmarks/tool_run.py [--json] [--runs N]``: a daemon, the embedded host and a shell
of their own in a temporary workspace. The whole is what a caller in a pane waits for, start of Python
included; the steps between are the times that the run's record keeps.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import sys
from typing import Any

from coordctl.demo.stage import Stage

CALLER = """
import json, os, subprocess, sys, time
out, count = sys.argv[1], int(sys.argv[2])
rows = []
for number in range(count):
    begun = time.time()
    answer = subprocess.run(
        [sys.executable, "-m", "coordctl", "tool", "run", "bench", "--", "true"],
        stdout=subprocess.PIPE, check=True,
    )
    rows.append({"begun": begun, "ended": time.time(), "result": json.loads(answer.stdout)})
with open(out + ".new", "w") as file:
    json.dump(rows, file)
os.rename(out + ".new", out)
"""


def measure(runs: int) -> list[dict[str, Any]]:
    """The series, from a pane of a stage."""
    stage = Stage()
    try:
        pane = stage.act("pane.open", label="caller", cwd=str(stage.root))["pane_id"]
        script, out = stage.props / "caller.py", stage.props / "rows.json"
        script.write_text(CALLER)
        words = [sys.executable, str(script), str(out), str(runs + 1)]
        stage.act("pane.send", pane=pane, text=shlex.join(words), enter=True)
        stage.until("the series is over", out.exists, 600.0)
        rows: list[dict[str, Any]] = json.loads(out.read_text())
        for row in rows:
            row["record"] = stage.call("record.show", id=row["result"]["run_id"])
        return [row for row in rows if row["result"]["reused"]]
    finally:
        stage.close()


def parts(row: dict[str, Any]) -> dict[str, float]:
    """Milliseconds of each step. Records keep wall times to the millisecond."""
    state = row["record"]["state"]
    steps = {
        "start of coordctl, until the intent is saved": row["record"]["at"] - row["begun"],
        "pane found, line typed, runner started": state["started_at"] - row["record"]["at"],
        "command runs, runner reports": state["at"] - state["started_at"],
        "answer, end of coordctl": row["ended"] - state["at"],
        "whole": row["ended"] - row["begun"],
    }
    return {name: 1000 * seconds for name, seconds in steps.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=25)
    asked = parser.parse_args()
    rows = [parts(row) for row in measure(asked.runs)]
    table = {
        name: {
            "p50_ms": round(statistics.median(row[name] for row in rows), 1),
            "p95_ms": round(statistics.quantiles([row[name] for row in rows], n=20)[-1], 1),
        }
        for name in rows[0]
    }
    if asked.json:
        print(json.dumps({"runs": len(rows), "parts": table, "processors": os.cpu_count()}))
        return
    print(f"{len(rows)} runs of `true` on a reused pane; load {os.getloadavg()[0]:.1f}")
    for name, values in table.items():
        print(f"{name:48} p50 {values['p50_ms']:7.1f} ms   p95 {values['p95_ms']:7.1f} ms")


if __name__ == "__main__":
    main()
