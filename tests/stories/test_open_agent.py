"""`coordctl pane open --agent KIND`: a pane in which an agent is up, named and can be told things."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from coordctl.demo.stage import Actor, Stage
from tests.stories import told


def coordctl(stage: Stage, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, as a person types it."""
    return subprocess.run(
        [sys.executable, "-m", "coordctl", "-C", str(stage.root), *words],
        env=stage.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_agent_is_opened_and_told(stage: Stage) -> None:
    """The kind's own command is started, ready when the command returns, and proven by its token."""
    folder = stage.props / "bin"
    folder.mkdir()
    actor = Actor(stage.props, "opened")
    program = folder / "codex"
    program.write_text(
        "#!/bin/sh\n"
        f'exec env HERDR_AGENT=codex {sys.executable} -m coordctl.demo.agent --init --name "opened" '
        f'--log "{actor.log}" --orders "{actor.orders}"\n'
    )
    program.chmod(0o755)
    stage.environ["PATH"] = f"{folder}{os.pathsep}{stage.environ['PATH']}"
    done = coordctl(stage, "pane", "open", "--agent", "codex", "--label", "helper", "--json")
    assert done.returncode == 0, done.stderr
    opened = json.loads(done.stdout)
    actor.pane = opened["pane_id"]
    assert (opened["agent"], opened["label"]) == ("codex", "helper")
    assert opened["agent_status"] == "idle"
    panes = {each["pane_id"]: each for each in stage.call("pane.list")["items"]}
    assert panes[actor.pane]["seat"] == "coordinator"
    message = stage.act("message.send", to="coordinator", text="hello")["id"]
    stage.until("it was told", lambda: message in told.named(actor))


def test_a_kind_that_nobody_knows(stage: Stage) -> None:
    """Refused before anything is opened."""
    done = coordctl(stage, "pane", "open", "--agent", "nobody")
    assert done.returncode == 1
    assert "Known kinds" in done.stderr
    assert stage.call("pane.list")["items"] == []


def test_a_folder_that_is_not_there(stage: Stage) -> None:
    """A host would run the command in the home folder instead (recordings, 02: N)."""
    done = coordctl(stage, "pane", "open", "--cwd", f"{stage.root}/absent", "--", "touch", "here")
    assert done.returncode == 1
    assert "no folder" in done.stderr
    assert stage.call("pane.list")["items"] == []
