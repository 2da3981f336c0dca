"""G-7: somebody else holds the database. Waits are scaled: 3 s stay, 60 s are a little over the bound."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from coordctl.demo.stage import Stage
from coordctl.failures import Failure
from tests.stories.bench import Fake, wait_answering

LONG_S = 60.0 if os.environ.get("CASES_SCALE") == "1" else 12.0
"""The daemon refuses after 8 s."""


@contextmanager
def held(stage: Stage) -> Iterator[None]:
    """An `sqlite3` shell in ``BEGIN EXCLUSIVE``."""
    holder = sqlite3.connect(stage.root / ".coordinatord" / "coordinator.db", timeout=10)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        holder.rollback()
        holder.close()


def test_a_short_hold_only_takes_time(stage: Stage) -> None:
    """G-7: for 3 s calls take longer; nothing is lost, no error reaches anybody."""
    fake = Fake(stage)
    fake.order("busy", s=2)
    stage.until("busy", lambda: fake.status == "working")
    first = fake.send("before")
    with held(stage):
        took = wait_answering(stage, 3)
    assert took[len(took) * 99 // 100 - 1] < 1.0
    second = fake.send("after")
    fake.until_submitted(first)
    fake.until_submitted(second)
    assert len(fake.notes("submit")) == 2


def test_a_long_hold_is_refused_in_bounded_time(stage: Stage) -> None:
    """G-7: *store busy, not accepted*; status is answered all along; it recovers by itself."""
    fake = Fake(stage)
    fake.order("busy", s=2)
    stage.until("busy", lambda: fake.status == "working")
    first = fake.send("before")
    with held(stage):
        ends = time.monotonic() + LONG_S
        with pytest.raises(Failure) as refusal:
            fake.send("not accepted")
        assert refusal.value.reason == "store-busy"
        wait_answering(stage, max(0.5, ends - time.monotonic()))
    fake.until_submitted(first)
    fake.until_submitted(fake.send("after"))
    assert len(fake.notes("submit")) == 2
    log = (stage.root / ".coordinatord" / "daemon.log").read_text(encoding="utf-8")
    assert log.count("database is locked") <= 1
    assert "Traceback" not in log
