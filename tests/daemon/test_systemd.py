"""The service manager's side is played by a real datagram socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import anyio
import anyio.abc
import pytest

from coordinatord.daemon import systemd


class Manager:
    """A service manager that keeps what it hears."""

    def __init__(self, address: str) -> None:
        self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._channel.bind("\0" + address[1:] if address[0] == "@" else address)
        self._channel.setblocking(False)
        self.environ = {"NOTIFY_SOCKET": address}

    def heard(self) -> list[str]:
        lines: list[str] = []
        while True:
            try:
                lines += self._channel.recv(4096).decode().split("\n")
            except BlockingIOError:
                return lines

    async def next(self) -> str:
        await anyio.wait_readable(self._channel)
        return self._channel.recv(4096).decode()

    def close(self) -> None:
        self._channel.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    abstract = f"@coordinatord-{os.getpid()}-{tmp_path.name}"  # others run the same tests beside us
    address = str(tmp_path / "notify") if request.param == "path" else abstract
    listening = Manager(address)
    yield listening
    listening.close()


def test_ready_and_stopping_are_heard(manager: Manager) -> None:
    notifier = systemd.Notifier(manager.environ, os.getpid())
    notifier.ready("3 seats")
    notifier.extend(1.5)
    notifier.stopping()
    assert manager.heard() == [
        "READY=1", "STATUS=3 seats", "EXTEND_TIMEOUT_USEC=1500000", "STOPPING=1",
    ]  # fmt: skip


def test_without_a_manager_nothing_is_said(tmp_path: Path) -> None:
    systemd.Notifier({}, 1).ready()
    systemd.Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}, 1).ready()


def test_a_manager_that_does_not_read_holds_nothing_up(manager: Manager) -> None:
    notifier = systemd.Notifier(manager.environ, os.getpid())
    for _ in range(2000):
        notifier.ready()
    assert 0 < len(manager.heard()) < 2000


async def test_the_watchdog_is_fed_while_there_is_progress(manager: Manager) -> None:
    """G-11: a daemon that hangs is found out although its event loop still turns."""
    notifier = systemd.Notifier(manager.environ | {"WATCHDOG_USEC": "20000"}, os.getpid())
    steps = count()
    hanging = anyio.Event()
    asked_while_hanging = 0
    enough = anyio.Event()

    def progress() -> int:
        nonlocal asked_while_hanging
        if not hanging.is_set():
            return next(steps)
        asked_while_hanging += 1
        if asked_while_hanging == 5:
            enough.set()
        return -1

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(notifier.watchdog, progress)
            assert [await manager.next() for _ in range(3)] == ["WATCHDOG=1"] * 3
            hanging.set()
            await enough.wait()
            tasks.cancel_scope.cancel()
    # those before the hang, and one for the last change
    assert manager.heard().count("WATCHDOG=1") <= next(steps) - 3 + 1


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "x"},
        {"WATCHDOG_USEC": "9", "WATCHDOG_PID": "1"},
    ],
)
async def test_nobody_watches(environ: dict[str, str]) -> None:
    with anyio.fail_after(5):
        await systemd.Notifier(environ, 42).watchdog(lambda: pytest.fail("asked for progress"))


def test_a_child_cannot_answer_in_our_place() -> None:
    manager = dict.fromkeys(
        [
            "NOTIFY_SOCKET",
            "WATCHDOG_USEC",
            "WATCHDOG_PID",
            "LISTEN_FDS",
            "LISTEN_PID",
            "LISTEN_FDNAMES",
        ],
        "1",
    )
    assert systemd.without_manager(manager | {"PATH": "/bin"}) == {"PATH": "/bin"}
