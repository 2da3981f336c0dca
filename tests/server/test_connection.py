"""One connection: order, batches, cancelling, limits, and how it ends."""

from __future__ import annotations

import json

import anyio
import pytest

from coordinatord.wire.lines import MAX_LINE
from tests.server.conftest import Client, Running


def later(client: Client, gate: str) -> dict[str, object]:
    return client.request("test.later", gate=gate)


def cancel(id: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": id}}


async def test_pipelined_plain_calls_are_answered_in_order(server: Running) -> None:
    async with server.client() as client:
        calls = [client.request("test.echo", text=str(number)) for number in range(50)]
        await client.send(*calls)
        assert [(await client.read())["result"] for _ in calls] == [str(n) for n in range(50)]


async def test_hello_is_pipelined_with_the_real_request(server: Running) -> None:
    async with server.client() as client, server.client() as other:
        await client.send(client.request("hello", client="coordctl"), client.request("test.whoami"))
        assert [(await client.read())["result"] for _ in range(2)] == ["welcome", "coordctl"]
        assert (await other.call("test.whoami"))["result"] is None


async def test_a_waiting_call_holds_up_no_other(server: Running) -> None:
    async with server.client() as client:
        await client.send(later(client, "a"), client.request("test.echo", text="quick"))
        assert (await client.read())["result"] == "quick"
        server.bench.open("a")
        assert (await client.read())["result"] == "a"


async def test_a_batch_is_one_line(server: Running) -> None:
    async with server.client() as client:
        await client.send(
            [later(client, "a"), client.request("test.echo", text="b"), client.request("no")]
        )
        with anyio.fail_after(5):
            await server.bench.until_begun(1)
        server.bench.open("a")
        answers = {answer["id"]: answer for answer in await client.read()}
        assert (answers[1]["result"], answers[2]["result"]) == ("a", "b")
        assert answers[3]["error"]["code"] == -32601


async def test_a_cancelled_call_is_answered_once_as_cancelled(server: Running) -> None:
    async with server.client() as client:
        await client.send(later(client, "a"), later(client, "b"))
        with anyio.fail_after(5):
            await server.bench.until_begun(2)
        await client.send(cancel(1), cancel(1), cancel(99))
        answer = await client.read()
        assert (answer["id"], answer["error"]["code"]) == (1, -32800)
        assert answer["error"]["data"]["reason"] == "cancelled"
        assert server.bench.ended == ["a"]
        server.bench.open("b")
        assert (await client.read())["result"] == "b"


async def test_a_call_cancelled_in_the_same_piece(server: Running) -> None:
    async with server.client() as client:
        await client.send(later(client, "a"), cancel(1))
        assert (await client.read())["error"]["code"] == -32800
        assert (await client.call("test.echo", text="on"))["result"] == "on"


async def test_an_id_in_flight_is_not_taken_twice(server: Running) -> None:
    async with server.client() as client:
        call = later(client, "a")
        await client.send(call, call)
        refusal = await client.read()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        server.bench.open("a")
        assert (await client.read())["id"] == 1


async def test_reading_pauses_when_too_much_is_in_flight(server: Running) -> None:
    async with server.client() as client:
        await client.send(
            *(later(client, gate) for gate in "abcd"), client.request("test.echo", text="late")
        )
        with anyio.fail_after(5):
            await server.bench.until_begun(4)
        await anyio.wait_all_tasks_blocked()
        server.bench.open("b")
        assert [(await client.read())["result"] for _ in range(2)] == ["b", "late"]


async def test_garbage_is_answered_and_the_connection_goes_on(server: Running) -> None:
    async with server.client() as client:
        await client.stream.send(b"\xff\xfe\n{\n[]\n\n")
        codes = [(await client.read())["error"]["code"] for _ in range(3)]
        assert codes == [-32700, -32700, -32600]
        assert (await client.call("test.echo", text="on"))["result"] == "on"


async def test_an_overlong_line_is_answered_and_the_connection_closed(server: Running) -> None:
    """The client gets the answer although it was still sending."""
    async with server.client() as client:
        await client.send(client.request("test.echo", text="before"))
        with anyio.fail_after(5):
            await client.stream.send(b"x" * (2 * MAX_LINE))
        before, refusal = await client.read_to_end()
        assert before["result"] == "before"
        assert (refusal["id"], refusal["error"]["data"]["reason"]) == (None, "line-too-long")


async def test_a_client_that_closes_its_sending_side_gets_its_answers(server: Running) -> None:
    async with server.client() as client:
        await client.send(later(client, "a"))
        unfinished = client.request("test.echo", text="b")
        await client.stream.send(json.dumps(unfinished).encode())
        await client.stream.send_eof()
        assert (await client.read())["result"] == "b"
        server.bench.open("a")
        assert [answer["result"] for answer in await client.read_to_end()] == ["a"]


@pytest.mark.parametrize("calls", [1, 4])
async def test_the_waits_of_a_client_that_left_end(server: Running, calls: int) -> None:
    """Also when reading was paused because too much was in flight."""
    async with server.client() as client:
        await client.send(*(later(client, str(number)) for number in range(calls)))
        with anyio.fail_after(5):
            await server.bench.until_begun(calls)
    with anyio.fail_after(5):
        await server.bench.until_ended(calls)


async def test_a_slow_watcher_is_dropped_with_a_reason_while_others_go_on(
    server: Running,
) -> None:
    async with server.client() as slow, server.client() as other:
        await slow.call("test.follow")
        await other.call("test.follow")
        link, quick = server.bench.links
        sent = 0
        while link.notify("watch.line", {"seq": sent, "pad": "x" * 4000}):
            sent += 1
            assert quick.notify("watch.line", {"seq": sent})
            assert (await other.read())["params"] == {"seq": sent}
        with anyio.fail_after(5):
            await link.closed.wait()
        assert not link.notify("watch.line", {})
        *lines, last = await slow.read_to_end()
        assert [line["params"]["seq"] for line in lines] == list(range(len(lines)))
        assert (last["id"], last["error"]["data"]["reason"]) == (None, "slow-watcher")
        assert (await other.call("test.echo", text="on"))["result"] == "on"
    with anyio.fail_after(5):
        await server.log.written.wait()
    assert server.log.lines[0][0] == "client dropped"


async def test_a_watcher_that_never_reads_is_closed_all_the_same(server: Running) -> None:
    async with server.client() as slow:
        await slow.call("test.follow")
        (link,) = server.bench.links
        number = 0
        while link.notify("watch.line", {"pad": "x" * 4000}):
            number += 1
            if number % 20 == 0:
                await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            await server.log.written.wait()


async def test_a_client_that_does_not_read_its_answers_is_not_read_from(server: Running) -> None:
    """Back-pressure: nothing is lost, and nobody is dropped."""
    async with server.client() as client:
        count, asked = 3000, anyio.Event()

        async def ask() -> None:
            for _ in range(count):
                await client.send(client.request("test.echo", text="x" * 100, times=5))
            asked.set()

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert not asked.is_set()
            ids = [(await client.read())["id"] for _ in range(count)]
        assert ids == list(range(1, count + 1))
    assert server.log.lines == []


async def test_stop_finishes_what_is_in_hand_and_says_so(server: Running) -> None:
    async with server.client() as client, server.client() as idle:
        await client.send(later(client, "a"), later(client, "never"))
        await idle.call("test.echo", text="x")
        with anyio.fail_after(5):
            await server.bench.until_begun(2)
        server.stop.set()
        server.bench.open("a")
        first, second, farewell = await client.read_to_end()
        assert first["result"] == "a"
        assert (second["id"], second["error"]["data"]["reason"]) == (2, "stopping")
        assert (farewell["id"], farewell["error"]["data"]["reason"]) == (None, "stopping")
        (line,) = await idle.read_to_end()
        assert line["error"]["data"]["reason"] == "stopping"
        with pytest.raises(OSError, match=r"(?i)refused"):
            await anyio.connect_unix(server.path)
    with anyio.fail_after(5):
        await server.ended.wait()


async def test_closing_the_listener_lets_connections_go_on(server: Running) -> None:
    async with server.client() as client:
        await client.call("test.echo", text="x")
        await server.listener.aclose()
        assert (await client.call("test.echo", text="y"))["result"] == "y"
        assert not server.ended.is_set()
    with anyio.fail_after(5):
        await server.ended.wait()


async def test_many_clients_at_once(server: Running) -> None:
    answers: list[str] = []

    async def one(number: int) -> None:
        async with server.client() as client:
            answers.append((await client.call("test.echo", text=str(number)))["result"])

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(one, number)
    assert sorted(answers, key=int) == [str(number) for number in range(40)]
