"""A socket to answer on, bound outside the event loop as the daemon binds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinatord.sockets import bind, lock


@pytest.fixture
def bound(runtime_base: Path) -> Iterator[bind.BoundSocket]:
    """At a short, private path."""
    held = lock.acquire(runtime_base / "lock")
    socket = bind.bind(runtime_base / "a.sock", held)
    yield socket
    socket.remove()
    socket.sock.close()
    held.release()
