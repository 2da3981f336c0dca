"""A host with its server inside the test's own loop, a client for it, and a host process."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import msgspec

from coordinatord.panehost.connection import Connection
from coordinatord.panehost.detection import Kinds
from coordinatord.panehost.host import Host
from coordinatord.panehost.server import Server
from coordinatord.panehost.settings import Settings

KINDS = Kinds.load()


def settings(folder: Path, **changed: Any) -> Settings:
    base = {"PATH": os.environ["PATH"], "HOME": str(folder), "PS1": "$ "}
    facts: dict[str, Any] = {
        "socket": str(folder / "s"),
        "program": sys.executable,
        "base": base,
        "shell": "/bin/sh",
        "cwd": str(folder),
        "ready_floor": 0.05,
        "enter_delay": 0.05,
        "stall_after": 0.3,
    }
    return Settings(**(facts | changed))


@asynccontextmanager
async def hosting(**changed: Any) -> AsyncIterator[Host]:
    """A host without a server, in a folder of its own."""
    numbers = itertools.count(1)
    with tempfile.TemporaryDirectory(prefix="ph") as folder:
        async with anyio.create_task_group() as tasks:
            host = Host(
                settings(Path(folder), **changed),
                KINDS,
                tasks,
                time.monotonic,
                lambda: f"term_{next(numbers)}",
            )
            yield host
            with anyio.CancelScope(shield=True):
                for hosted in list(host.panes()):
                    hosted.closing = True
                    await host.end(hosted)
            tasks.cancel_scope.cancel()


class Served:
    """A served host, and how to ask it."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def connect(self) -> Connection:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.host.settings.socket)
        sock.setblocking(False)
        return Connection(sock)

    async def line(self, raw: bytes) -> Any:
        """The answer to one raw line; None if the connection ended without one."""
        async with self.connect() as connection:
            await connection.send(raw)
            answer = await connection.line()
        return None if answer is None else msgspec.json.decode(answer)

    async def ask(self, method: str, **params: object) -> Any:
        request = {"id": "1", "method": method, "params": params}
        with anyio.fail_after(10):
            answer = await self.line(msgspec.json.encode(request) + b"\n")
        return answer.get("result", answer.get("error"))

    async def subscribe(self, *subscriptions: dict[str, str]) -> Connection:
        connection = self.connect()
        params = {"subscriptions": subscriptions}
        request = {"id": "s", "method": "events.subscribe", "params": params}
        await connection.send(msgspec.json.encode(request) + b"\n")
        answer = msgspec.json.decode(await connection.line() or b"{}")
        assert answer["result"] == {"type": "subscription_started"}
        return connection


@asynccontextmanager
async def serving(**changed: Any) -> AsyncIterator[Served]:
    async with hosting(**changed) as host:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(host.settings.socket)
            listener.listen(64)
            listener.setblocking(False)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(Server(host, listener).run)
                yield Served(host)
                tasks.cancel_scope.cancel()


def host_process(folder: Path) -> subprocess.Popen[bytes]:
    flags = ["--socket", folder / "s", "--state", folder / "panehost.json", "--log", folder / "log"]
    command = [sys.executable, "-m", "coordinatord.panehost", *map(str, flags)]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def wait_for_socket(folder: Path) -> None:
    until = time.monotonic() + 30
    while not (folder / "s").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
