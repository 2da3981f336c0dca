"""Which terminal host a workspace uses: decided once, kept while seats exist, changed on purpose.

Source: interfaces.md, Terminal host choice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordctl.demo.stage import Actor, Stage
from coordctl.failures import Failure
from tests.stories.door import Door


@pytest.fixture
def herdr(stage: Stage, runtime_base: Path) -> Iterator[Door]:
    """A Herdr runs on this machine."""
    made = Door(runtime_base / "herdr.sock", stage.call("daemon.status")["terminal"]["socket"])
    yield made
    made.close()


@pytest.fixture
def auto(stage: Stage) -> Iterator[Stage]:
    """A workspace that nothing is configured in, with no Herdr in its environment yet."""
    made = Stage("auto")
    yield made
    made.close()


def kind_of(stage: Stage) -> str:
    """The kind of host in use."""
    return str(stage.call("daemon.status")["terminal"]["kind"])


def seat_somebody(stage: Stage) -> Actor:
    """An agent with a seat."""
    return stage.enter("coordinator", "--init")


def down(stage: Stage) -> None:
    """Stop the daemon; the panes live on."""
    pid = stage.call("daemon.status")["pid"]
    stage.act("daemon.stop")
    stage.until("it ended", lambda: stage.gone(pid))


def up(stage: Stage, *flags: str) -> subprocess.CompletedProcess[str]:
    """The command, as a person types it."""
    return subprocess.run(
        [sys.executable, "-m", "coordctl", "-C", str(stage.root), "up", *flags],
        env=stage.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_auto_takes_a_herdr_that_answers(auto: Stage, herdr: Door) -> None:
    """Without seats nothing binds: the next start looks again."""
    assert kind_of(auto) == "embedded"
    auto.environ["HERDR_SOCKET_PATH"] = str(herdr.path)
    assert kind_of(auto) == "embedded"  # this daemon has decided
    auto.act("daemon.stop", panes=True)
    auto.until("it is gone", lambda: kind_of(auto) == "herdr")
    terminal = auto.call("daemon.status")["terminal"]
    assert terminal["socket"] == str(herdr.path)
    assert terminal["protocol"] == 20
    auto.until(
        "the status is filled in", lambda: auto.call("daemon.status")["terminal"]["last_snapshot"]
    )


def test_the_choice_is_kept_while_seats_exist(auto: Stage, herdr: Door) -> None:
    """A daemon that is restarted from a Herdr pane stays with the host where its seats are."""
    seat_somebody(auto)
    auto.environ["HERDR_SOCKET_PATH"] = str(herdr.path)
    down(auto)
    assert kind_of(auto) == "embedded"
    killed = auto.kill_daemon()
    assert auto.call("daemon.status")["pid"] != killed
    assert kind_of(auto) == "embedded"
    assert herdr.requests == []


def test_it_is_changed_on_purpose(auto: Stage, herdr: Door) -> None:
    """Refused while a daemon runs, with the two words that do it; then kept without being said."""
    seat_somebody(auto)
    auto.environ["HERDR_SOCKET_PATH"] = str(herdr.path)
    refused = up(auto, "--terminal", "herdr")
    assert refused.returncode == 1
    assert "coordctl down && coordctl up --terminal herdr" in refused.stderr
    assert kind_of(auto) == "embedded"
    embedded = auto.call("daemon.status")["terminal"]["socket"]
    auto.act("daemon.stop", panes=True)
    auto.until("it is free", lambda: not Path(embedded).exists())
    changed = up(auto, "--terminal", "herdr", "--json")
    assert changed.returncode == 0, changed.stderr
    assert json.loads(changed.stdout)["terminal"]["kind"] == "herdr"
    assert {pane["seat"] for pane in auto.call("pane.list")["items"]} <= {None}
    del auto.environ["HERDR_SOCKET_PATH"]
    herdr.go_away()
    down(auto)
    assert kind_of(auto) == "herdr"  # also while it does not answer
    assert auto.call("daemon.status")["terminal"]["socket"] == str(herdr.path)
    herdr.come_back()
    auto.until("connected", lambda: auto.call("daemon.status")["terminal"]["connected"])


def test_a_host_under_another_runtime_folder_is_found_again(
    auto: Stage, runtime_base: Path
) -> None:
    """Logged in another way the folder for sockets differs; the panes are still ours."""
    actor = seat_somebody(auto)
    socket = auto.call("daemon.status")["terminal"]["socket"]
    down(auto)
    other = runtime_base / "other"
    other.mkdir(mode=0o700)
    auto.environ["XDG_RUNTIME_DIR"] = str(other)
    assert auto.call("daemon.status")["terminal"]["socket"] == socket
    auto.until("the seat is there", lambda: auto.status_of(actor) in ("idle", "done"))


def test_an_unknown_protocol_is_read_and_never_typed_to(stage: Stage, runtime_base: Path) -> None:
    """Panes are listed, messages held, raw typing refused; the status says why."""
    agent = stage.enter("agent", "--mute")
    socket = stage.call("daemon.status")["terminal"]["socket"]
    door = Door(runtime_base / "strange.sock", socket, protocol=99)
    other = Stage("herdr")
    other.environ["COORDINATORD_HERDR_SOCKET"] = str(door.path)
    try:
        other.until("connected", lambda: other.call("daemon.status")["terminal"]["protocol"] == 99)
        trouble = other.call("daemon.status")["terminal"]["trouble"]
        assert "99" in trouble
        assert "nothing is typed" in trouble
        assert "99" in up(other).stdout
        assert [pane["pane_id"] for pane in other.call("pane.list")["items"]] == [agent.pane]
        message = other.act("message.send", to=agent.pane, text="hello")["id"]
        other.until(
            "it is held", lambda: other.call("record.why", id=message)["held"] == "host-protocol"
        )
        with pytest.raises(Failure) as refused:
            other.act("pane.send", pane=agent.pane, text="hello")
        assert refused.value.reason == "host-protocol"
        typing = ("agent.prompt", "pane.send_text", "pane.send_input", "pane.send_keys")
        assert not [each for each in door.requests if each["method"] in typing]
        assert agent.notes("submit") == []
    finally:
        other.close()
        door.close()
