"""Records are saved while everything goes on, brought back, and never begun with when they are damaged."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from coordctl.demo.stage import Stage
from coordctl.failures import Failure

WRITES_PER_S = 200
BACKUPS = 3


def coordctl(stage: Stage, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command for the workspace at ``root``."""
    return subprocess.run(
        [sys.executable, "-m", "coordctl", "-C", str(root), *words],
        env=stage.environ,
        capture_output=True,
        text=True,
        check=False,
    )


class Writers:
    """Ask for about ``WRITES_PER_S`` writes a second until closed; what was accepted, in order."""

    def __init__(self, stage: Stage, task: str) -> None:
        self._stage = stage
        self._task = task
        self._over = threading.Event()
        self._numbers = itertools.count()
        self.accepted: list[tuple[float, str]] = []
        self._threads = [threading.Thread(target=self._write) for _ in range(4)]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        while not self._over.is_set():
            number = next(self._numbers)
            made = self._stage.act("question.ask", task=self._task, text=f"q{number}")
            self.accepted.append((time.monotonic(), made["id"]))
            self._over.wait(len(self._threads) / WRITES_PER_S)

    def close(self) -> None:
        """Stop writing."""
        self._over.set()
        for thread in self._threads:
            thread.join()


def test_a_backup_during_many_writes_restores_to_one_moment(stage: Stage, tmp_path: Path) -> None:
    """Everything accepted before it began is in it, and it is sound in a new workspace."""
    task = stage.act("task.new", title="t")["id"]
    writers = Writers(stage, task)
    saved: list[tuple[float, dict[str, Any]]] = []
    try:
        for number in range(BACKUPS):
            stage.until("enough was written", lambda n=number: len(writers.accepted) > 60 * (n + 1))
            begun = time.monotonic()
            path = str(tmp_path / f"{number}.db")
            saved.append((begun, stage.act("upkeep.backup", destination=path)))
    finally:
        writers.close()
    assert [each["tasks"] for _, each in saved] == [1] * BACKUPS
    begun, last = saved[-1]
    root = tmp_path / "restored"
    root.mkdir()
    done = coordctl(stage, root, "restore", last["path"], "--json")
    assert done.returncode == 0, done.stderr
    again = coordctl(stage, root, "restore", last["path"])
    assert again.returncode == 1
    assert "only a workspace without records" in again.stderr
    other = Stage(root=root)
    other.environ |= {"HOME": stage.environ["HOME"]}
    try:
        lines = coordctl(stage, root, "export").stdout.splitlines()
        found = {each["id"]: each for each in map(json.loads, lines)}
        before = {name for at, name in writers.accepted if at < begun}
        assert before <= found.keys()
        assert max(each["record"]["seq"] for each in found.values()) > last["seq"] - 10
        bad = [each for each in other.act("upkeep.doctor")["items"] if each["level"] == "bad"]
        assert bad == []
    finally:
        other._up = True
        other.close()


def test_a_damaged_database_stops_the_start_and_is_left_as_it_is(stage: Stage) -> None:
    """C-49 and architecture §2: a sentence, exit 1, no byte changed, no other database begun."""
    stage.act("task.new", title="t", brief="x" * 100_000)
    stage.act("daemon.stop", panes=True)
    folder = stage.root / ".coordinatord"
    database = folder / "coordinator.db"
    stage.until("the daemon ended", lambda: _ended(stage))
    content = bytearray(database.read_bytes())
    content[100:4000] = os.urandom(3900)
    database.write_bytes(content)
    said = coordctl(stage, stage.root, "status")
    assert said.returncode == 3
    assert "damaged" in said.stderr
    assert database.read_bytes() == content
    stage._up = False


def _ended(stage: Stage) -> bool:
    target = coordctl(stage, stage.root, "--no-start", "status")
    return target.returncode == 3


def test_a_backup_of_a_newer_program_is_refused(stage: Stage, tmp_path: Path) -> None:
    """C-49: nothing is made of it."""
    path = tmp_path / "b.db"
    stage.act("upkeep.backup", destination=str(path))
    content = bytearray(path.read_bytes())
    content[60:64] = (9999).to_bytes(4, "big")
    path.write_bytes(content)
    root = tmp_path / "new"
    root.mkdir()
    done = coordctl(stage, root, "restore", str(path))
    assert done.returncode == 1
    assert "schema 9999" in done.stderr
    assert not (root / ".coordinatord" / "coordinator.db").exists()


def test_a_backup_is_the_coordinators_or_the_operators(stage: Stage, tmp_path: Path) -> None:
    """An agent in a pane without a role makes none."""
    pane = stage.act("pane.open", label="p", cwd=str(stage.root))["pane_id"]
    out = tmp_path / "out"
    line = f'"$COORDCTL" backup {tmp_path}/b.db --json >{out}.part 2>&1; mv {out}.part {out}'
    stage.act("pane.send", pane=pane, text=line, enter=True)
    stage.until("it answered", out.exists)
    assert json.loads(out.read_text())["data"]["reason"] == "not-allowed"
    assert not (tmp_path / "b.db").exists()
    with pytest.raises(Failure) as refusal:
        stage.act("upkeep.backup", destination="b.db")
    assert refusal.value.reason == "bad-params"
