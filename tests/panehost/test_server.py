"""One request per connection, limits, prompts, attaching: real sockets, real shells."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import anyio
import msgspec
import pytest

from coordinatord.panehost import methods_panes
from coordinatord.panehost.methods import Answer
from coordinatord.panehost.requests import PaneList
from coordinatord.panehost.server import METHODS
from tests.panehost.in_process import Served, host_process, serving, wait_for_socket

PING = b'{"id":"a","method":"ping","params":{}}\n'
AGENT = "HERDR_AGENT=codex sh -c 'printf ready; stty raw; cat'"
"""An agent that shows what it is typed: HERDR_AGENT makes it one (herdr-protocol.md §3.2)."""


async def opened(served: Served) -> str:
    answer = await served.ask("workspace.create", label="api")
    return str(answer["root_pane"]["pane_id"])


async def shows(served: Served, pane: str, text: str) -> None:
    answer = await served.ask(
        "pane.wait_for_output",
        pane_id=pane,
        source="visible",
        match={"type": "substring", "value": text},
        timeout_ms=5000,
    )
    assert answer["type"] == "output_matched", answer


async def run_agent(served: Served, pane: str) -> None:
    await served.ask("pane.send_input", pane_id=pane, text=AGENT, keys=["enter"])
    with anyio.fail_after(10):
        waiting = {"event": "pane_agent_status_changed", "pane_id": pane, "agent_status": "idle"}
        await served.ask("events.wait", match_event=waiting, timeout_ms=9000)


async def test_ping_says_that_this_is_no_herdr() -> None:
    async with serving() as served:
        answer = await served.ask("ping")
        assert answer["protocol"] == 20
        assert answer["capabilities"]["coordinatord_panehost"] is True


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":7,"method":"ping","params":{}}',
        b'{"id":"a","method":"ping"}',
        b'{"id":"a","method":"ping","params":null}',
        b'{"id":"a","method":"nope","params":{}}',
        b'{"id":"a","method":"pane.get","params":{}}',
        b'{"id":"a","method":"pane.read","params":{"pane_id":"x","source":"visible","lines":-1}}',
        b'{"id":"\\ud800","method":"ping","params":{}}',
        b"hello",
        b"[1,2]",
        b"[" * 100_000,
    ],
)
async def test_what_cannot_be_decoded_is_refused_with_the_empty_id(line: bytes) -> None:
    """T-3, T-4: params must be an object, ids strings; parse errors carry no id."""
    async with serving() as served:
        answer = await served.line(line + b"\n")
        assert answer["id"] == ""
        assert answer["error"]["code"] == "invalid_request"
        assert (await served.ask("ping"))["type"] == "pong"


@pytest.mark.parametrize("line", [b"\n", b"{\xff}\n", b"x" * ((1 << 20) + 2) + b"\n"])
async def test_odd_lines_are_dropped_without_a_word(line: bytes) -> None:
    """T-5: an oversize, empty or undecodable line ends the connection without an error."""
    async with serving() as served:
        with contextlib.suppress(anyio.BrokenResourceError):  # closed while we still wrote
            assert await served.line(line) is None
        assert (await served.ask("ping"))["type"] == "pong"


async def test_a_line_that_does_not_come_is_not_waited_for() -> None:
    async with serving(pace=0.01) as served, served.connect() as connection:
        await connection.send(b'{"id":"slow","me')
        with anyio.fail_after(5):
            assert await connection.line() is None


async def test_the_second_request_on_a_connection_is_not_answered() -> None:
    """T-1: one request per connection."""
    async with serving() as served, served.connect() as connection:
        await connection.send(PING + PING)
        assert await connection.line() is not None
        with anyio.fail_after(5):
            assert await connection.line() is None


async def test_a_byte_on_a_subscription_ends_it() -> None:
    """T-2: after the answer the connection is one-way."""
    async with serving() as served:
        connection = await served.subscribe({"type": "pane.closed"})
        await connection.send(b"x")
        with anyio.fail_after(5):
            assert await connection.line() is None
        await connection.aclose()


async def test_a_method_with_a_bug_ends_its_own_request_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(host: object, params: object) -> Answer:
        raise ZeroDivisionError

    table = {**METHODS, PaneList: broken}
    monkeypatch.setattr("coordinatord.panehost.server.METHODS", table)
    assert methods_panes.TABLE[PaneList] is not broken
    async with serving() as served:
        assert (await served.ask("pane.list"))["code"] == "internal_error"
        assert (await served.ask("ping"))["type"] == "pong"


async def test_a_pane_knows_where_it_is_and_nothing_of_another_host() -> None:
    base = {"PATH": "/usr/bin:/bin", "HOME": "/"}
    async with serving(base=base) as served:
        pane = await opened(served)
        text = "echo [$HERDR_ENV,$HERDR_PANE_ID,$HERDR_TAB_ID,$HERDR_WORKSPACE_ID,$LANG]"
        await served.ask("pane.send_input", pane_id=pane, text=text, keys=["enter"])
        await shows(served, pane, "[1,w1:p1,w1:t1,w1,C.UTF-8]")


async def test_a_prompt_is_answered_before_its_enter_and_typed_once() -> None:
    async with serving() as served:
        pane = await opened(served)
        await run_agent(served, pane)
        answer = await served.ask("agent.prompt", target=pane, text="hello you")
        assert answer["type"] == "agent_prompted"
        await shows(served, pane, "hello you")


async def test_refusals_of_a_prompt_come_in_their_order() -> None:
    """herdr-protocol.md §7.1: empty, unknown, blocked, no known kind; nothing is typed."""
    async with serving() as served:
        pane = await opened(served)
        codes = [(await served.ask("agent.prompt", target=pane, text="")).get("code")]
        codes.append((await served.ask("agent.prompt", target=pane, text="x")).get("code"))
        report = {"pane_id": pane, "source": "demo", "agent": "docs-bot"}
        await served.ask("pane.report_agent", state="blocked", **report)
        codes.append((await served.ask("agent.prompt", target=pane, text="x")).get("code"))
        await served.ask("pane.report_agent", state="idle", **report)
        codes.append((await served.ask("agent.prompt", target=pane, text="x")).get("code"))
        assert codes == [
            "empty_agent_prompt",
            "agent_not_found",
            "agent_blocked",
            "agent_not_ready",
        ]


async def test_a_prompt_without_effect_is_stalled() -> None:
    """T-19: stalled says nothing about the text, which stays typed."""
    async with serving() as served:
        pane = await opened(served)
        await run_agent(served, pane)
        answer = await served.ask("agent.prompt", target=pane, text="lost?", wait={})
        assert answer["code"] == "agent_prompt_stalled"


async def test_status_comes_from_hooks_and_reaches_subscribers_at_once() -> None:
    async with serving() as served:
        pane = await opened(served)
        await run_agent(served, pane)
        stream = await served.subscribe({"type": "pane.agent_status_changed", "pane_id": pane})
        for state in ("working", "idle"):
            await served.ask(
                "pane.report_agent", pane_id=pane, source="demo", agent="codex", state=state
            )
        with anyio.fail_after(5):
            lines = [msgspec.json.decode(await stream.line() or b"") for _ in range(2)]
        await stream.aclose()
        assert [line["data"]["agent_status"] for line in lines] == ["working", "idle"]


async def test_attaching_repaints_passes_bytes_and_ends_with_the_pane() -> None:
    async with serving() as served:
        pane = await opened(served)
        await served.ask("pane.send_input", pane_id=pane, text="echo be''fore", keys=["enter"])
        await shows(served, pane, "before")
        request = {"id": "1", "method": "coordinatord.pane.attach", "params": {"pane_id": pane}}
        async with served.connect() as connection:
            await connection.send(msgspec.json.encode(request) + b"\n")
            answer = msgspec.json.decode(await connection.line() or b"")
            assert answer["result"]["type"] == "pane_attached"
            with anyio.fail_after(5):
                seen = await connection.receive()
                while b"before" not in seen:
                    seen += await connection.receive()
                await connection.send(b'{"resize":[70,20]}\n{"input":"stty size; exit\\r"}\n')
                while piece := await connection.receive():
                    seen += piece
            assert b"20 70" in seen


async def test_the_last_one_to_detach_gives_the_terminal_its_size_back() -> None:
    async with serving() as served:
        pane = await opened(served)
        params = {"pane_id": pane, "columns": 50, "rows": 10}
        request = {"id": "1", "method": "coordinatord.pane.attach", "params": params}
        async with served.connect() as connection:
            await connection.send(msgspec.json.encode(request) + b"\n")
            await connection.line()
            terminal = served.host.pane(pane).terminal
            assert terminal is not None
            assert terminal.screen.columns == 50
        with anyio.fail_after(5):
            while served.host.pane(pane).attached:
                await anyio.lowlevel.checkpoint()
        assert (terminal.screen.columns, terminal.screen.rows) == (120, 40)


@pytest.mark.parametrize("pattern", ["(", "(a+)+$", "(a|aa)+$", r"(\w*x)*", "x" * 5000])
async def test_a_pattern_that_could_hold_up_the_host_is_refused(pattern: str) -> None:
    async with serving() as served:
        pane = await opened(served)
        match = {"type": "regex", "value": pattern}
        answer = await served.ask(
            "pane.wait_for_output", pane_id=pane, source="visible", match=match, timeout_ms=0
        )
        assert answer["code"] == "invalid_regex"


async def test_stopping_tells_output_waits_and_ends_the_rest() -> None:
    async with serving() as served:
        pane = await opened(served)
        params = {
            "pane_id": pane,
            "source": "recent",
            "match": {"type": "substring", "value": "NEVER"},
        }
        request = {"id": "w", "method": "pane.wait_for_output", "params": params}
        async with served.connect() as waiting:
            await waiting.send(msgspec.json.encode(request) + b"\n")
            stream = await served.subscribe({"type": "pane.closed"})
            assert await served.ask("server.stop") == {"type": "ok"}
            with anyio.fail_after(5):
                told = msgspec.json.decode(await waiting.line() or b"{}")
                assert told["error"]["code"] == "server_unavailable"
                assert await stream.line() is None
            await stream.aclose()


def test_one_host_per_state_file_and_nothing_printed(runtime_base: Path) -> None:
    first = host_process(runtime_base)
    try:
        wait_for_socket(runtime_base)
        before = os.lstat(runtime_base / "s")
        assert stat.S_IMODE(before.st_mode) == 0o600
        second = host_process(runtime_base)
        assert second.communicate(timeout=30) == (b"", None)
        assert second.returncode == 1
        assert os.path.samestat(before, os.lstat(runtime_base / "s"))
        assert f"pid {first.pid}" in (runtime_base / "log").read_text()
    finally:
        first.terminate()
        told, _ = first.communicate(timeout=30)
    assert (first.returncode, told) == (0, b"")
    assert not (runtime_base / "s").exists()
