"""What every test has: both event loops, and an alarm for blocking calls on asyncio's."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from blockbuster import BlockBuster

# a shell starts background jobs with SIGINT ignored, and what tests start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)

MAY_BLOCK: Final = [
    # a log line goes to the page cache; a queue would lose the last ones before a crash
    ("coordinatord/daemon/log_file.py", {"write"}),
    # /proc is the kernel's memory, and what is in front must be known at once
    ("coordinatord/panehost/foreground.py", {"group_members", "session_members"}),
]
"""Where our code may block the event loop, each with its reason."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Every async test runs on both event loops."""
    return str(request.param)


@pytest.fixture(scope="session")
def _alarm() -> BlockBuster:
    alarm = BlockBuster("coordinatord")
    for name, call in alarm.functions.items():
        if name.startswith(("io.", "os.")):
            call.can_block_predicate = partial(_is_harmless, call.can_block_predicate)
        for filename, functions in MAY_BLOCK:
            call.can_block_in(filename, functions)
    return alarm


def _is_harmless(otherwise: Callable[..., bool], *arguments: Any, **named: Any) -> bool:
    """The kernel answers /proc from memory, and facts about a process must be taken at once."""
    subject = arguments[0] if arguments else None
    path = str(getattr(subject, "name", subject))
    return path.startswith("/proc") or otherwise(*arguments, **named)


@pytest.fixture(autouse=True)
def blockbuster(request: pytest.FixtureRequest, _alarm: BlockBuster) -> Iterator[None]:
    """On asyncio, a call of our package that blocks the event loop fails the test."""
    if "anyio_backend" not in request.fixturenames or "trio" in str(request.node.callspec.params):
        yield
        return
    _alarm.activate()
    yield
    _alarm.deactivate()


@pytest.fixture
def runtime_base() -> Iterator[Path]:
    """Stands in for ``$XDG_RUNTIME_DIR``: private, and short enough for the paths of sockets."""
    folder = Path(tempfile.mkdtemp(prefix="c-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
