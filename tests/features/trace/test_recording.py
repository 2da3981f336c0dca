"""A trace of a living daemon: nothing of any text is in it, and deciding again gives the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from coordinatord.features.delivery import pacing
from coordinatord.features.delivery.records import REACHED
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.reports.requests import FileReport
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.trace import lines
from coordinatord.features.trace.concealing import Concealer
from coordinatord.features.trace.digests import digests
from coordinatord.features.trace.replaying import Replayed, replay
from coordinatord.features.trace.requests import RecordTrace
from coordinatord.features.typing import gate
from coordinatord.features.typing.records import Looked
from coordinatord.kinds import Composer, read_screen
from coordinatord.terminals.port import AgentSession, Foreground, Program
from tests.features.made import SHELL, sighting
from tests.house import KINDS, House, living

SECRETS = (
    "zebra", "quagga", "okapi", "tapir", "ibex", "gnu", "lemur", "jackal", "hyrax", "dingo", "numbat",
)  # fmt: skip


async def recorded(house: House, folder: Path) -> tuple[list[dict[str, Any]], bytes]:
    """A day in a workspace whose every text is a secret; its trace as dicts and as a file."""
    async with anyio.create_task_group() as group:
        await group.start(house.parts.recorder.run)
        link = house.link()
        answer = await house.call(RecordTrace(), link=link)
        await a_secret_day(house)
        await house.until(lambda: any(_stage(note) in REACHED for _, note in link.notes))
        link.closed.set()
        group.cancel_scope.cancel()
    found = [bytes(answer.begin), *(msgspec.json.encode(note) for _, note in link.notes)]
    return [json.loads(each) for each in found], b"".join(each + b"\n" for each in found)


def _stage(note: Any) -> str | None:
    return note.stage if isinstance(note, lines.AttemptLine) else None


async def a_secret_day(house: House) -> None:
    host = house.host
    boss = host.add_agent(session="/home/zebra/session")
    worker = host.add_agent(status="working")
    for pane in (boss, worker):
        found = host.panes[pane]
        found.label, found.cwd, found.tokens = "quagga", "/srv/okapi", {"title": "tapir"}
        found.agent.name = "ibex"  # type: ignore[union-attr]
    await house.parts.lookout.look_around()
    await house.call(InitSeat(), boss)
    task = await house.call(NewTask(title="gnu", brief="lemur", worker_pane=worker))
    host.type_draft(boss, "numbat")
    await house.call(AskQuestion(task=task.id, text="jackal"), worker)
    await house.call(SendMessage(to=boss, text="hyrax", inline=True))
    await house.call(FileReport(task=task.id, outcome="completed", text="dingo"), worker)
    await house.clock.sleep(2)
    host.agent(boss).composer = ""
    host.set_status(worker, "idle")


async def test_no_word_of_anybody_is_in_a_trace(tmp_path: Path) -> None:
    """Titles, briefs, texts, drafts, labels, folders, tokens, sessions: none of it is told."""
    async with living(tmp_path) as house:
        told, raw = await recorded(house, tmp_path)
    assert {"begin", "event", "call", "judge", "look", "decide", "record", "attempt"} <= {
        each["line"] for each in told
    }
    assert [secret for secret in SECRETS if secret.encode() in raw] == []


async def test_what_was_decided_is_decided_again(tmp_path: Path) -> None:
    """The same code on the masked lines comes to the same decisions and finds no promise broken."""
    async with living(tmp_path) as house:
        _, raw = await recorded(house, tmp_path)
    found = replayed(raw)
    assert found.same, found
    assert found.kinds == []
    assert found.decisions > 5
    assert found.unlike == 0


async def test_another_decision_is_found_with_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A developer who changes a rule sees where it changes what happened."""
    async with living(tmp_path) as house:
        _, raw = await recorded(house, tmp_path)
    monkeypatch.setattr(gate, "composer_empty", lambda reading: None)
    found = replayed(raw)
    assert found.diverged >= 1
    assert found.first is not None
    assert (found.first.what, found.first.recorded, found.first.now) == ("look", "draft", "clear")
    assert isinstance(found.first.seen, lines.LookLine)
    assert found.first.seen.screen == "› xxxxxx\n\n  xxxx xxxxxxx · /xxxx"


async def test_a_recording_costs_nothing_when_it_is_over(tmp_path: Path) -> None:
    """Whoever went away is told nothing any more."""
    async with living(tmp_path) as house:
        await recorded(house, tmp_path)
        assert not house.parts.trace.on


def replayed(raw: bytes) -> Replayed:
    return replay(raw.splitlines(keepends=True), KINDS, digests(KINDS))


def test_a_line_carries_all_that_a_decision_goes_by() -> None:
    """A field that a recipient gets is in the line too, or replays would go by less than the daemon."""
    carried = set(lines.Considered.__struct_fields__)
    assert {
        "where" if name == "seen" else name for name in pacing.Recipient.__struct_fields__
    } == carried


def test_programs_keep_what_they_are_recognised_by() -> None:
    """An agent behind an interpreter with a secret in its arguments is still that agent."""
    argv = ("/usr/bin/node", "/home/zebra/node_modules/@openai/codex/cli.js", "do quagga now")
    front = Foreground(
        shell=SHELL, group=9, programs=(Program(pid=9, name="MainThread", argv=argv),)
    )
    screen = "› \x1b[2mokapi\x1b[0m\n\n  fake default · /work\n"
    reading = read_screen(KINDS["codex"], screen)
    assert isinstance(reading, Composer)
    verdict = gate.verdict(sighting(), "same", front, reading, KINDS)
    line = conceal(Looked(sighting(), "same", front, reading, screen, verdict))
    raw = header() + msgspec.json.encode(line) + b"\n"
    assert replayed(raw).same
    assert b"zebra" not in raw
    assert b"quagga" not in raw
    assert b"okapi" not in raw


def test_an_agent_of_an_unknown_kind_is_told_apart_and_not_named() -> None:
    seen = msgspec.structs.replace(
        sighting(agent="zebra"),
        session=AgentSession("herdr:zebra", "zebra", "path", "/home/quagga"),
    )
    front = Foreground(
        shell=SHELL, group=9, programs=(Program(pid=9, name="zebra", argv=("zebra",)),)
    )
    verdict = gate.verdict(seen, "same", front, None, KINDS)
    raw = header() + msgspec.json.encode(conceal(Looked(seen, "same", front, None, None, verdict)))
    assert replayed(raw + b"\n").same
    assert b"zebra" not in raw
    assert b"quagga" not in raw


def conceal(fact: object, kinds: Mapping[str, Any] = KINDS) -> lines.Line:
    line = Concealer(kinds, b"salt").line(fact, 1.0)
    assert line is not None
    return line


def header() -> bytes:
    return msgspec.json.encode(lines.Header(at=0.0, version="0")) + b"\n"


async def test_a_recording_that_fails_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is missing, the trace says that one is, and what was due is told."""
    honest, failures = Concealer.line, iter((True,))

    def faulty(self: Concealer, fact: object, at: float) -> lines.Line | None:
        if isinstance(fact, Looked) and next(failures, False):
            raise ValueError("a bug")
        return honest(self, fact, at)

    monkeypatch.setattr(Concealer, "line", faulty)
    async with living(tmp_path) as house:
        told, _ = await recorded(house, tmp_path)
    assert [each["why"] for each in told if each["line"] == "gap"] == ["a line could not be made"]
