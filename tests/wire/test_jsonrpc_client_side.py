"""A client's end of a connection, judged by the daemon's end and by an independent library."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pjrpc.common import BatchRequest, BatchResponse, Request, Response

from coordinatord.wire.client_side import Answered, ClientSide, Failed, Notified, NotJsonRpc
from coordinatord.wire.jsonrpc import Call, Code, Error, error
from coordinatord.wire.lines import LineTooLong
from coordinatord.wire.server_side import Cancelled, Reply, ServerSide


def serve(side: ServerSide, piece: bytes) -> bytes:
    """What a server sends that returns the params of ``echo`` and refuses all else."""
    side.feed(piece)
    sent = b""
    for event in side.events():
        if isinstance(event, Reply):
            sent += event.line
        elif isinstance(event, Call):
            refusal = error(Code.REFUSED, "empty", "the text is empty", hint="say something")
            sent += side.answer(event, event.params if event.method == "echo" else refusal)
    return sent


def events_of(client: ClientSide, piece: bytes) -> list[Any]:
    client.feed(piece)
    return list(client.events())


def test_both_ends_understand_each_other() -> None:
    client, server = ClientSide(), ServerSide()
    first, asked = client.call("echo", {"text": "ä"})
    second, more = client.call("refuse", {})
    answered, failed = events_of(client, serve(server, asked + more))
    assert answered == Answered(first, '{"text":"ä"}'.encode())
    assert isinstance(failed, Failed)
    assert (failed.id, failed.error.code) == (second, -32000)
    assert failed.error.data is not None
    assert (failed.error.data.reason, failed.error.data.hint) == ("empty", "say something")


def test_a_cancel_reaches_the_call_and_a_notification_the_client() -> None:
    client, server = ClientSide(), ServerSide()
    id, asked = client.call("wait", {})
    server.feed(asked + client.cancel(id))
    call, cancelled = server.events()
    assert cancelled == Cancelled(call) if isinstance(call, Call) else False
    assert events_of(client, server.notify("watch.line", {"seq": 4})) == [
        Notified("watch.line", b'{"seq":4}')
    ]


def test_an_answer_to_no_open_call_is_thrown_away() -> None:
    client = ClientSide()
    client.call("echo", {})
    line = b'{"jsonrpc":"2.0","id":1,"result":1}\n'
    assert events_of(client, line + line) == [Answered(1, b"1")]
    assert (
        events_of(client, b'{"jsonrpc":"2.0","id":"1","result":1}\n{"id":9,"error":{"code":1}}\n')
        == []
    )


def test_a_farewell_belongs_to_no_call() -> None:
    line = b'{"id":null,"error":{"code":-32000,"message":"m","data":{"reason":"stopping"}}}\n'
    (event,) = events_of(ClientSide(), line)
    assert isinstance(event, Failed)
    assert event.id is None


def test_an_error_of_a_foreign_shape_is_understood() -> None:
    client = ClientSide()
    client.call("m", {})
    line = b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":["x"]}}\n'
    assert events_of(client, line) == [Failed(1, Error(-1, "no"))]


@pytest.mark.parametrize(
    "line", [b"HTTP/1.1 400 Bad Request\r\n", b"3\n", b'{"id":1,"error":5}\n', b"\xff\n"]
)
def test_what_is_no_json_rpc_server_is_said(line: bytes) -> None:
    client = ClientSide()
    client.call("m", {})
    with pytest.raises(NotJsonRpc):
        events_of(client, line)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=10))
def test_noise_from_a_server_raises_nothing_else(pieces: list[bytes]) -> None:
    client = ClientSide(limit=100)
    with contextlib.suppress(NotJsonRpc, LineTooLong):
        for piece in pieces:
            events_of(client, piece)


# the independent judge: what pjrpc writes we read, what we write pjrpc reads


@pytest.mark.parametrize("id", [1, "abc", 12345678901234567890])
def test_pjrpc_reads_our_answers(id: int | str) -> None:
    asked = json.dumps(Request(method="echo", params={"a": 1}, id=id).to_json()).encode()
    answer = Response.from_json(json.loads(serve(ServerSide(), asked + b"\n")))
    assert (answer.id, answer.unwrap_result()) == (id, {"a": 1})


def test_pjrpc_reads_our_errors_and_batches() -> None:
    batch = BatchRequest(Request("echo", [1], id=1), Request("echo", [2]), Request("no", id="z"))
    asked = json.dumps(batch.to_json()).encode()
    answers = BatchResponse.from_json(json.loads(serve(ServerSide(), asked + b"\n")))
    by_id = {answer.id: answer for answer in answers}
    assert set(by_id) == {1, "z"}
    assert by_id[1].unwrap_result() == [1]
    failure = by_id["z"].unwrap_error()
    assert failure.code == -32000
    assert failure.data == {"reason": "empty", "hint": "say something"}
