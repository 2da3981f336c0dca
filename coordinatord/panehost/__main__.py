"""Runs the embedded pane host in the foreground: ``python -m coordinatord.panehost``.

Prints nothing; problems go to the log. Ends on SIGTERM, SIGINT, SIGHUP and ``server.stop``: the
layout is saved, all panes are hung up, the socket file is removed. Exit status 1: another host
holds the lock, or the socket cannot be bound.
"""

from __future__ import annotations

import argparse
import logging
import logging.handlers
import os
import resource
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from coordinatord.errors import Refused
from coordinatord.panehost import environment, saved
from coordinatord.panehost.detection import Kinds
from coordinatord.panehost.host import Host
from coordinatord.panehost.server import Server
from coordinatord.panehost.settings import Settings
from coordinatord.sockets.bind import BoundSocket, bind
from coordinatord.sockets.lock import Held, Lock, acquire

_LOG_SIZE: Final = 1 << 20
_DESCRIPTORS: Final = 4096
_CHECK: Final = 15.0
"""Seconds between two checks that the socket file is still ours."""
log = logging.getLogger("coordinatord.panehost")


def main() -> int:
    """Read the flags, take the lock, serve."""
    flags = _flags()
    _log_to(flags.log)
    _allow_descriptors()
    try:
        kinds = Kinds.load(flags.kinds)
        lock = acquire(flags.state.parent / "panehost.lock")
        bound = bind(flags.socket, lock)
    except Held as held:
        log.error("another host holds %s (pid %s)", held.path, held.pid)
        return 1
    except (Refused, OSError) as problem:
        log.error("cannot serve: %s", problem)
        return 1
    try:
        anyio.run(_run, flags, kinds, saved.load(flags.state), bound, lock)
    finally:
        lock.release()
    return 0


async def _run(
    flags: argparse.Namespace,
    kinds: Kinds,
    kept: saved.Saved | None,
    bound: BoundSocket,
    lock: Lock,
) -> None:
    async with anyio.create_task_group() as panes:
        host = Host(_settings(flags), kinds, panes, time.monotonic, _terminal_id)
        if kept is not None:
            saved.restore(host, kept)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, host)
            tasks.start_soon(saved.keep, host, flags.state)
            await _serve(host, bound, lock)
            tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await _end(host, flags.state)
        panes.cancel_scope.cancel()


async def _serve(host: Host, bound: BoundSocket, lock: Lock) -> None:
    """Serve, and bind again when the socket file vanished."""
    while not host.stopping.is_set():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run_server, host, bound, tasks.cancel_scope)
            while bound.in_place() and not host.stopping.is_set():
                with anyio.move_on_after(_CHECK):
                    await host.stopping.wait()
            if not host.stopping.is_set():
                tasks.cancel_scope.cancel()
        if not host.stopping.is_set():
            bound.sock.close()
            bound = bind(bound.path, lock)
    bound.remove()
    bound.sock.close()


async def _run_server(host: Host, bound: BoundSocket, scope: anyio.CancelScope) -> None:
    await Server(host, bound.sock).run()
    scope.cancel()


async def _end(host: Host, state: Path) -> None:
    content = saved.taken(host)
    try:
        saved.write(state, content)
    except OSError:
        log.exception("the layout could not be saved")
    async with anyio.create_task_group() as tasks:
        for hosted in host.panes():
            hosted.closing = True
            tasks.start_soon(host.end, hosted)


async def _stop_on_signal(host: Host) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            host.stopping.set()


def _settings(flags: argparse.Namespace) -> Settings:
    base = environment.scrubbed(os.environ)
    return Settings(
        socket=os.path.abspath(flags.socket),
        program=os.path.abspath(sys.executable),
        base=base,
        shell=environment.shell(base),
        cwd=str(flags.cwd or Path.cwd()),
        columns=flags.columns,
        rows=flags.rows,
        ready_floor=flags.ready_floor_ms / 1000 * flags.pace,
        enter_delay=0.3 * flags.pace,
        stall_after=flags.stall_ms / 1000 * flags.pace,
        resume_delay=flags.resume_delay_ms / 1000 * flags.pace,
        pace=flags.pace,
        quirks=flags.quirks,
    )


def _terminal_id() -> str:
    """Unique over restarts: a new terminal id is how clients see a new server (trap 12)."""
    return f"term_{time.time_ns() // 1000:x}{secrets.token_hex(2)}"


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="coordinatord.panehost", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="where to serve")
    parser.add_argument("--state", type=Path, required=True, help="the saved layout")
    parser.add_argument("--log", type=Path, required=True, help="rotated log file")
    parser.add_argument("--cwd", type=Path, help="where the first pane starts")
    parser.add_argument("--kinds", type=Path, help="the user's own folder of agent kinds")
    parser.add_argument("--quirks", action="store_true", help="lose and replay events as Herdr 0.8")
    parser.add_argument("--columns", type=int, default=120, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=40, help=argparse.SUPPRESS)
    parser.add_argument("--ready-floor-ms", type=int, default=3000, help=argparse.SUPPRESS)
    parser.add_argument("--stall-ms", type=int, default=5000, help=argparse.SUPPRESS)
    parser.add_argument("--resume-delay-ms", type=int, default=750, help=argparse.SUPPRESS)
    # for tests: all of the host's own times are multiplied
    parser.add_argument("--pace", type=float, default=1.0, help=argparse.SUPPRESS)
    return parser.parse_args()


def _allow_descriptors() -> None:
    """Each pane and each connection takes one; the usual soft limit is 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _log_to(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_SIZE, backupCount=2)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


if __name__ == "__main__":
    sys.exit(main())
