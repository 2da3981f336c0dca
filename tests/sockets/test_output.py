"""What waits for one client is bounded, and who lets it pile up is dropped with a last line."""

from __future__ import annotations

import anyio
import pytest

from coordinatord.sockets.output import Output


class Pipe:
    """A byte stream whose other end reads only when told."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.reading = anyio.Event()

    async def send(self, item: bytes) -> None:
        self.taken.append(item)
        await self.reading.wait()


def output(limit: int = 100) -> tuple[Output, list[str]]:
    dropped: list[str] = []
    return Output(b"too slow\n", lambda: dropped.append("dropped"), limit), dropped


async def test_lines_are_sent_in_order_and_the_last_one_after_closing() -> None:
    queue, _ = output()
    pipe = Pipe()
    pipe.reading.set()
    assert queue.put(b"a\n")
    assert queue.offer(b"b\n")
    async with anyio.create_task_group() as group:
        group.start_soon(queue.send_all, pipe)
        await anyio.wait_all_tasks_blocked()
        assert queue.put(b"c\n")
        queue.close(b"bye\n")
        assert not queue.put(b"d\n")
        assert not queue.offer(b"d\n")
    assert b"".join(pipe.taken) == b"a\nb\nc\nbye\n"


async def test_who_overflows_gets_what_is_under_way_and_the_reason() -> None:
    queue, dropped = output()
    pipe = Pipe()
    async with anyio.create_task_group() as group:
        group.start_soon(queue.send_all, pipe)
        assert queue.offer(b"first\n")
        await anyio.wait_all_tasks_blocked()
        assert all(queue.offer(b"x" * 24 + b"\n") for _ in range(4))
        assert dropped == []
        assert not queue.offer(b"y\n")
        assert not queue.put(b"an answer\n")
        assert dropped == ["dropped"]
        pipe.reading.set()
    assert pipe.taken == [b"first\n", b"too slow\n"]


async def test_answers_are_never_dropped_and_room_waits_for_the_reader() -> None:
    queue, dropped = output()
    pipe = Pipe()
    async with anyio.create_task_group() as group:
        group.start_soon(queue.send_all, pipe)
        assert queue.put(b"x" * 100)
        await anyio.wait_all_tasks_blocked()
        assert queue.put(b"y" * 200)
        assert queue.full
        with anyio.move_on_after(0) as impatient:
            await queue.room()
        assert impatient.cancelled_caught
        pipe.reading.set()
        with anyio.fail_after(5):
            await queue.room()
        queue.close()
    assert dropped == []
    assert b"".join(pipe.taken) == b"x" * 100 + b"y" * 200


@pytest.mark.parametrize("size", [100, 101])
def test_the_limit_counts_bytes(size: int) -> None:
    queue, dropped = output()
    assert queue.offer(b"x" * size) == (size == 100)
    assert bool(dropped) == (size == 101)


async def test_who_keeps_pace_waits_until_all_is_sent() -> None:
    """Or until the queue is closed, with whatever is left in it."""
    output = Output(b"bye", lambda: None, 100)
    await output.drained()
    passed: list[str] = []

    async def keep_pace(name: str) -> None:
        await output.drained()
        passed.append(name)

    async with anyio.create_task_group() as group:
        output.offer(b"x" * 90)
        group.start_soon(keep_pace, "first")
        await anyio.wait_all_tasks_blocked()
        assert passed == []
        output.close()
        await anyio.wait_all_tasks_blocked()
        assert passed == ["first"]
