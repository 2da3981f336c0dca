"""A user records a trace while the daemon works, also across its restart; somebody else replays it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from coordctl.demo.stage import Stage
from tests.stories.bench import Fake

WITHIN_S = 30.0
SECRET = "the zebra is in the okapi house"


def coordctl(stage: Stage, *words: str) -> subprocess.Popen[str]:
    """The command in a process of its own, with the signals of a terminal's foreground."""
    return subprocess.Popen(
        [sys.executable, "-m", "coordctl", "-C", str(stage.root), "--json", *words],
        env=stage.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> tuple[int, Any, str]:
    """Exit status, result and errors, within the bound."""
    try:
        out, errors = process.communicate(timeout=WITHIN_S)
    finally:
        process.kill()
    return process.returncode, json.loads(out) if out else None, errors


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.endswith("}")]


def test_a_trace_is_recorded_across_a_restart_and_replayed(stage: Stage) -> None:
    """What was typed and why is in it, not a word of the text; the restart is a gap."""
    fake = Fake(stage)
    path = stage.props / "trace.jsonl"
    recording = coordctl(stage, "trace", "record", str(path))
    try:
        stage.until("it records", lambda: path.exists() and path.stat().st_size > 0)
        fake.until_submitted(fake.send(SECRET))
        stage.call("daemon.stop")
        stage.until("it goes on", lambda: any(each["line"] == "gap" for each in lines_of(path)))
        recording.send_signal(signal.SIGTERM)
        status, told, errors = answer(recording)
    finally:
        recording.kill()
    assert (status, errors) == (0, "")
    assert told["path"] == str(path)
    assert told["gaps"] == 1
    assert os.stat(path).st_mode & 0o777 == 0o600
    found = lines_of(path)
    assert found[0]["line"] == "begin"
    assert found[-1] == {"line": "end", "at": found[-1]["at"], "why": "ended"}
    assert any(each["line"] == "call" and each["method"] == "prompt" for each in found)
    assert not any(word in path.read_text() for word in ("zebra", "okapi", str(stage.root)))

    status, replayed, errors = answer(coordctl(stage, "trace", "replay", str(path)))
    assert (status, errors) == (0, ""), replayed
    assert replayed["decisions"] >= 2
    assert replayed["diverged"] == 0
    assert replayed["broken"] == []


def test_a_recording_ends_by_itself(stage: Stage) -> None:
    """At its time, or when the file is as large as it may be; and it overwrites nothing."""
    path = stage.props / "short.jsonl"
    assert answer(coordctl(stage, "trace", "record", "--for", "1s", str(path)))[0] == 0
    assert lines_of(path)[-1]["why"] == "the time is over"
    status, _, errors = answer(coordctl(stage, "trace", "record", str(path)))
    assert status == 1
    assert json.loads(errors)["data"]["reason"] == "wrong-state"
    small = stage.props / "small.jsonl"
    assert answer(coordctl(stage, "trace", "record", "--limit-mb", "0.0001", str(small)))[0] == 0
    assert lines_of(small)[-1]["why"] == "the size limit"


def test_what_is_no_trace_is_refused(stage: Stage) -> None:
    path = stage.props / "no.jsonl"
    path.write_text("{}\n{}\n")
    status, _, errors = answer(coordctl(stage, "trace", "replay", str(path)))
    assert status == 1
    assert json.loads(errors)["data"]["reason"] == "unreadable"
    status, _, errors = answer(coordctl(stage, "trace", "replay", str(path) + ".not"))
    assert status == 1
    assert "cannot be read" in errors
