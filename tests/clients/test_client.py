"""The typed client for Python programs, async and blocking, against a toy daemon."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from coordinatord import __version__, client, locate
from coordinatord.features.questions.records import Question
from coordinatord.features.questions.requests import AskQuestion, ResolveQuestion
from coordinatord.features.views.requests import ReadInbox
from tests.clients.toy import CLOSE, SILENT, Notes, Refusal, Respond, Toy, coordctl

Start = Callable[[Respond], Toy]
INBOX: dict[str, Any] = {"seat": "coordinator", "items": [], "newer": 1}
QUESTION: dict[str, Any] = {
    "id": "q-9f3t8b2c",
    "seq": 1,
    "at": 2.0,
    "task": "t-1h6v5w0z",
    "text": "Which port?",
    "by": "worker:t-1h6v5w0z",
    "to": "coordinator",
    "state": {"kind": "open"},
}


def _answer(request: dict[str, Any]) -> Any:
    return QUESTION if request["method"].startswith("question") else INBOX


def _line(seq: int) -> dict[str, Any]:
    return {"seq": seq, "at": 1.0, "kind": "task", "id": "t-1h6v5w0z", "newer": True}


# async


async def test_a_call_answers_what_the_request_says(toy: Start) -> None:
    server = toy(_answer)
    environ = {"HERDR_PANE_ID": "w1:p2", "COORDINATORD_TOKEN": "secret"}
    with anyio.fail_after(5):
        async with client.connect(
            socket=str(server.path), environ=environ, client="mine"
        ) as connected:
            question = await connected.call(AskQuestion(task="t-1h6v5w0z", text="Which port?"))
            inbox = await connected.call(ReadInbox())
    assert isinstance(question, Question)
    assert inbox.seat == "coordinator"
    assert server.connections == 1
    assert server.greetings == [
        {"client": "mine", "version": __version__, "pane_id": "w1:p2", "token": "secret"}
    ]
    assert len(server.received[0]["params"]["key"]) >= 16
    assert "key" not in server.received[1]["params"]


async def test_calls_at_once_share_a_connection(toy: Start) -> None:
    server = toy(_answer)
    found: list[str] = []

    async def read(connected: client.Client) -> None:
        found.append((await connected.call(ReadInbox())).seat)

    with anyio.fail_after(5):
        async with (
            client.connect(socket=str(server.path), environ={}) as connected,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(20):
                tasks.start_soon(read, connected)
    assert found == ["coordinator"] * 20
    assert server.connections == 1


async def test_a_refusal_has_reason_and_hint(toy: Start) -> None:
    def respond(request: dict[str, Any]) -> Any:
        raise Refusal("a-newer-reason", "No.", "Do this.")

    server = toy(respond)
    with anyio.fail_after(5), pytest.raises(client.CallFailed) as caught:
        async with client.connect(socket=str(server.path), environ={}) as connected:
            await connected.call(ReadInbox())
    assert (caught.value.reason, caught.value.message) == ("a-newer-reason", "No.")
    assert (caught.value.hint, caught.value.code) == ("Do this.", -32000)


async def test_a_lost_connection_is_retried_once_with_the_same_key(toy: Start) -> None:
    """D-40: one key per call, however often it is sent."""
    answers = iter((CLOSE, QUESTION, CLOSE, CLOSE, CLOSE, CLOSE))
    server = toy(lambda request: next(answers))
    with anyio.fail_after(5):
        async with client.connect(socket=str(server.path), environ={}) as connected:
            await connected.call(ResolveQuestion(question="q-9f3t8b2c"))
            with pytest.raises(client.OutcomeUncertain):
                await connected.call(ResolveQuestion(question="q-9f3t8b2c", key="mine"))
            with pytest.raises(client.NoDaemon):
                await connected.call(ReadInbox())
    keys = [request["params"].get("key") for request in server.received]
    assert keys[0] == keys[1] != "mine"
    assert keys[2:] == ["mine", "mine", None, None]


async def test_silence_ends_and_the_connection_stays_of_use(toy: Start) -> None:
    answers = iter((SILENT, SILENT, INBOX))  # the second request is the cancellation
    server = toy(lambda request: next(answers))
    with anyio.fail_after(5):
        async with client.connect(socket=str(server.path), environ={}) as connected:
            with pytest.raises(client.NoDaemon):
                await connected.call(ReadInbox(), timeout=0.05)
            assert (await connected.call(ReadInbox())).seat == "coordinator"
    methods = [request["method"] for request in server.received]
    assert methods == ["inbox.read", "$/cancel", "inbox.read"]


async def test_without_a_daemon_it_says_so(sockets: Path, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with client.connect(socket=str(sockets / "no.sock"), environ={}) as connected:
            with pytest.raises(client.NoDaemon) as caught:
                await connected.call(ReadInbox())
            assert caught.value.reason == "no-daemon"
        named = str(sockets / "no.sock")
        told = await to_thread.run_sync(
            lambda: coordctl("status", "--json", "--socket", named, cwd=tmp_path)
        )
        said = json.loads(told.stderr)  # both programs say the same
        assert (said["message"], said["data"]["hint"]) == (caught.value.message, caught.value.hint)
        with pytest.raises(client.NoDaemon) as caught:
            async with client.connect(directory=str(tmp_path), environ={}):
                pass
        assert caught.value.reason == "no-workspace"
        await to_thread.run_sync(lambda: locate.make(locate.Workspace(str(tmp_path), {})))
        environ = {"XDG_RUNTIME_DIR": str(sockets)}
        async with client.connect(
            directory=str(tmp_path), environ=environ, start=False
        ) as connected:
            with pytest.raises(client.NoDaemon):
                await connected.call(ReadInbox())
    assert [each.name for each in (tmp_path / ".coordinatord").iterdir()] == [".gitignore"]


def _watched() -> Respond:
    answers = iter(
        (
            Notes({"since": 0, "seq": 2}, _line(1), _line(2), close=True),
            Refusal("slow-watcher"),
            Notes({"since": 2, "seq": 3}, _line(2), _line(3)),
        )
    )

    def respond(request: dict[str, Any]) -> Any:
        answer = next(answers)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    return respond


async def test_a_watch_gives_each_line_once_and_resumes_after_it(toy: Start) -> None:
    server = toy(_watched())
    seen: list[int] = []
    with anyio.fail_after(5):
        async with client.connect(socket=str(server.path), environ={}) as connected:
            async for change in connected.watch(since=0):
                seen.append(change.seq)
                if change.seq == 3:
                    break
    assert seen == [1, 2, 3]
    assert [each["params"]["since"] for each in server.received] == [0, 2, 2]


def _shorter(request: dict[str, Any]) -> Any:
    line = {"seq": 3, "at": 1.0, "kind": "task", "id": "t-1h6v5w0z"}
    return Notes({"since": 2, "seq": 2}, line)


async def test_a_watch_from_beyond_the_end_goes_on_where_the_daemon_says(toy: Start) -> None:
    """The cursor may be of another database: one that was put back, or begun anew."""
    server = toy(_shorter)
    with anyio.fail_after(5):
        async with client.connect(socket=str(server.path), environ={}) as connected:
            async for change in connected.watch(since=900):
                assert change.seq == 3
                break


# blocking


def test_the_blocking_client_calls_and_retries(toy: Start) -> None:
    """D-40: one key per call, however often it is sent."""
    answers = iter((INBOX, CLOSE, QUESTION, CLOSE, CLOSE))
    server = toy(lambda request: next(answers))
    with client.connect_blocking(socket=str(server.path), environ={}) as connected:
        assert connected.call(ReadInbox()).seat == "coordinator"
        assert connected.call(ResolveQuestion(question="q-9f3t8b2c")).id == "q-9f3t8b2c"
        with pytest.raises(client.OutcomeUncertain):
            connected.call(ResolveQuestion(question="q-9f3t8b2c"))
    keys = [request["params"].get("key") for request in server.received]
    assert keys[1] == keys[2]
    assert keys[3] == keys[4] != keys[1]


def test_the_blocking_client_fails_like_the_other(toy: Start, sockets: Path) -> None:
    def respond(request: dict[str, Any]) -> Any:
        if request["method"] == "inbox.read":
            return SILENT
        raise Refusal("unknown-id", "No.", "Do this.")

    server = toy(respond)
    with client.connect_blocking(socket=str(server.path), environ={}) as connected:
        with pytest.raises(client.CallFailed) as caught:
            connected.call(ResolveQuestion(question="q-9f3t8b2c"))
        assert (caught.value.reason, caught.value.hint) == ("unknown-id", "Do this.")
        with pytest.raises(client.NoDaemon):
            connected.call(ReadInbox(), timeout=0.05)
    with (
        client.connect_blocking(socket=str(sockets / "no.sock"), environ={}) as connected,
        pytest.raises(client.NoDaemon),
    ):
        connected.call(ReadInbox())


def test_the_blocking_watch_resumes_too(toy: Start) -> None:
    server = toy(_watched())
    seen: list[int] = []
    with client.connect_blocking(socket=str(server.path), environ={}) as connected:
        changes = connected.watch(since=0)
        for change in changes:
            seen.append(change.seq)
            if change.seq == 3:
                break
        changes.close()
    assert seen == [1, 2, 3]


def test_the_blocking_watch_from_beyond_the_end_goes_on_where_the_daemon_says(toy: Start) -> None:
    with client.connect_blocking(socket=str(toy(_shorter).path), environ={}) as connected:
        changes = connected.watch(since=900)
        assert next(changes).seq == 3
        changes.close()
