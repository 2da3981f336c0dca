"""Nobody speaks for somebody else: seats proven by real processes, and who keeps a role when things move.

Source of what must come out: coordination.md §2.3; interfaces.md, Seats and who may call.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coordctl.demo.stage import Actor, Stage
from tests.stories import told

DOUBLE_FORK = """
import os, sys
if os.fork() == 0:
    os.setsid()
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            os.sched_yield()
        os.execvp(sys.argv[1], sys.argv[1:])
    os._exit(0)
os.wait()
"""
"""Runs a command as a process whose ancestors are gone: nothing but its environment says where it is."""


class Shell:
    """A pane with a plain shell, in which commands are run as a person would."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage = stage
        self._count = 0
        self.name = name
        self.pane: str = stage.act("pane.open", label=name, cwd=str(stage.root))["pane_id"]
        self.run("true")

    def run(self, command: str) -> tuple[int, str]:
        """Exit status and output of a command line."""
        self._count += 1
        result = self._stage.props / f"{self.name}.{self._count}"
        line = f"{{ {command} ; }} >{result}.out 2>&1; echo $? >{result}.part; mv {result}.part {result}"
        self._stage.act("pane.send", pane=self.pane, text=line, enter=True)
        self._stage.until(f"{command} ended", result.exists)
        return int(result.read_text()), Path(f"{result}.out").read_text()

    def coordctl(self, *words: str) -> Any:
        """What a command answers: the result, or the refusal."""
        said = self.run(f'"$COORDCTL" {shlex.join(words)} --json')[1]
        return json.loads(said.splitlines()[-1])

    def whoami(self) -> tuple[str, str]:
        """Seat and proof."""
        found = self.coordctl("whoami")
        return found["id"], found["proof"]


@pytest.fixture
def cast(stage: Stage) -> tuple[Stage, Shell, Shell, str]:
    """A coordinator and a worker, both plain shells, and a task."""
    boss, worker = Shell(stage, "boss"), Shell(stage, "worker")
    assert boss.coordctl("init")["id"] == "coordinator"
    task = boss.coordctl("task", "new", "t", "--worker-pane", worker.pane)["id"]
    return stage, boss, worker, task


def test_a_pane_id_in_the_environment_answers_for_nobody(
    cast: tuple[Stage, Shell, Shell, str],
) -> None:
    """C-20: whoever names another's pane is refused, from inside a pane and from outside."""
    stage, boss, worker, task = cast
    question = worker.coordctl("ask", "--task", task, "Which port?")["id"]
    answer = ("answer", question, "80")
    for who in (worker, Shell(stage, "stranger")):
        command = f'env HERDR_PANE_ID={boss.pane} "$COORDCTL" {shlex.join(answer)} --json'
        status, said = who.run(f"env -u COORDINATORD_TOKEN {command}")
        assert (status, json.loads(said)["data"]["reason"]) == (1, "not-allowed")
    host = stage.call("daemon.status")["terminal"]["socket"]
    for more in ({"HERDR_SOCKET_PATH": host}, {}):
        refused = subprocess.run(
            [sys.executable, "-m", "coordctl", "-C", str(stage.root), *answer, "--json"],
            env={**stage.environ, "HERDR_PANE_ID": boss.pane, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert json.loads(refused.stderr)["data"]["reason"] == "not-proven"
    assert stage.call("record.show", id=question)["state"] == {"kind": "open"}
    assert boss.coordctl(*answer)["state"]["text"] == "80"


def test_a_detached_process_is_known_by_its_launch_token_alone(
    cast: tuple[Stage, Shell, Shell, str],
) -> None:
    """Its ancestors are gone: with the token it is the pane's, without it only claims to be."""
    stage, boss, worker, task = cast
    question = worker.coordctl("ask", "--task", task, "Which port?")["id"]
    script = stage.props / "detach.py"
    script.write_text(DOUBLE_FORK)
    result = stage.props / "detached"
    inner = (
        f'"$COORDCTL" answer {question} 80 --json >{result}.part 2>&1; mv {result}.part {result}'
    )
    detach = f"{sys.executable} {script} sh -c {shlex.quote(inner)}"
    boss.run(f"env -u COORDINATORD_TOKEN {detach}")
    stage.until("the claim was answered", result.exists)
    assert json.loads(result.read_text())["data"]["reason"] == "not-proven"
    result.unlink()
    boss.run(detach)
    stage.until("the token was answered", result.exists)
    assert json.loads(result.read_text())["state"]["by"] == "coordinator"


FIRE_AND_FORGET = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(sys.argv[2].encode() + b"\\n")
os._exit(0)
"""
"""Sends a request and is gone before anybody can look at it."""


def test_who_is_gone_before_it_was_looked_at_is_not_the_operator(
    cast: tuple[Stage, Shell, Shell, str],
) -> None:
    """C-20: no ancestors are seen, and it may have been in any pane, as it is here."""
    stage, boss, worker, task = cast
    question = worker.coordctl("ask", "--task", task, "Which port?")["id"]
    params = {"question": question, "text": "80"}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "question.answer", "params": params})
    script, done = stage.props / "forget.py", stage.props / "forgotten"
    script.write_text(FIRE_AND_FORGET)
    status = stage.call("daemon.status")
    command = shlex.join([sys.executable, str(script), status["socket"], line])
    os.kill(status["pid"], signal.SIGSTOP)
    try:
        text = f"env -u HERDR_PANE_ID {command}; touch {done}"
        host = status["terminal"]["socket"]
        _ask_host(host, "pane.send_text", {"pane_id": worker.pane, "text": text})
        _ask_host(host, "pane.send_keys", {"pane_id": worker.pane, "keys": ["enter"]})
        stage.until("it has sent and ended", done.exists)
    finally:
        os.kill(status["pid"], signal.SIGCONT)
    # a later request on the same loop is answered after it
    stage.until("it was read", lambda: stage.call("daemon.status")["pid"] == status["pid"])
    assert stage.call("record.show", id=question)["state"] == {"kind": "open"}
    assert boss.coordctl("answer", question, "81")["state"]["text"] == "81"


def test_a_second_coordinator_and_a_worker_as_judge_are_refused(
    cast: tuple[Stage, Shell, Shell, str],
) -> None:
    """C-20, C-26: each refusal names the rule, the proven seat, and the way out."""
    stage, boss, worker, task = cast
    stranger = Shell(stage, "stranger")
    for words in (
        ("init", "--role", "coordinator"),
        ("init", "--role", "coordinator", "--reclaim"),
        ("bind", task, "--worker-pane", stranger.pane),
        ("init", "--task", task),
    ):
        refusal = stranger.coordctl(*words)
        assert refusal["data"]["reason"] in ("seat-taken", "not-allowed"), words
        assert refusal["data"]["hint"], words
    for words in (
        ("verify", task, "--candidate", "v1", "--result", "pass"),
        ("review", task, "--candidate", "v1", "--verdict", "approve", "fine"),
        ("init", "--role", "coordinator"),
    ):
        refusal = worker.coordctl(*words)
        assert refusal["data"]["reason"] == "not-allowed", words
    assert boss.whoami() == ("coordinator", "token")
    assert worker.whoami()[0] == f"worker:{task}"


def test_a_role_stays_with_its_shell(cast: tuple[Stage, Shell, Shell, str]) -> None:
    """§2.3, same: another folder, another address, and a new daemon change nothing."""
    stage, boss, worker, task = cast
    seat = f"worker:{task}"
    worker.run("cd /")
    assert worker.whoami()[0] == seat
    host = stage.call("daemon.status")["terminal"]["socket"]
    moved = _ask_host(
        host,
        "pane.move",
        {"pane_id": worker.pane, "destination": {"type": "new_workspace", "label": "away"}},
    )
    pid = stage.kill_daemon()
    panes = {each["label"]: each["pane_id"] for each in stage.call("pane.list")["items"]}
    assert stage.call("daemon.status")["pid"] != pid
    assert panes["worker"] != worker.pane, moved
    worker.pane = panes["worker"]
    assert worker.whoami()[0] == seat
    assert boss.whoami()[0] == "coordinator"
    stage.act("message.send", to=seat, text="still you")
    assert [item["kind"] for item in worker.coordctl("inbox")["items"]] == ["message"]


def test_an_agent_that_took_over_a_dead_workers_address_is_nobody(stage: Stage) -> None:
    """C-25: a pane that is gone leaves its seat absent; the next agent there is told nothing."""
    stage.enter("coordinator", "--init")
    worker = stage.enter("worker")
    task = stage.act("task.new", title="t", worker_pane=worker.pane)["id"]
    stage.act("pane.close", pane=worker.pane)
    other = stage.enter("other")
    message = stage.act("message.send", to=f"worker:{task}", text="for the worker")["id"]
    stage.until(
        "the message is held", lambda: stage.call("record.why", id=message).get("held") == "absent"
    )
    assert told.named(other) == []
    stage.act("seat.bind", task=task, worker_pane=other.pane)
    stage.until("the new worker was told", lambda: told.named(other))
    assert told.repeated(other) == {}


def test_another_agent_in_the_same_shell_keeps_the_seat(stage: Stage) -> None:
    """§2.3, same: the terminal and its shell are the occupant; what runs in front may change."""
    stage.enter("coordinator", "--init")
    worker = stage.enter("worker")
    task = stage.act("task.new", title="t", worker_pane=worker.pane)["id"]
    worker.order("exit")
    stage.until("the agent is gone", lambda: stage.status_of(worker) is None)
    message = stage.act("message.send", to=f"worker:{task}", text="hello")["id"]
    stage.until(
        "the message is held",
        lambda: stage.call("record.why", id=message).get("held") == "not-agent",
    )
    heir = Actor(stage.props, "heir")
    heir.pane = worker.pane
    module = shlex.join([sys.executable, "-m", "coordctl.demo.agent"])
    line = f"env HERDR_AGENT=codex {module} --log {heir.log} --orders {heir.orders} --name heir"
    stage.act("pane.send", pane=heir.pane, text=line, enter=True)
    stage.until("the heir was told", lambda: told.named(heir))


def _ask_host(path: str, method: str, params: dict[str, Any]) -> Any:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(path)
        line = json.dumps({"id": "1", "method": method, "params": params}) + "\n"
        connection.sendall(line.encode())
        answer = json.loads(connection.makefile().readline())
    assert "result" in answer, answer
    return answer["result"]
