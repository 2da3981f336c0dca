"""The demo's steps. Each is checked against what the daemon says; the first that fails ends it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from coordctl.demo import apart, timeline
from coordctl.demo.stage import Actor, NotAsTold, Stage
from coordctl.failures import Failure

USAGE = """usage: coordctl demo [--terminal embedded|herdr] [--keep]

  --terminal  where the panes are shown: in a pane host of its own (embedded), or in the Herdr that
              runs already, in a host workspace of its own that is closed at the end
  --keep      leave the workspace running and say where it is
"""


_ANSWERS = "a running Herdr answers; without --terminal the demo brings panes of its own"
_HERDR_WITHIN_S = 10.0  # one that runs answers at once, and who has none shall not wait long


def main(arguments: Sequence[str]) -> int:
    """Run it: 0 if every step happened as told, 1 if not, 2 for a usage error."""
    if any(word in ("-h", "--help") for word in arguments):
        sys.stdout.write(USAGE)
        return 0
    terminal = _terminal_in(arguments)
    if terminal is None:
        sys.stderr.write(f"coordctl: demo does not know: {' '.join(arguments)}\n{USAGE}")
        return 2
    if terminal == "herdr" and apart.needed(os.environ):
        return apart.run(arguments)
    waiting = apart.begin(os.environ)
    status = _perform(Stage(terminal), keep="--keep" in arguments)
    apart.end(waiting, status)
    return status


def _terminal_in(arguments: Sequence[str]) -> str | None:
    """The host that is asked for; None for words that cannot be understood."""
    match [word for word in arguments if word != "--keep"]:
        case []:
            return "embedded"
        case ["--terminal", "embedded" | "herdr" as kind] | [
            "--terminal=embedded" | "--terminal=herdr" as kind
        ]:
            return kind.rpartition("=")[2]
        case _:
            return None


def _perform(stage: Stage, *, keep: bool) -> int:
    begun = time.monotonic()
    try:
        Play(stage).run()
        _say(f"\nEverything happened as told, in {time.monotonic() - begun:.1f} s.")
        return 0
    except (NotAsTold, Failure) as error:
        _say(f"\nNot as told: {error}")
        if isinstance(error, Failure) and error.hint:
            _say(f"hint: {error.hint}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if keep:
            _say(
                f"Left running in {stage.root}; end it with: coordctl -C {stage.root} down --panes"
            )
        else:
            stage.close()


class Play:
    """One run of the main job."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._question: dict[str, Any] = {}
        self._task = ""

    def run(self) -> None:
        """All steps, in order."""
        _say("coordctl demo: a question travels between two scripted agents in real panes\n")
        coordinator, worker = self._set_up()
        self._ask_while_busy(coordinator, worker)
        self._survive_a_kill()
        self._deliver_at_idle(coordinator)
        self._finish(coordinator, worker)
        self._show()

    def _set_up(self) -> tuple[Actor, Actor]:
        stage = self._stage
        status = stage.call("daemon.status")
        kind = status["terminal"]["kind"]
        where = "in your Herdr" if kind == "herdr" else f"with its own pane host ({kind})"
        if kind == "herdr":
            stage.until(_ANSWERS, stage.connected, within_s=_HERDR_WITHIN_S)
        else:
            stage.until("the terminal host answers", stage.connected)
        _step(f"daemon {status['pid']} {where}")
        coordinator = stage.enter("coordinator", "--init")
        seats = {pane["pane_id"]: pane.get("seat") for pane in stage.call("pane.list")["items"]}
        _check(seats[coordinator.pane] == "coordinator", "the coordinator took its seat")
        worker = stage.enter("worker")
        task = stage.act("task.new", title="Choose a port", worker_pane=worker.pane)
        self._task = task["id"]
        _step(f"coordinator in {coordinator.pane}, worker of {self._task} in {worker.pane}")
        return coordinator, worker

    def _ask_while_busy(self, coordinator: Actor, worker: Actor) -> None:
        stage = self._stage
        coordinator.order("work")
        stage.until("the coordinator works", lambda: stage.status_of(coordinator) == "working")
        text = "Which port shall the service listen on?"
        worker.order("ask", task=self._task, key="demo", text=text)
        found = stage.until("the question is stored", lambda: self._inbox("question"))
        self._question = found[0]
        self._held("the question is held because the coordinator works")

    def _held(self, what: str) -> None:
        name = self._question["id"]
        why = self._stage.until(
            what, lambda: _if(self._why(name), lambda found: found.get("held") == "busy")
        )
        _check(not why.get("attempts"), "nothing was claimed while it is held")
        _step(f"why {name}: {why['sentence']}")

    def _survive_a_kill(self) -> None:
        killed = self._stage.kill_daemon()
        pid = self._stage.call("daemon.status")["pid"]
        _check(pid != killed, "a new daemon answers")
        _step(f"daemon {killed} was killed with SIGKILL; {pid} runs now")
        self._held("after the restart the question is still held")

    def _deliver_at_idle(self, coordinator: Actor) -> None:
        coordinator.order("rest")
        name = self._question["id"]
        self._stage.until("the question is answered", lambda: self._state(name) != "open")
        submitted = [note for note in coordinator.notes("submit") if name in note["text"]]
        _check(len(submitted) == 1, f"exactly one notice about {name} ({len(submitted)} came)")
        _step(f"the coordinator got one notice: {submitted[0]['text']}")

    def _finish(self, coordinator: Actor, worker: Actor) -> None:
        stage, name = self._stage, self._question["id"]
        stage.until("the worker resolved it", lambda: self._state(name) == "applied")
        _step("the worker was told at its own idle moment, and resolved it")
        stage.until("everything is dealt with", self._all_done)
        _step("the worker reported, the coordinator verified; nothing is owed")
        for actor in (coordinator, worker):
            _check(not actor.notes("queued"), f"nothing was typed while {actor.name} worked")
            _check(not actor.notes("failed"), f"no call of {actor.name} failed")

    def _all_done(self) -> bool:
        lines = self._stage.journal()
        kinds = {line["kind"] for line in lines}
        return "verification" in kinds and self._stage.call("daemon.status")["owed"] == 0

    def _show(self) -> None:
        stage, name = self._stage, self._question["id"]
        lines = stage.journal()
        question = stage.call("record.show", id=name)
        attempts = [
            stage.call("record.show", id=each)
            for each in dict.fromkeys(line["id"] for line in lines if line["kind"] == "attempt")
        ]
        told = [each for each in attempts if each["transport"] == "prompt"]
        named = [record for each in told for record in each["obligations"]]
        _check(len(named) == len(set(named)) == 3, f"three things were told, each once ({named})")
        held = [line["at"] for line in lines if line["kind"] == "hold"]
        moments = timeline.of_question(question)
        moments += [timeline.Moment(at, "coordinator", "held", "busy") for at in held[:1]]
        started = stage.call("daemon.status")["started_at"]
        moments.append(timeline.Moment(started, "daemon", "started again", "after SIGKILL"))
        for attempt in told:
            moments += timeline.of_attempt(attempt)
        _say("\nTimeline, read back from the daemon:\n" + timeline.render(moments))
        _say("\n  " + timeline.measured(question, held[0] if held else None, told[0]))

    def _inbox(self, kind: str) -> list[dict[str, Any]]:
        items = self._stage.call("inbox.read", seat="coordinator")["items"]
        return [item for item in items if item["kind"] == kind]

    def _why(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._stage.call("record.why", id=name)
        return found

    def _state(self, name: str) -> str:
        return str(self._stage.call("record.show", id=name)["state"]["kind"])


def _if(found: dict[str, Any], true: Any) -> dict[str, Any] | None:
    return found if true(found) else None


def _check(true: object, what: str) -> None:
    if not true:
        raise NotAsTold(what)


def _step(text: str) -> None:
    _say(f"  ✓ {text}")


def _say(text: str) -> None:
    print(text, flush=True)
