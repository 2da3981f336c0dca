"""Every event of the host is lost, and messages arrive all the same."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from coordctl.demo.stage import Stage
from tests.stories import told
from tests.stories.mute_host import MuteDoor


def test_messages_arrive_within_the_backstop_when_no_event_ever_comes(
    stage: Stage, tmp_path: Path, runtime_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-33, T-7: the subscription stands and is mute; the slow snapshot sees the idle moment."""
    socket = stage.call("daemon.status")["terminal"]["socket"]
    agent = stage.enter("agent", "--mute")
    door = MuteDoor(runtime_base / "mute.sock", socket)
    other = Stage("herdr")
    try:
        environ = {
            "COORDINATORD_HERDR_SOCKET": str(runtime_base / "mute.sock"),
            "COORDINATORD_BACKSTOP_S": "1",
        }
        other.environ.update(environ)
        agent.order("work")
        stage.until("the agent works", lambda: stage.status_of(agent) == "working")
        assert other.call("daemon.status")["terminal"]["kind"] == "herdr"
        message = other.act("message.send", to=agent.pane, text="hello")["id"]
        other.until(
            "it is held", lambda: other.call("record.why", id=message).get("held") == "busy"
        )
        # the new seat's subscription brings one more snapshot; then only the backstop is left
        other.until("the renewed stream is up", lambda: _age(other) > 2)
        agent.order("rest")
        other.until("it arrived", lambda: message in told.named(agent), 15)
        assert other.call("daemon.status")["terminal"]["events_seen"] == 0
        assert other.call("daemon.status")["terminal"]["gaps_found"] > 0
    finally:
        other.close()
        door.close()


def _age(stage: Stage) -> float:
    """Seconds since the subscription was last renewed, as far as the hold tells."""
    held = [line["at"] for line in stage.journal() if line["kind"] == "hold"]
    return time.time() - held[-1]


def test_a_host_of_another_workspace_in_the_environment_is_not_a_herdr(
    stage: Stage, runtime_base: Path
) -> None:
    """A daemon that is started inside an embedded pane starts a host of its own."""
    inner = runtime_base / "inner"
    inner.mkdir()
    out = runtime_base / "inner.json"
    script = f"cd {inner} && $COORDCTL -C {inner} up --json > {out}.part && mv {out}.part {out}"
    stage.act("pane.open", command=["env", "-u", "COORDINATORD_ROOT", "sh", "-c", script])
    stage.until("the inner daemon is up", out.exists)
    status = json.loads(out.read_text())
    try:
        mine = stage.call("daemon.status")["terminal"]
        assert status["workspace"] == os.path.realpath(inner)
        assert status["terminal"]["kind"] == "embedded"
        assert status["terminal"]["socket"] != mine["socket"]
    finally:
        other = Stage.at(inner)
        other.close()
