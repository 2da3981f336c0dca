"""200 messages from two senders to one agent that is busy most of the time."""

from __future__ import annotations

import os
import signal
import threading

from coordctl.demo.stage import Stage
from tests.stories import told

EACH = 100


def test_each_message_is_announced_once_and_in_its_senders_order(stage: Stage) -> None:
    """Each id stands in exactly one submitted notice, with a graceful restart in the middle."""
    agent = stage.enter("busy", "--mute", "--turn", "0.05")
    sent: dict[str, list[str]] = {"a": [], "b": []}

    def send(name: str) -> None:
        for number in range(EACH):
            message = stage.act("message.send", to=agent.pane, text=f"{name} {number}")
            sent[name].append(message["id"])

    senders = [threading.Thread(target=send, args=(name,)) for name in sent]
    for sender in senders:
        sender.start()
    stage.until("some were told", lambda: len(told.named(agent)) > EACH // 4)
    os.kill(int(stage.call("daemon.status")["pid"]), signal.SIGTERM)
    for sender in senders:
        sender.join()
    everything = sent["a"] + sent["b"]
    stage.until("all were told", lambda: len(told.named(agent)) >= len(everything), 90)
    stage.until(
        "the last attempt ended",
        lambda: set(stage.call("daemon.status")["stages"]) <= {"turn-started", "submitted"},
    )
    names = told.named(agent)
    assert sorted(names) == sorted(everything)
    for ids in sent.values():
        assert [name for name in names if name in ids] == ids
    assert not agent.notes("queued")
