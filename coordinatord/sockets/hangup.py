"""Notices that a client is gone while nothing is read from it."""

from __future__ import annotations

import select
import socket

import anyio


async def gone(connection: socket.socket) -> None:
    """Return once the other end is closed in both directions; half-closed is not gone.

    A client may close its sending side and wait for answers (``socat`` does). Where there is no
    epoll this waits for ever, and a gone client is noticed by the next thing that is sent to it.
    """
    if not hasattr(select, "epoll"):
        await anyio.sleep_forever()
    with select.epoll() as watch:
        watch.register(connection.fileno(), 0)  # no mask: only a hang-up or an error is reported
        await anyio.wait_readable(watch.fileno())
