"""G-8: waits end, with the state that ended them and an exit code of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from coordctl.demo.stage import Stage
from tests.stories.bench import Fake

WITHIN_S = 15.0
"""The case allows 2 s; processes of a loaded machine take their time to start."""

ENDED, TIME_LIMIT, GONE = 0, 4, 6


class Wait:
    """`coordctl wait` in a process of its own."""

    def __init__(self, stage: Stage, seat: str, until: str, limit: str = "40s") -> None:
        words = ["-C", str(stage.root), "--json", "wait", seat, "--until", until, "--limit", limit]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "coordctl", *words],
            env=stage.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> tuple[int, dict[str, Any]]:
        """Exit code and answer, within the bound."""
        try:
            answer, errors = self._process.communicate(timeout=WITHIN_S)
        finally:
            self._process.kill()
        assert answer, errors
        return self._process.returncode, json.loads(answer)


def seat_of(fake: Fake) -> str:
    """The seat of an agent without a role, once it was addressed."""
    fake.until_submitted(fake.send("hello"))
    panes = fake.stage.call("pane.list")["items"]
    terminal = next(pane["terminal_id"] for pane in panes if pane["pane_id"] == fake.pane)
    return f"peer:{terminal}"


def working(fake: Fake) -> None:
    """Let it work until it is told otherwise."""
    fake.order("busy", s=120)
    fake.stage.until("it works", lambda: fake.status == "working")


def test_a_turn_that_ends_ends_a_wait_begun_before_and_after(stage: Stage) -> None:
    """G-8: idle and done are one goal; who begins to wait too late does not hang."""
    fake = Fake(stage)
    seat = seat_of(fake)
    fake.order("busy", s=4)
    stage.until("it works", lambda: fake.status == "working")
    early = Wait(stage, seat, "settled")
    code, answer = early.end()
    assert (code, answer["over"]) == (ENDED, True)
    assert answer["state"] in ("idle", "done")
    code, answer = Wait(stage, seat, "settled").end()
    assert (code, answer["over"]) == (ENDED, True)


def test_a_dialog_needs_me(stage: Stage) -> None:
    """G-8: working → dialog ends the wait for it, and not the one for a settled agent."""
    fake = Fake(stage)
    seat = seat_of(fake)
    working(fake)
    needed, settled = Wait(stage, seat, "needs-me"), Wait(stage, seat, "settled", "3s")
    fake.order("dialog")
    code, answer = needed.end()
    assert (code, answer["state"]) == (ENDED, "blocked")
    code, answer = settled.end()
    assert (code, answer["over"]) == (TIME_LIMIT, False)


def test_an_agent_that_ends_ends_every_wait(stage: Stage) -> None:
    """G-8: gone has its own exit code, whatever was waited for, also when it is gone already."""
    fake = Fake(stage)
    seat = seat_of(fake)
    working(fake)
    waits = [Wait(stage, seat, until) for until in ("settled", "settled", "needs-me", "gone")]
    fake.order("exit", rc=0)
    for wait in [*waits, Wait(stage, seat, "settled")]:
        code, answer = wait.end()
        assert (code, answer["over"], answer["state"]) == (GONE, True, "gone")


def test_a_restart_of_the_daemon_ends_no_wait(stage: Stage) -> None:
    """G-8: the wait goes on with the next daemon, and ends by what it waits for."""
    fake = Fake(stage)
    seat = seat_of(fake)
    working(fake)
    wait = Wait(stage, seat, "needs-me")
    stage.kill_daemon()
    stage.until("the next daemon sees the host", stage.connected)
    fake.order("dialog")
    code, answer = wait.end()
    assert (code, answer["state"]) == (ENDED, "blocked")


def test_a_time_limit_has_its_own_exit_code(stage: Stage) -> None:
    """G-8: nothing happened; that is told, with the state that was seen."""
    fake = Fake(stage)
    seat = seat_of(fake)
    working(fake)
    code, answer = Wait(stage, seat, "settled", "1s").end()
    assert (code, answer["over"], answer["state"]) == (TIME_LIMIT, False, "working")
