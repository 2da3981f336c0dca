"""The daemon's end of a connection: what is answered, how, and how often."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinatord.wire.jsonrpc import Call, Code, error
from coordinatord.wire.lines import MAX_LINE
from coordinatord.wire.server_side import Cancelled, Reply, ServerSide


def converse(side: ServerSide, piece: bytes) -> list[Any]:
    """Answers to ``piece`` by a server that answers each call at once with its params."""
    side.feed(piece)
    sent = b""
    for event in side.events():
        match event:
            case Call():
                sent += side.answer(event, event.params or b"null")
            case Reply(line):
                sent += line
            case Cancelled():
                pass
    return [json.loads(line) for line in sent.splitlines()]


def ask(text: bytes) -> Any:
    """The only answer to one line."""
    (answer,) = converse(ServerSide(), text + b"\n")
    return answer


def code_and_reason(answer: Any) -> tuple[int, str]:
    return answer["error"]["code"], answer["error"]["data"]["reason"]


@pytest.mark.parametrize(
    "id",
    [b"1", b"-7", b"1.0", b"1e3", b"9" * 40, b'"q"', b'"\\u0041"', b'""', b"null", b"1e999999"],
)
def test_an_id_goes_back_as_it_came(id: bytes) -> None:
    side = ServerSide()
    side.feed(b'{"jsonrpc":"2.0","id": %b ,"method":"m"}\n' % id)
    (call,) = side.events()
    assert isinstance(call, Call)
    assert side.answer(call, b"7") == b'{"jsonrpc":"2.0","id":%b,"result":7}\n' % id


def test_pipelined_calls_come_in_order_and_in_any_pieces() -> None:
    stream = b"".join(
        b'{"jsonrpc":"2.0","id":%d,"method":"m","params":[%d]}\r\n' % (n, n) for n in range(9)
    )
    whole = converse(ServerSide(), stream)
    assert [answer["id"] for answer in whole] == list(range(9))
    side = ServerSide()
    assert [a for n in range(len(stream)) for a in converse(side, stream[n : n + 1])] == whole


def test_a_notification_is_not_answered() -> None:
    assert converse(ServerSide(), b'{"jsonrpc":"2.0","method":"m","params":{}}\n') == []


def test_blank_lines_are_nothing() -> None:
    assert converse(ServerSide(), b"\n  \r\n\n") == []


def test_a_line_without_its_newline_counts_at_the_end() -> None:
    side = ServerSide()
    assert converse(side, b'{"jsonrpc":"2.0","id":1,"method":"m"}') == []
    side.end()
    assert converse(side, b"") == [{"jsonrpc": "2.0", "id": 1, "result": None}]


@pytest.mark.parametrize(
    "line", [b"{", b"nul", b'{"id":1}x', b'{"id":01}', b'{"a":"\x00"}', b"[1,", b"[" * 200_000,
             b'{"jsonrpc":"2.0","id":1,"params":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
             b'{"id":"\\ud8"}'],
)  # fmt: skip
def test_what_is_not_json_is_a_parse_error(line: bytes) -> None:
    answer = ask(line)
    assert answer["id"] is None
    assert code_and_reason(answer) == (-32700, "parse-error")


def test_invalid_utf8_is_a_parse_error_of_its_own() -> None:
    answer = ask(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"\xff"}}')
    assert answer["id"] is None
    assert code_and_reason(answer) == (-32700, "not-unicode")


@pytest.mark.parametrize(
    "text", [b"\\ud800", b"\\udc00", b"a\\uD83D", b"\\ud83d\\ud83d\\ude00", b"\\\\\\ud800"]
)
def test_a_lone_surrogate_is_refused_under_its_id(text: bytes) -> None:
    """G-10: lone surrogates in JSON are told apart from broken JSON."""
    answer = ask(b'{"jsonrpc":"2.0","id":"x","method":"m","params":{"text":"%b"}}' % text)
    assert answer["id"] == "x"
    assert code_and_reason(answer) == (-32000, "not-unicode")


@pytest.mark.parametrize("text", [b"\\ud83d\\ude00", b"\\\\ud800", b"\\ufffd"])
def test_a_whole_pair_and_a_mere_backslash_are_text(text: bytes) -> None:
    answer = ask(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"%b"}}' % text)
    assert answer["result"] == json.loads(b'{"text":"%b"}' % text)


def test_a_lone_surrogate_in_the_id_leaves_no_id() -> None:
    answer = ask(b'{"jsonrpc":"2.0","id":"\\ud800","method":"m"}')
    assert (answer["id"], code_and_reason(answer)) == (None, (-32000, "not-unicode"))


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":1}', 1),
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', 1),
        (b'{"id":"a","method":"m"}', "a"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":"text"}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}', 1),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":' + b"1" * 1025 + b',"method":"m"}', None),
        (b'{"jsonrpc":"2.0","method":1}', None),
        (b"{}", None),
        (b"3", None),
        (b'"text"', None),
        (b"[]", None),
        (b"[" + b",".join([b"1"] * 1001) + b"]", None),
    ],
)
def test_json_that_is_no_request_is_an_invalid_request(line: bytes, id: object) -> None:
    answer = ask(line)
    assert answer["id"] == id
    assert code_and_reason(answer) == (-32600, "invalid-request")


def test_a_batch_is_answered_in_one_line_when_its_last_call_is() -> None:
    side = ServerSide()
    side.feed(
        b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},5,'
        b'{"jsonrpc":"2.0","id":2,"method":"c"}]\n'
    )
    a, b, c = (event for event in side.events() if isinstance(event, Call))
    assert side.answer(c, b"3") == b""
    assert side.answer(b, b"2") == b""
    (line,) = side.answer(a, b"1").splitlines()
    answers = {answer["id"]: answer.get("result") for answer in json.loads(line)}
    assert answers == {1: 1, 2: 3, None: None}


def test_a_batch_of_notifications_is_not_answered() -> None:
    assert (
        converse(
            ServerSide(),
            b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"$/cancel"}]\n',
        )
        == []
    )


def test_a_batch_without_any_request_is_answered_item_by_item() -> None:
    (answers,) = converse(ServerSide(), b"[1,2]\n")
    assert [code_and_reason(answer)[0] for answer in answers] == [-32600, -32600]


def test_a_lone_surrogate_in_a_batch_spoils_only_its_own_request() -> None:
    (answers,) = converse(
        ServerSide(),
        b'[{"jsonrpc":"2.0","id":1,"method":"m","params":["\\ud800"]} , '
        b'{"jsonrpc":"2.0","id":2,"method":"m","params":["\\ufffd"]}]\n',
    )
    by_id = {answer["id"]: answer for answer in answers}
    assert code_and_reason(by_id[1]) == (-32000, "not-unicode")
    assert by_id[2]["result"] == ["\ufffd"]


def open_call(side: ServerSide, line: bytes) -> Call:
    side.feed(line + b"\n")
    (event,) = side.events()
    assert isinstance(event, Call)
    return event


@pytest.mark.parametrize(
    ("first", "second"), [(b"1", b"1"), (b"1", b"1.0"), (b'"A"', b'"\\u0041"')]
)
def test_an_open_id_is_not_taken_twice(first: bytes, second: bytes) -> None:
    side = ServerSide()
    call = open_call(side, b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % first)
    (refusal,) = converse(side, b'{"jsonrpc":"2.0","id":%b,"method":"m"}\n' % second)
    assert (refusal["id"], code_and_reason(refusal)) == (None, (-32600, "invalid-request"))
    (malformed,) = converse(side, b'{"jsonrpc":"2.0","id":%b,"method":5}\n' % second)
    assert malformed["id"] is None
    assert json.loads(side.answer(call, b"5"))["result"] == 5
    assert len(converse(side, b'{"jsonrpc":"2.0","id":%b,"method":"m"}\n' % second)) == 1


def test_a_call_is_answered_once() -> None:
    side = ServerSide()
    call = open_call(side, b'{"jsonrpc":"2.0","id":1,"method":"m"}')
    side.answer(call, b"1")
    with pytest.raises(KeyError):
        side.answer(call, b"1")


def test_cancel_names_the_open_call() -> None:
    side = ServerSide()
    call = open_call(side, b'{"jsonrpc":"2.0","id":"w","method":"m"}')
    side.feed(b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":"w"}}\n')
    assert list(side.events()) == [Cancelled(call)]
    answer = side.answer(call, error(Code.CANCELLED, "cancelled", "the caller took it back"))
    assert code_and_reason(json.loads(answer)) == (-32800, "cancelled")
    side.feed(b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":"w"}}\n')
    assert list(side.events()) == []


@pytest.mark.parametrize("params", [b"{}", b"[1]", b'{"id":null}', b'{"id":[]}', b'{"id":2}'])
def test_a_cancel_of_nothing_is_nothing(params: bytes) -> None:
    side = ServerSide()
    open_call(side, b'{"jsonrpc":"2.0","id":1,"method":"m"}')
    side.feed(b'{"jsonrpc":"2.0","method":"$/cancel","params":%b}\n' % params)
    assert list(side.events()) == []


def test_the_longest_line_is_read_and_the_next_byte_ends_the_connection() -> None:
    head = b'{"jsonrpc":"2.0","id":1,"method":"m","params":["'
    longest = head + b"x" * (MAX_LINE - len(head) - 3) + b'"]}'
    side = ServerSide()
    (answer,) = converse(side, longest + b"\n")
    assert answer["id"] == 1
    first, refusal = converse(side, b'{"jsonrpc":"2.0","id":2,"method":"m"}\n' + longest + b" ")
    assert first["id"] == 2
    assert (refusal["id"], code_and_reason(refusal)) == (None, (-32000, "line-too-long"))
    assert side.closing
    assert converse(side, b'\n{"jsonrpc":"2.0","id":3,"method":"m"}\n') == []


ids = st.sampled_from([b"1", b"1.0", b"2", b'"a"', b'"\\u0061"', b"null", b"[]", b""])
requests = st.builds(
    lambda id, method, params: (
        b'{"jsonrpc":"2.0"%b%b%b}'
        % (
            id and b',"id":' + id,
            method and b',"method":' + method,
            params and b',"params":' + params,
        )
    ),
    ids,
    st.sampled_from([b'"m"', b'"$/cancel"', b"7", b""]),
    st.sampled_from([b"", b"{}", b"[1]", b'{"id":1}', b'{"text":"\\ud800"}', b"3"]),
)
lines = st.one_of(
    requests,
    st.lists(requests, max_size=5).map(lambda items: b"[" + b",".join(items) + b"]"),
    st.binary(max_size=40),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(lines, max_size=12), st.randoms(use_true_random=False), st.integers(1, 50))
def test_any_bytes_never_crash_and_never_get_two_answers(
    sent: list[bytes], chance: random.Random, size: int
) -> None:
    """Answered in any order, a request that was taken gets one answer, any other an error."""
    side = ServerSide(limit=400)
    stream = b"\n".join(sent) + b"\n"
    waiting: list[Call] = []
    taken: list[bytes] = []
    out = b""
    for start in range(0, len(stream), size):
        side.feed(stream[start : start + size])
        for event in side.events():
            match event:
                case Reply(line):
                    out += line
                case Cancelled(call):
                    assert call in side.open_calls
                case Call():
                    taken += [event.id] if event.id else []
                    waiting.append(event)
        while waiting and chance.random() < 0.5:
            out += side.answer(waiting.pop(chance.randrange(len(waiting))), b"true")
    while waiting:
        out += side.answer(waiting.pop(chance.randrange(len(waiting))), b"true")
    assert side.open_calls == ()
    answers = []
    for line in out.splitlines():
        document = json.loads(line)
        answers += document if isinstance(document, list) else [document]
    results = sorted(json.dumps(answer["id"]) for answer in answers if "result" in answer)
    assert results == sorted(json.dumps(json.loads(id)) for id in taken)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=200), max_size=20))
def test_noise_is_survived(pieces: list[bytes]) -> None:
    side = ServerSide(limit=300)
    for piece in pieces:
        for answer in converse(side, piece):
            assert isinstance(answer, list | dict)
