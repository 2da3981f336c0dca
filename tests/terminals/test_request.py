"""One request on one connection: what goes out, and what each way of failing means."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.errors import HostRefused, PaneMissing, Uncertain, Unreachable
from coordinatord.ids import PaneId
from coordinatord.terminals.herdr.backend import HerdrTerminal
from coordinatord.terminals.herdr.request import LINE_LIMIT, ask, failure, line_of
from coordinatord.terminals.herdr.schema import Refusal
from tests.terminals.replay import ReplayHost, Tape, Truth, serving, terminal_at

PANE = PaneId("w1:p1")


@pytest.fixture
async def host() -> AsyncIterator[ReplayHost]:
    """Recording 05's one pane, with an agent in it."""
    tape, truth = Tape("05-two-prompts"), Truth()
    for index, row in enumerate(tape.rows[:20]):
        request = tape.request_of(index) if row.what == "response" else None
        if request is not None and request.conn <= 3:
            truth.fold(request.line, row.line, tape.names)
    async with serving(truth, tape) as replaying:
        yield replaying


@pytest.fixture
def terminal(host: ReplayHost) -> HerdrTerminal:
    return terminal_at(host.path)


async def test_every_request_has_its_own_connection(
    host: ReplayHost, terminal: HerdrTerminal
) -> None:
    """T-1."""
    await terminal.greet()
    await terminal.snapshot()
    await terminal.look(PANE)
    assert host.connections == len(host.requests) == 3


async def test_params_are_objects_and_ids_are_strings(
    host: ReplayHost, terminal: HerdrTerminal
) -> None:
    """T-3: also where there is nothing to say."""
    await terminal.greet()
    await terminal.snapshot()
    assert [request["params"] for request in host.requests] == [{}, {}]
    assert all(isinstance(request["id"], str) for request in host.requests)


@pytest.mark.parametrize("answered", ["", "c:sub:0:probe", "somebody else"])
async def test_answers_are_not_matched_by_id(
    host: ReplayHost, terminal: HerdrTerminal, answered: str
) -> None:
    """T-4: parse errors have an empty id, probe errors a derived one."""
    error = {"id": answered, "error": {"code": "pane_not_found", "message": "gone"}}
    host.scripted["pane.process_info"] = [json.dumps(error).encode() + b"\n"]
    with pytest.raises(PaneMissing):
        await terminal.foreground(PANE)


async def test_line_over_the_limit_is_refused_here(
    host: ReplayHost, terminal: HerdrTerminal
) -> None:
    """T-5: the host would drop it without a word."""
    with pytest.raises(HostRefused) as refused:
        await terminal.prompt(PANE, "x" * LINE_LIMIT)
    assert refused.value.code == "line-too-long"
    assert "agent.prompt" not in [request["method"] for request in host.requests]


def test_limit_counts_the_whole_escaped_line() -> None:
    """T-5: 1,048,576 bytes with the line end are the most that is sent."""
    empty = len(line_of("agent.prompt", {"target": PANE, "text": ""}))
    assert len(line_of("agent.prompt", {"target": PANE, "text": "x" * (LINE_LIMIT - empty)})) == (
        LINE_LIMIT
    )
    with pytest.raises(HostRefused):
        line_of("agent.prompt", {"target": PANE, "text": "x" * (LINE_LIMIT - empty + 1)})
    with pytest.raises(HostRefused):
        line_of("agent.prompt", {"target": PANE, "text": "\n" * (LINE_LIMIT // 2)})


def test_half_a_character_is_refused_here() -> None:
    """A lone surrogate is no text; the host would answer with a parse error."""
    with pytest.raises(HostRefused) as refused:
        line_of("agent.prompt", {"target": PANE, "text": "\ud800"})
    assert refused.value.code == "not-unicode"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_goes_through_as_it_is(text: str) -> None:
    """T-20: nothing is sanitised here; whoever types does that, once."""
    line = line_of("agent.prompt", {"target": PANE, "text": text})
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line)["params"]["text"] == text


async def test_whole_line_is_there_when_the_connection_is(tmp_path: Path) -> None:
    """T-6: the host looks once and else sleeps 100 ms."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, anyio.fail_after(5):
        listener.bind(path)
        listener.listen()
        listener.setblocking(False)

        async def call() -> None:
            with pytest.raises(Unreachable):
                await ask(path, "ping", {}, deadline=5)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.wait_readable(listener)
            peer = listener.accept()[0]
            with peer:
                peer.setblocking(False)
                assert peer.recv(65536) == line_of("ping", {})


@pytest.mark.parametrize("pieces", [[], [b'{"id":"c","res']])
async def test_lost_answer_of_a_read_is_unreachable(
    host: ReplayHost, terminal: HerdrTerminal, pieces: list[bytes]
) -> None:
    """T-5: no answer, or half of one."""
    host.scripted["pane.read"] = pieces
    with pytest.raises(Unreachable):
        await terminal.read(PANE)


@pytest.mark.parametrize("pieces", [[], [b'{"id":"c","res'], [b"garbage\n"], [b"[1]\n"]])
async def test_lost_answer_of_an_act_is_uncertain(
    host: ReplayHost, terminal: HerdrTerminal, pieces: list[bytes]
) -> None:
    """T-19: the text may be there, so it is sent once."""
    host.scripted["agent.prompt"] = pieces
    with pytest.raises(Uncertain):
        await terminal.prompt(PANE, "alpha one")
    assert [request["method"] for request in host.requests] == ["ping", "agent.prompt"]


async def test_silence_is_bounded(host: ReplayHost) -> None:
    """T-19: a host that takes the line and says nothing."""
    terminal = terminal_at(host.path, deadline=0.05)
    await terminal.greet()
    host.scripted |= {"agent.prompt": None, "session.snapshot": None}
    with anyio.fail_after(5):
        with pytest.raises(Uncertain):
            await terminal.prompt(PANE, "alpha one")
        with pytest.raises(Unreachable):
            await terminal.snapshot()
    assert terminal.health().trouble is not None


async def test_answer_in_pieces_is_one_answer(host: ReplayHost, terminal: HerdrTerminal) -> None:
    """A reply that takes a 100 ms tick, or two, is no sign of trouble: nothing is asked again."""
    pong = b'{"id":"c","result":{"type":"pong","version":"0.8.2","protocol":20}}\n'
    host.scripted["ping"] = [bytes([byte]) for byte in pong]
    assert (await terminal.greet()).version == "0.8.2"
    assert len(host.requests) == 1


async def test_nobody_listens(tmp_path: Path) -> None:
    """Recording 07: a stale socket after SIGKILL refuses; no socket is the same."""
    stale = tmp_path / "stale"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(stale))
    for path in (stale, tmp_path / "none", tmp_path / ("long" * 60)):
        with pytest.raises(Unreachable):
            await terminal_at(str(path)).prompt(PANE, "x")


async def test_act_before_the_line_was_taken_is_not_done(tmp_path: Path) -> None:
    """The host acts on whole lines only: a line that it did not take whole is not done."""
    path = str(tmp_path / "s")
    line = {"target": PANE, "text": "x" * 900_000}
    with socket.socket(socket.AF_UNIX) as listener, anyio.fail_after(5):
        listener.bind(path)
        listener.listen()
        with pytest.raises(Unreachable):
            await ask(path, "agent.prompt", line, deadline=0.05, acts=True)


@pytest.mark.parametrize(
    ("code", "reading", "acting"),
    [
        ("pane_not_found", PaneMissing, PaneMissing),
        ("agent_pane_not_found", PaneMissing, PaneMissing),
        ("agent_not_found", HostRefused, HostRefused),
        ("agent_blocked", HostRefused, HostRefused),
        ("agent_not_ready", HostRefused, HostRefused),
        ("agent_prompt_failed", HostRefused, HostRefused),
        ("pane_send_failed", HostRefused, HostRefused),
        ("invalid_request", HostRefused, HostRefused),
        ("never heard of", HostRefused, HostRefused),
        # recording 06: this is what was answered to a request that the host's loop had already
        ("server_unavailable", Unreachable, Uncertain),
        ("internal_error", HostRefused, Uncertain),
        ("timeout", HostRefused, Uncertain),
        ("agent_prompt_stalled", HostRefused, Uncertain),
    ],
)
def test_codes_say_what_was_done(
    code: str, reading: type[Exception], acting: type[Exception]
) -> None:
    """T-19: a stalled or timed-out prompt was typed."""
    refusal = Refusal(code, "because")
    assert type(failure(refusal, acts=False, pane=PANE)) is reading
    assert type(failure(refusal, acts=True, pane=PANE)) is acting
