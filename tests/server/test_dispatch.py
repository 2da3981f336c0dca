"""Whose fault it was, as the caller reads it."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any

import pytest

from coordinatord.errors import REASONS
from coordinatord.server.dispatch import Dispatcher, Route
from tests.server.conftest import Echo, LogLines, Running


async def error_of(server: Running, method: str, params: Any) -> dict[str, Any]:
    async with server.client() as client:
        await client.send({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
        answer = await client.read()
        assert answer["id"] == 7
        assert answer["error"]["data"]["reason"] in REASONS
        error: dict[str, Any] = answer["error"]
        return error


async def test_a_result(server: Running) -> None:
    async with server.client() as client:
        assert (await client.call("test.echo", text="a", times=3))["result"] == "aaa"


async def test_params_may_be_left_out(server: Running) -> None:
    async with server.client() as client:
        await client.send({"jsonrpc": "2.0", "id": 1, "method": "test.whoami"})
        assert (await client.read())["result"] is None


async def test_an_unknown_method(server: Running) -> None:
    error = await error_of(server, "test.nothing", {})
    assert (error["code"], error["data"]["reason"]) == (-32601, "unknown-method")
    assert "test.nothing" in error["message"]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "object missing required field `text`"),
        ({"text": 1}, "text: expected `str`, got `int`"),
        ({"text": "a", "tmies": 2}, "object contains unknown field `tmies`"),
        ({"text": "a" * 101}, "text: expected `str` of length <= 100"),
        ({"text": "a", "times": 1e300}, "times: "),
        (["a", 2], "params are named, not positional"),
    ],
)
async def test_bad_params_name_the_field_and_what_is_expected(
    server: Running, params: Any, sentence: str
) -> None:
    error = await error_of(server, "test.echo", params)
    assert (error["code"], error["data"]["reason"]) == (-32602, "bad-params")
    assert error["message"].startswith(sentence)
    assert error["data"]["hint"] == "parameters: text, times"


async def test_a_request_class_may_refuse_with_a_reason_of_its_own(server: Running) -> None:
    """G-10: an empty body has its own reason."""
    error = await error_of(server, "test.nonblank", {"text": " \n"})
    assert (error["code"], error["data"]["reason"]) == (-32000, "empty")
    assert error["data"]["hint"] == "say something"


async def test_a_lone_surrogate_is_refused_under_its_id(server: Running) -> None:
    """G-10."""
    error = await error_of(server, "test.echo", {"text": "\ud83d"})
    assert (error["code"], error["data"]["reason"]) == (-32000, "not-unicode")


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("how", "reason", "message"),
    [
        ("refused", "seat-taken", "somebody holds it"),
        ("grouped", "paused", "typing is paused"),
        ("unreachable", "host-unreachable", "no answer"),
        ("pane", "pane-missing", "w1:p2"),
        ("host", "host-refused", "agent_busy"),
        ("uncertain", "uncertain", "cut off"),
    ],
)
async def test_refusals_and_failures_of_the_world(
    server: Running, how: str, later: bool, reason: str, message: str
) -> None:
    error = await error_of(server, "test.break", {"how": how, "later": later})
    assert (error["code"], error["data"]["reason"]) == (-32000, reason)
    assert message in error["message"]
    assert server.log.lines == []


@pytest.mark.parametrize(("how", "later"), [("bug", False), ("bug", True), ("unencodable", False)])
async def test_a_bug_is_logged_whole_and_sent_as_a_log_id(
    server: Running, how: str, later: bool
) -> None:
    async with server.client() as client:
        answer = await client.call("test.break", how=how, later=later)
        error = answer["error"]
        assert (error["code"], error["message"]) == (-32603, "internal error")
        assert (error["data"]["reason"], error["data"]["log_id"]) == ("internal", "log-1")
        assert "secret" not in json.dumps(answer)
        ((event, facts),) = server.log.lines
        assert (event, facts["log_id"], facts["method"]) == ("route failed", "log-1", "test.break")
        assert isinstance(facts["exc_info"], Exception)
        assert "params" not in facts
        assert (await client.call("test.echo", text="still here"))["result"] == "still here"


def test_two_routes_for_one_method_do_not_load() -> None:
    route = Route(Echo, lambda _, request: request.text)
    with pytest.raises(ValueError, match=r"test\.echo"):
        Dispatcher((route, route), LogLines(), itertools.repeat("").__next__)


@pytest.mark.parametrize("allowed_uid", [os.getuid() + 1])
async def test_another_user_gets_one_line_and_no_service(server: Running) -> None:
    async with server.client() as client:
        (line,) = await client.read_to_end()
        assert (line["id"], line["error"]["data"]["reason"]) == (None, "not-allowed")
    assert server.log.lines[0][0] == "foreign user refused"
