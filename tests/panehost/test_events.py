"""Subscriptions: live ones get everything at once; with quirks they replay and lose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import msgspec

from coordinatord.panehost.events import RING, Entry, GlobalEntry, Hub, PaneEntry, Stream


class Lines:
    """What one subscriber was sent."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self._more = anyio.Event()

    async def send(self, item: bytes) -> None:
        for line in item.splitlines():
            event = msgspec.json.decode(line)
            self.came.append(event["data"].get("label", event["event"]))
        self._more.set()

    async def until(self, count: int) -> list[str]:
        with anyio.fail_after(5):
            while len(self.came) < count:
                self._more = anyio.Event()
                await self._more.wait()
        return self.came


@asynccontextmanager
async def subscribed(hub: Hub, *entries: Entry) -> AsyncIterator[Lines]:
    stream, lines = Stream(entries), Lines()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hub.run, stream)
        tasks.start_soon(stream.output.send_all, lines)
        await anyio.wait_all_tasks_blocked()
        yield lines
        tasks.cancel_scope.cancel()


def rename(hub: Hub, *labels: object) -> None:
    for label in labels:
        hub.publish("workspace.renamed", workspace_id="w1", label=str(label))


async def test_a_live_subscription_starts_with_the_next_event_and_loses_none() -> None:
    hub = Hub()
    rename(hub, "old")
    async with subscribed(hub, GlobalEntry("workspace.renamed")) as lines:
        rename(hub, *range(1000))
        assert await lines.until(1000) == [str(n) for n in range(1000)]


async def test_global_kinds_are_written_in_snake_case_and_repeat_their_name() -> None:
    """T-8: dotted to subscribe, snake_case on the wire."""
    hub = Hub()
    stream = Stream([GlobalEntry("pane.closed")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hub.run, stream)
        await anyio.wait_all_tasks_blocked()
        hub.publish("pane.closed", pane_id="w1:p1", workspace_id="w1")
        tasks.cancel_scope.cancel()
    sent: list[bytes] = []

    class Sink:
        async def send(self, item: bytes) -> None:
            sent.append(item)

    stream.output.close()
    await stream.output.send_all(Sink())
    assert msgspec.json.decode(sent[0]) == {
        "event": "pane_closed",
        "data": {"type": "pane_closed", "pane_id": "w1:p1", "workspace_id": "w1"},
    }


async def test_a_kind_listed_twice_comes_twice() -> None:
    hub = Hub()
    twice = [GlobalEntry("workspace.renamed"), GlobalEntry("workspace.renamed")]
    async with subscribed(hub, *twice) as lines:
        rename(hub, "a")
        assert await lines.until(2) == ["a", "a"]


async def test_events_of_different_kinds_keep_their_order() -> None:
    hub = Hub()
    kinds = [GlobalEntry("pane.closed"), GlobalEntry("workspace.renamed")]
    async with subscribed(hub, *kinds) as lines:
        rename(hub, "a")
        hub.publish("pane.closed")
        rename(hub, "b")
        assert await lines.until(3) == ["a", "pane_closed", "b"]


async def test_with_quirks_old_events_are_replayed_one_at_a_time_and_the_gap_is_silent() -> None:
    """T-7: replay of at most 512 stale events; what the ring forgot is lost without a sign."""
    hub = Hub(quirks=True, tick=0.0005)
    rename(hub, *range(RING + 88))
    async with subscribed(hub, GlobalEntry("workspace.renamed")) as lines:
        assert await lines.until(RING) == [str(n) for n in range(88, RING + 88)]


async def test_a_pane_entry_is_asked_at_a_touch_of_its_pane_only() -> None:
    hub = Hub()
    news = iter([{"label": "one"}, {"label": "two"}])
    async with subscribed(hub, PaneEntry("term_1", "x", lambda: next(news, None))) as lines:
        hub.touch("term_2")
        hub.touch("term_1")
        hub.touch("term_1")
        hub.touch("term_1")
        assert await lines.until(2) == ["one", "two"]


async def test_a_subscriber_that_does_not_read_is_given_up() -> None:
    hub = Hub()
    stream = Stream([GlobalEntry("workspace.renamed")])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hub.run, stream)
            await anyio.wait_all_tasks_blocked()
            for _ in range(10):
                rename(hub, "x" * 1_000_000)
    assert stream.output.closed


async def test_who_waits_for_a_pane_wakes_at_its_touch() -> None:
    hub = Hub()
    waiting = hub.next_touch("term_1")
    hub.touch("term_2")
    assert not waiting.is_set()
    hub.touch("term_1")
    assert waiting.is_set()
    assert not hub.next_touch("term_1").is_set()
