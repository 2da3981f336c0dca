"""What a flooding pane costs: throughput, the wait of other panes' readers, memory.

Run ``python benchmarks/emulator.py``; ``--json FILE`` writes the figures there. Everything goes
through real pseudo-terminals and `Pane.run`, on asyncio. Rates are medians of `REPEATS` runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import platform
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.to_thread
import psutil
from rich.console import Console
from rich.table import Table

from coordinatord.panehost.pane import Pane
from coordinatord.panehost.pty import Pty
from coordinatord.panehost.screen import WIDEST_KEPT, Screen

MEGABYTE: Final = 1_000_000
REPEATS: Final = 3
READS: Final = 200
READ_PAUSE_S: Final = 0.005
"""Between two reads of the quiet pane: a client that polls hard."""
PANES_HELD: Final = 6

Figure = tuple[str, float, str, str]
"""Name, value, unit, target."""


def ascii_lines() -> Iterator[bytes]:
    """Output like a build's: lines of 76 characters."""
    number = 0
    while True:
        number += 1
        yield b"%07d compiling module number %07d of a program with many of them ......\n" % (
            number,
            number,
        )


def coloured_lines() -> Iterator[bytes]:
    """Output like a test run's: three colours in a line."""
    for line in ascii_lines():
        yield (
            b"\x1b[1;32m"
            + line[:8]
            + b"\x1b[0m"
            + line[8:30]
            + b"\x1b[38;5;208m"
            + line[30:-1]
            + (b"\x1b[0m\n")
        )


def wide_lines() -> Iterator[bytes]:
    """Output in a script of wide characters."""
    while True:
        yield "漢字かな交じり文の出力をたくさん書く行です。\n".encode()


def short_lines() -> Iterator[bytes]:
    """The worst case: as many lines as there can be."""
    while True:
        yield b"y\n"


def prepared(folder: Path, lines: Callable[[], Iterator[bytes]], size: int) -> Path:
    """A file of that output, at least ``size`` bytes long."""
    path = folder / lines.__name__
    with path.open("wb") as file:
        source = lines()
        while file.tell() < size:
            file.write(b"".join(next(source) for _ in range(1000)))
    return path


def pane_of(*argv: str, columns: int = 80) -> Pane:
    """A pane that nobody listens to."""
    return Pane.spawn(
        argv=argv,
        cwd="/",
        env={"PATH": os.environ["PATH"], "TERM": "xterm-256color"},
        columns=columns,
        rows=40,
        on_output=lambda: None,
        on_exit=lambda _: None,
    )


async def flood_rates(path: Path) -> tuple[float, float]:
    """Megabytes from ``cat`` of the file to the screen: per second, and per second of our CPU time.

    Counted as they leave the terminal, where a line ends in two bytes.
    """
    content = await anyio.Path(path).read_bytes()
    size = (len(content) + content.count(b"\n")) / MEGABYTE
    by_clock, by_cpu = [], []
    for _ in range(REPEATS):
        began, cpu_began = time.perf_counter(), time.process_time()
        await pane_of("/bin/cat", str(path)).run()
        by_clock.append(size / (time.perf_counter() - began))
        by_cpu.append(size / (time.process_time() - cpu_began))
    return statistics.median(by_clock), statistics.median(by_cpu)


def bare_rate(path: Path) -> float:
    """Megabytes a second that the system's terminal itself gives: read, and thrown away."""
    pty = Pty.spawn(["/bin/cat", str(path)], "/", {"PATH": os.environ["PATH"]}, 80, 40)
    began, size = time.perf_counter(), 0
    while not pty.at_end:
        select.select([pty.descriptor], [], [])
        while piece := pty.read_nowait():
            size += len(piece)
    pty.close()
    pty.reap()
    return size / MEGABYTE / (time.perf_counter() - began)


async def read_waits(flood: str | None) -> list[float]:
    """Milliseconds that each read of a quiet pane took, asked for from another thread."""
    quiet = pane_of("/bin/cat")
    for number in range(6000):
        quiet.screen.feed(b"line %d of a pane with a full scrollback\r\n" % number)
    waits: list[float] = []

    def ask() -> None:
        for _ in range(READS):
            began = time.perf_counter()
            anyio.from_thread.run_sync(quiet.screen.text, "recent", 80, False)
            waits.append((time.perf_counter() - began) * 1000)
            time.sleep(READ_PAUSE_S)

    noisy = [pane_of("/bin/sh", "-c", flood)] if flood else []
    async with anyio.create_task_group() as tasks:
        for pane in (quiet, *noisy):
            tasks.start_soon(pane.run)
        await anyio.to_thread.run_sync(ask)
        for pane in (quiet, *noisy):
            await pane.close()
    return waits


class HostProcess:
    """The embedded host as it runs: a process of its own behind its socket."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "host.sock")
        command = [sys.executable, "-m", "coordinatord.panehost", "--socket", self._socket]
        command += ["--state", str(folder / "state.json"), "--log", str(folder / "log")]
        environment = {"PATH": os.environ["PATH"], "SHELL": "/bin/sh", "HOME": str(folder)}
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        while not os.path.exists(self._socket):
            time.sleep(0.01)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """One request on a connection of its own, as the protocol wants it."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._socket)
            request = {"id": "b", "method": method, "params": params}
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(connection.makefile("rb").readline())["result"]
        return answer

    def new_pane(self) -> str:
        """A pane with a shell."""
        return str(self.ask("workspace.create", focus=False)["root_pane"]["pane_id"])

    def close(self) -> None:
        """End it, panes and all."""
        self.ask("server.stop")
        self._process.wait()


def request_waits(folder: Path, flood: str | None) -> list[float]:
    """Milliseconds that `pane.get` of a quiet pane took while another one floods."""
    host = HostProcess(folder)
    try:
        quiet, noisy = host.new_pane(), host.new_pane()
        if flood:
            host.ask("pane.send_input", pane_id=noisy, text=flood, keys=["Enter"])
            time.sleep(0.3)
        waits = []
        for _ in range(READS):
            began = time.perf_counter()
            host.ask("pane.get", pane_id=quiet)
            waits.append((time.perf_counter() - began) * 1000)
            time.sleep(READ_PAUSE_S)
        return waits
    finally:
        host.close()


def memory_per_pane(columns: int) -> float:
    """Megabytes that a screen with full scrollback takes, each row full too."""
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    screens = [Screen(columns, 40) for _ in range(PANES_HELD)]
    for screen in screens:
        for _ in range(5200):
            screen.feed(b"x" * columns + b"\r\n")
    kept = 5000 * WIDEST_KEPT // max(WIDEST_KEPT, columns)
    assert all(screen.max_offset == kept for screen in screens)
    return (process.memory_info().rss - before) / PANES_HELD / MEGABYTE


def memory_figures() -> list[Figure]:
    """Memory for some widths, each in a fresh process."""
    with ProcessPoolExecutor(
        max_workers=1, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1
    ) as fresh:
        return [
            (
                f"memory per full pane, {columns} columns",
                fresh.submit(memory_per_pane, columns).result(),
                "MB",
                "<= 25",
            )
            for columns in (80, 120, 200, 500)
        ]


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of them lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure() -> list[Figure]:
    """All figures, in the order of the table."""
    figures = memory_figures()
    with tempfile.TemporaryDirectory() as folder:
        for lines, megabytes in (
            (ascii_lines, 40),
            (coloured_lines, 40),
            (wide_lines, 20),
            (short_lines, 10),
        ):
            path = prepared(Path(folder), lines, megabytes * MEGABYTE)
            name = lines.__name__.replace("_", " ")
            by_clock, by_cpu = await flood_rates(path)
            figures.append((f"flood of {name}", by_clock, "MB/s", ">= 10"))
            figures.append((f"flood of {name}, by CPU time", by_cpu, "MB/s", ""))
            bare = await anyio.to_thread.run_sync(bare_rate, path)
            figures.append((f"flood of {name}, thrown away", bare, "MB/s", ""))
    for name, flood in (
        ("no flood", None),
        ("a flood of numbers", "while :; do seq 1 1000000; done"),
        ("a flood of y", "yes"),
    ):
        waits = await read_waits(flood)
        figures.append((f"read of another pane, {name}, p50", percentile(waits, 0.5), "ms", ""))
        figures.append(
            (f"read of another pane, {name}, p95", percentile(waits, 0.95), "ms", "<= 20")
        )
    return figures


def request_figures() -> list[Figure]:
    """What a client of the socket sees; the loop of this process has no part in it."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        lines = prepared(Path(folder), ascii_lines, 40 * MEGABYTE)
        for number, (name, flood) in enumerate(
            (
                ("no flood", None),
                ("a flood of 40 MB", f"while :; do cat {lines}; done"),
                ("a flood of y", "yes"),
            )
        ):
            place = Path(folder) / str(number)
            place.mkdir()
            waits = request_waits(place, flood)
            figures.append(
                (f"pane.get over the socket, {name}, p50", percentile(waits, 0.5), "ms", "")
            )
            figures.append(
                (f"pane.get over the socket, {name}, p95", percentile(waits, 0.95), "ms", "<= 20")
            )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    figures = [*anyio.run(measure), *request_figures()]
    table = Table("what", "value", "unit", "target")
    for name, value, unit, target in figures:
        table.add_row(name, f"{value:.1f}", unit, target)
    Console().print(table)
    document = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "figures": [
            {"name": name, "value": round(value, 2), "unit": unit, "target": target}
            for name, value, unit, target in figures
        ],
    }
    text = json.dumps(document, indent=2)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    else:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
