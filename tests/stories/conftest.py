"""A stage with real processes: the daemon, the embedded pane host, shells and scripted agents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordctl.demo.stage import Stage


@pytest.fixture
def stage(runtime_base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A workspace of its own; everything that it started is ended with it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime_base))
    for name in list(os.environ):
        if name.startswith(("HERDR_", "COORDINATORD_")):
            monkeypatch.delenv(name)
    made = Stage()
    yield made
    made.close()
