"""coordctl and the clients with the real daemon: starting it, stopping it, its death in between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from coordinatord import client, locate
from coordinatord.features.tasks.requests import ListTasks, NewTask
from coordinatord.features.views.requests import ReadStatus
from tests.clients.toy import coordctl, environment


class Place:
    """A workspace whose daemons, and whose pane host, end with the test."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "p"
        self.root.mkdir()
        self.runtime = folder / "r"
        self.runtime.mkdir(mode=0o700)
        self.variables = {"XDG_RUNTIME_DIR": str(self.runtime), "COORDINATORD_TERMINAL": "embedded"}

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return coordctl(*arguments, cwd=self.root, stdin=stdin, variables=self.variables)

    def json(self, *arguments: str) -> Any:
        result = self.run(*arguments, "--json")
        assert result.returncode == 0, result.stderr
        assert result.stderr == b""
        return json.loads(result.stdout)


@pytest.fixture
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="d", dir="/tmp"))
    made = Place(folder)
    yield made
    made.run("down", "--panes")
    for process in psutil.process_iter(["cmdline"]):
        # a test that failed half way may leave the pane host without a daemon to end it
        if str(folder) in " ".join(process.info["cmdline"] or ()):
            process.kill()
    shutil.rmtree(folder)


def test_up_makes_the_workspace_and_down_ends_the_daemon(place: Place) -> None:
    status = place.json("up")
    workspace = locate.Workspace(str(place.root), place.variables)
    assert status["workspace"] == str(place.root)
    assert status["socket"] == workspace.socket == locate.published_socket(workspace)
    assert place.json("up")["pid"] == status["pid"]
    assert place.json("down") == {"done": True}
    assert not _runs(status["pid"])
    assert place.json("down") == {"done": True}
    assert place.run("--no-start", "inbox").returncode == 3


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_command_starts_the_daemon_that_is_missing(place: Place) -> None:
    locate.make(locate.Workspace(str(place.root), place.variables))
    (place.root / "deep").mkdir()
    assert place.json("-C", "deep", "inbox")["items"] == []


def test_the_daemon_keeps_nothing_of_who_started_it(place: Place) -> None:
    """interfaces.md, Places: own session, stdin from /dev/null, no descriptor of the caller."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    result = subprocess.run(
        [sys.executable, "-m", "coordctl", "up", "--json"],
        cwd=place.root,
        env=environment(**place.variables, COORDINATORD_TOKEN="secret"),
        capture_output=True,
        pass_fds=(writing,),
        check=True,
    )
    os.close(writing)
    # the daemon lives on: were the pipe still open in it, this would not end
    assert os.read(reading, 1) == b""
    os.close(reading)
    pid = json.loads(result.stdout)["pid"]
    assert os.getsid(pid) == pid != os.getsid(0)
    if sys.platform == "linux":
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        assert os.readlink(f"/proc/{pid}/fd/1") == str(place.root / ".coordinatord/daemon.log")
        assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_module_of_the_project_is_not_run(place: Place) -> None:
    """A cloned project brings a package named like ours: starting the daemon must not import it."""
    for name in ("coordinatord", "anyio"):
        (place.root / name).mkdir()
        (place.root / name / "__init__.py").write_text("raise SystemExit('imported')")
    (place.root / "coordinatord" / "__main__.py").write_text("raise SystemExit('imported')")
    place.variables["PYTHONSAFEPATH"] = "1"  # for `python -m coordctl`; the script needs it not
    assert place.json("up")["workspace"] == str(place.root)


def test_many_at_once_start_one_daemon(place: Place) -> None:
    """G-5 (e), from the clients' side: all are answered, by the same daemon."""
    locate.make(locate.Workspace(str(place.root), place.variables))
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: place.json("status")["pid"], range(6)))
    assert len(set(found)) == 1


def test_a_killed_daemon_is_started_again_and_has_lost_nothing(place: Place) -> None:
    """G-5 (a): no manual removal after SIGKILL."""
    pid = place.json("up")["pid"]
    task = place.json("task", "new", "first")
    os.kill(pid, signal.SIGKILL)
    assert [each["id"] for each in place.json("task", "list")["items"]] == [task["id"]]
    assert place.json("status")["pid"] != pid


def test_a_daemon_that_cannot_start_says_why(place: Place) -> None:
    workspace = locate.Workspace(str(place.root), place.variables)
    locate.make(workspace)
    Path(workspace.file("config.toml")).write_text("no_such_key = 1\n")
    result = place.run("inbox", "--json")
    assert (result.returncode, result.stdout) == (3, b"")
    assert "no_such_key" in json.loads(result.stderr)["message"]


@pytest.mark.parametrize("command", [("up",), ("inbox",), ("task", "new", "one")])
def test_a_daemon_that_refuses_its_database_says_why(
    place: Place, command: tuple[str, ...]
) -> None:
    """It listens before it looks at the database, so a client may be connected when it ends."""
    workspace = locate.Workspace(str(place.root), place.variables)
    locate.make(workspace)
    Path(workspace.file("coordinator.db")).write_bytes(b"")
    result = place.run(*command, "--json")
    assert (result.returncode, result.stdout) == (3, b"")
    error = json.loads(result.stderr)
    assert "coordinator.db" in error["message"]
    assert "daemon.log" not in error["data"]["hint"]  # what to do, not where to look


def test_a_log_that_is_a_link_is_not_followed(place: Place, tmp_path: Path) -> None:
    """A cloned project may bring one along that leads anywhere."""
    workspace = locate.Workspace(str(place.root), place.variables)
    locate.make(workspace)
    log = Path(workspace.file("panehost.log"))
    log.symlink_to(tmp_path / "elsewhere")
    result = place.run("up", "--json")
    assert result.returncode == 3
    assert "panehost.log" in json.loads(result.stderr)["message"]
    assert not (tmp_path / "elsewhere").exists()
    log.unlink()
    place.json("up")
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_same_key_gives_the_same_answer(place: Place) -> None:
    """D-40: also across a restart of the daemon."""
    place.json("up")
    first = place.json("task", "new", "one", "--key", "k1")
    os.kill(place.json("status")["pid"], signal.SIGKILL)
    assert place.json("task", "new", "one", "--key", "k1") == first
    conflict = place.run("task", "new", "two", "--key", "k1", "--json")
    assert (conflict.returncode, json.loads(conflict.stderr)["data"]["reason"]) == (
        1,
        "key-conflict",
    )
    assert len(place.json("task", "list")["items"]) == 1


def test_a_watch_outlives_the_daemon(place: Place) -> None:
    pid = place.json("up")["pid"]
    place.json("task", "new", "one")
    with subprocess.Popen(
        [sys.executable, "-m", "coordctl", "watch", "--json", "--since", "0"],
        cwd=place.root,
        env=environment(**place.variables),
        stdout=subprocess.PIPE,
    ) as watcher:
        assert watcher.stdout is not None
        first = _next_task(watcher.stdout)
        os.kill(pid, signal.SIGKILL)
        place.json("task", "new", "two")
        second = _next_task(watcher.stdout)
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(10) == 130
    assert first["id"] != second["id"]
    assert first["seq"] < second["seq"]


def _next_task(lines: Any) -> Any:
    for line in lines:
        found = json.loads(line)
        if found["kind"] == "task":
            return found
    raise AssertionError("the watch ended")


@pytest.fixture
def made(place: Place) -> Place:
    """The same, with its folder made already."""
    locate.make(locate.Workspace(str(place.root), place.variables))
    return place


async def test_the_async_client_starts_and_calls_the_daemon(made: Place) -> None:
    with anyio.fail_after(60):
        async with client.connect(
            directory=str(made.root), environ=environment(**made.variables)
        ) as connected:
            task = await connected.call(NewTask(title="one"))
            status = await connected.call(ReadStatus())
            async for change in connected.watch(since=0):
                if change.id == task.id:
                    break
    assert status.workspace == str(made.root)


def test_the_blocking_client_starts_and_calls_the_daemon(place: Place) -> None:
    locate.make(locate.Workspace(str(place.root), place.variables))
    with client.connect_blocking(
        directory=str(place.root), environ=environment(**place.variables)
    ) as connected:
        task = connected.call(NewTask(title="one"))
        assert [each.id for each in connected.call(ListTasks()).items] == [task.id]
