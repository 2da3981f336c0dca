"""Toy daemons that end with their test, at paths that are short enough for a socket."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.toy import Respond, Toy


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A private folder with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="c", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def toy(sockets: Path) -> Iterator[Callable[[Respond], Toy]]:
    """Starts a toy daemon at ``toy.sock``."""
    made: list[Toy] = []

    def start(respond: Respond) -> Toy:
        made.append(Toy(sockets / "toy.sock", respond))
        return made[-1]

    yield start
    for each in made:
        each.close()
