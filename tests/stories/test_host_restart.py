"""The terminal host ends, is killed or handed over while the daemon runs: who is still who?

Source of what must come out: coordination.md §2.3 (judgement) and §2.4 (what was measured).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from coordctl.demo.stage import Actor, NotAsTold, Stage
from tests.stories import told
from tests.stories.door import Door

SESSION = "0b6f7d0e-7c0c-4f3e-9c51-3c0f4a1d2e5f"


class Cast:
    """A coordinator, a worker of one task, and a peer, each in a pane."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.coordinator = stage.enter("coordinator", "--init")
        self.worker = stage.enter("worker")
        self.peer = stage.enter("peer")
        self.task = stage.act("task.new", title="t", worker_pane=self.worker.pane)["id"]
        # a peer's seat exists once it was addressed
        self.peer_seat = stage.act("message.send", to=self.peer.pane, text="welcome")["to"]
        stage.until("the peer was told", lambda: self.peer.notes("submit"))
        self.settle()

    @property
    def seats(self) -> dict[str, Actor]:
        """Who sits where."""
        return {
            "coordinator": self.coordinator,
            f"worker:{self.task}": self.worker,
            self.peer_seat: self.peer,
        }

    def settle(self) -> None:
        """Wait until everybody has dealt with everything and rests."""
        stage, panes = self.stage, {actor.pane for actor in self.seats.values()}
        stage.until("nothing is owed", lambda: stage.call("daemon.status")["owed"] == 0)
        stage.until(
            "all rest",
            lambda: {_panes(stage)[pane]["agent_status"] for pane in panes} <= {"idle", "done"},
        )

    def write_to_all(self) -> dict[str, str]:
        """A message to each seat; its id by seat."""
        return {
            seat: str(self.stage.act("message.send", to=seat, text="are you there?")["id"])
            for seat in self.seats
        }

    def all_held(self, sent: dict[str, str], *reasons: str) -> None:
        """Each message is held for one of these reasons, and nothing was claimed."""
        try:
            for seat, message in sent.items():
                self.stage.until(
                    f"{seat} is held", lambda message=message: self._held(message) in reasons, 12
                )
        except NotAsTold as error:
            held = {seat: self._held(message) for seat, message in sent.items()}
            raise AssertionError(f"{error}: {held}, not {reasons}") from None
        for message in sent.values():
            assert not self.stage.call("record.why", id=message).get("attempts")

    def _held(self, message: str) -> str | None:
        held: str | None = self.stage.call("record.why", id=message).get("held")
        return held

    def all_told_once(self, sent: dict[str, str]) -> None:
        """Each message arrived with its own agent, once."""
        try:
            for seat, message in sent.items():
                self.stage.until(
                    f"{seat} is told",
                    lambda seat=seat, message=message: message in told.named(self.seats[seat]),
                )
        except NotAsTold as error:
            why = {
                seat: self.stage.call("record.why", id=message)["sentence"]
                for seat, message in sent.items()
            }
            raise AssertionError(f"{error}: {why}") from None
        for seat, message in sent.items():
            assert told.named(self.seats[seat]).count(message) == 1
            assert told.repeated(self.seats[seat]) == {}
        self.settle()


@pytest.fixture
def cast(stage: Stage) -> Cast:
    """Three seats on the embedded host."""
    return Cast(stage)


def host_of(stage: Stage) -> psutil.Process:
    """The embedded host's process."""
    return next(each for each in psutil.process_iter() if _is_host(each, stage))


def _is_host(process: psutil.Process, stage: Stage) -> bool:
    try:
        words, dead = process.cmdline(), process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
    here = any(str(stage.root) in word for word in words)
    return "coordinatord.panehost" in words and here and not dead


HOW_IT_ENDS = pytest.mark.parametrize(
    ("number", "daemon_too"),
    [(signal.SIGTERM, False), (signal.SIGKILL, False), (signal.SIGKILL, True)],
)
"""The signal to the host, and whether the daemon is killed with it."""


def end(stage: Stage, number: signal.Signals, *, daemon_too: bool = False) -> None:
    """End the host; wait until another one, started by the daemon, is connected."""
    host = host_of(stage)
    saved = stage.root / ".coordinatord" / "panehost.json"
    stage.until("the layout is saved", lambda: _saved_panes(saved) == len(_panes(stage)))
    if daemon_too:
        stage.kill_daemon()
    host.send_signal(number)
    stage.until("the host has ended", lambda: Stage.gone(host.pid))
    stage.until("the daemon saw it", lambda: not _connected(stage) or host_of(stage))
    stage.until("a host is there again", lambda: _connected(stage) and _panes(stage))


def _saved_panes(path: Path) -> int:
    try:
        return len(json.loads(path.read_text())["panes"])
    except FileNotFoundError:
        return 0


def _connected(stage: Stage) -> bool:
    return bool(stage.call("daemon.status")["terminal"]["connected"])


def _panes(stage: Stage) -> dict[str, dict[str, Any]]:
    return {each["pane_id"]: each for each in stage.call("pane.list")["items"]}


def _ask_host(stage: Stage, method: str, **params: object) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(stage.call("daemon.status")["terminal"]["socket"])
        connection.sendall(
            json.dumps({"id": "t", "method": method, "params": params}).encode() + b"\n"
        )
        answer: dict[str, Any] = json.loads(connection.makefile().readline())
    return answer


def _begin_again(stage: Stage, pane: str) -> Actor:
    """Somebody starts another agent in the shell of a pane that exists."""
    actor = Actor(stage.props, f"stranger-{pane.replace(':', '-')}")
    actor.pane = pane
    line = f"HERDR_AGENT=codex {sys.executable} -m coordctl.demo.agent --mute --name stranger"
    line += f" --log {actor.log} --orders {actor.orders}"
    _ask_host(stage, "pane.send_input", pane_id=pane, text=line, keys=["Enter"])
    stage.until(f"{actor.name} is up", lambda: stage.status_of(actor) == "idle")
    return actor


def _screen(stage: Stage, pane: str) -> str:
    answer = _ask_host(stage, "pane.read", pane_id=pane, source="recent")
    return str(answer["result"]["read"]["text"])


@HOW_IT_ENDS
def test_a_new_shell_in_the_pane_is_nobody_we_know(
    cast: Cast, number: signal.Signals, daemon_too: bool
) -> None:
    """Same pane id, new terminal, new shell: replaced. Nothing is typed into the shells."""
    stage = cast.stage
    before = _panes(stage)
    end(stage, number, daemon_too=daemon_too)
    sent = cast.write_to_all()
    cast.all_held(sent, "replaced")
    after = _panes(stage)
    assert {pane: each["label"] for pane, each in after.items()} == {
        pane: each["label"] for pane, each in before.items()
    }
    for pane, record in after.items():
        assert record["terminal_id"] != before[pane]["terminal_id"]
        assert record["seat"] is None
        assert "[coord" not in _screen(stage, pane)
    strangers = [_begin_again(stage, pane) for pane in after]
    cast.all_held(sent, "replaced")
    assert not any(stranger.notes("submit") for stranger in strangers)


def test_the_seat_can_be_taken_again_after_it_was_replaced(cast: Cast) -> None:
    """What the seat is owed waits for whoever takes it deliberately."""
    stage = cast.stage
    end(stage, signal.SIGKILL)
    sent = cast.write_to_all()
    cast.all_held(sent, "replaced")
    successor = stage.enter("successor", "--mute")
    stage.act("seat.bind", task=cast.task, worker_pane=successor.pane)
    owed = sent[f"worker:{cast.task}"]
    stage.until("the successor was told", lambda: owed in told.named(successor))


@pytest.fixture
def resumable(stage: Stage) -> Iterator[Stage]:
    """`codex resume` starts the scripted agent again, as a real one would be."""
    folder = stage.props / "bin"
    folder.mkdir()
    program = folder / "codex"
    program.write_text(
        "#!/bin/sh\nshift\n"
        f'exec env HERDR_AGENT=codex {sys.executable} -m coordctl.demo.agent --name "$1" '
        f'--log "{stage.props}/$1.log" --orders "{stage.props}/$1.orders"\n'
    )
    program.chmod(0o755)
    stage.environ["PATH"] = f"{folder}{os.pathsep}{stage.environ['PATH']}"
    return stage


@HOW_IT_ENDS
def test_a_resumed_conversation_keeps_its_seat(
    resumable: Stage, number: signal.Signals, daemon_too: bool
) -> None:
    """New terminal, new shell, the same conversation: restored. Until its process is there
    nothing is typed (herdr-protocol.md §3.4)."""
    stage = resumable
    agent = stage.enter("agent", "--init")
    report = {"source": "herdr:codex", "agent": "codex", "seq": 1}
    _ask_host(
        stage, "pane.report_agent_session", pane_id=agent.pane, agent_session_id="agent", **report
    )
    stage.until("it is known", lambda: _panes(stage)[agent.pane]["agent_session"])
    saved = stage.root / ".coordinatord" / "panehost.json"
    stage.until("it is saved", lambda: saved.exists() and "herdr:codex" in saved.read_text())
    first = stage.act("message.send", to="coordinator", text="one")["id"]
    stage.until("it was told", lambda: first in told.named(agent))
    terminal = _panes(stage)[agent.pane]["terminal_id"]
    ready = len(agent.notes("ready"))
    end(stage, number, daemon_too=daemon_too)
    second = stage.act("message.send", to="coordinator", text="two")["id"]
    stage.until("it was resumed", lambda: len(agent.notes("ready")) > ready)
    stage.until("it was told", lambda: second in told.named(agent))
    assert told.repeated(agent) == {}
    pane = _panes(stage)[agent.pane]
    assert pane["terminal_id"] != terminal
    assert pane["seat"] == "coordinator"
    before_it_was_there = [
        line for line in _screen(stage, agent.pane).splitlines() if "[coord" in line
    ]
    assert not [line for line in before_it_was_there if line.startswith("#")]


def test_a_recycled_pane_id_is_another_pane(cast: Cast) -> None:
    """The layout was lost, a new pane gets an old id: whoever is there is not the seat."""
    stage = cast.stage
    saved = stage.root / ".coordinatord" / "panehost.json"
    host = host_of(stage)
    host.send_signal(signal.SIGSTOP)
    saved.unlink()
    host.kill()
    stage.until("the host has ended", lambda: Stage.gone(host.pid))
    stage.until("a host is there again", lambda: _connected(stage) and not _panes(stage))
    sent = cast.write_to_all()
    cast.all_held(sent, "absent")
    newcomers = [stage.enter(f"newcomer{number}", "--mute") for number in range(3)]
    assert {each.pane for each in newcomers} == {each.pane for each in cast.seats.values()}
    cast.all_held(sent, "replaced")
    for newcomer in newcomers:
        assert newcomer.notes("submit") == []


@pytest.fixture
def door(stage: Stage, runtime_base: Path) -> Iterator[Door]:
    """A Herdr, as far as anybody can tell."""
    made = Door(runtime_base / "herdr.sock", stage.call("daemon.status")["terminal"]["socket"])
    yield made
    made.close()


@pytest.fixture
def beside(door: Door) -> Iterator[Stage]:
    """A second workspace, whose terminal host is that Herdr."""
    other = Stage("herdr")
    other.environ |= {"COORDINATORD_HERDR_SOCKET": str(door.path), "COORDINATORD_BACKSTOP_S": "1"}
    yield other
    other.close()


def test_a_hand_off_changes_nothing(stage: Stage, beside: Stage, door: Door) -> None:
    """New terminal ids, the same shells: handoff. The seats stand, and nothing is repeated."""
    cast = Cast(beside)
    before = _panes(beside)
    first = cast.write_to_all()
    cast.all_told_once(first)
    door.hand_off()
    second = cast.write_to_all()
    cast.all_told_once(second)
    after = _panes(beside)
    assert all(after[pane]["terminal_id"] != before[pane]["terminal_id"] for pane in before)
    assert {pane: each["seat"] for pane, each in after.items()} == {
        pane: each["seat"] for pane, each in before.items()
    }
    door.hand_off()
    third = cast.write_to_all()
    cast.all_told_once(third)


def test_nothing_is_typed_while_the_host_is_away(stage: Stage, beside: Stage, door: Door) -> None:
    """Held as unreachable, said in the status; told once it is back."""
    cast = Cast(beside)
    door.go_away()
    beside.until("it is noticed", lambda: not _connected(beside))
    sent = cast.write_to_all()
    cast.all_held(sent, "host-unreachable", "unobservable")
    trouble = beside.call("daemon.status")["terminal"]["trouble"]
    assert trouble
    door.come_back()
    cast.all_told_once(sent)
    assert beside.call("daemon.status")["terminal"]["trouble"] is None


def test_a_host_that_hangs_is_not_typed_to(cast: Cast) -> None:
    """Stopped, not ended: calls run into their limit; when it goes on, each message comes once."""
    host = host_of(cast.stage)
    host.send_signal(signal.SIGSTOP)
    try:
        sent = cast.write_to_all()
        cast.stage.until("it is noticed", lambda: not _connected(cast.stage))
    finally:
        host.send_signal(signal.SIGCONT)
    cast.all_told_once(sent)
