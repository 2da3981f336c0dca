"""The event stream: what is subscribed to, what a line means, and how the stream is kept."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from coordinatord.errors import HostRefused, PaneMissing, Unreachable
from coordinatord.ids import PaneId
from coordinatord.terminals.herdr.backend import HerdrTerminal
from coordinatord.terminals.herdr.events import LIFECYCLE, LONGEST_PAUSE, entries, hint, pause
from coordinatord.terminals.port import (
    LookAround,
    LookAt,
    StreamDown,
    StreamUp,
    TerminalEvent,
    backstop_interval,
)
from tests.terminals.contract import Ear
from tests.terminals.replay import Json, ReplayHost, Tape, Truth, serving, terminal_at

P1, P2 = PaneId("w1:p1"), PaneId("w1:p2")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # T-8: both envelope styles
        (b'{"event":"pane_exited","data":{"type":"pane_exited","pane_id":"w1:p4"}}', "w1:p4"),
        (b'{"event":"pane.agent_status_changed","data":{"pane_id":"w1:p2"}}', "w1:p2"),
        (b'{"event":"pane_created","data":{"pane":{"pane_id":"w1:p3"}}}', "w1:p3"),
        (b'{"event":"pane_agent_detected","data":{"pane_id":"w1:p2","released":true}}', "w1:p2"),
        # T-9: a closed tab or host workspace names no pane of its own
        (b'{"event":"tab_closed","data":{"tab_id":"w1:t2"}}', None),
        (b'{"event":"workspace_closed","data":{"workspace_id":"w1"}}', None),
        # two panes' business
        (b'{"event":"pane_moved","data":{"pane":{"pane_id":"w2:p1"}}}', None),
        # whatever else comes is a reason to look, never to fail
        (b'{"event":"pane_exited","data":{"pane_id":"p_1"}}', None),
        (b'{"event":"pane_exited","data":{"pane_id":7}}', None),
        (b'{"event":"pane_exited"}', None),
        (b"{}", None),
        (b"garbage", None),
        (b"", None),
        (b"\xff\xfe", None),
    ],
)
def test_line_says_where_to_look(line: bytes, expected: str | None) -> None:
    wanted = LookAround() if expected is None else LookAt(PaneId(expected))
    assert hint(line) == wanted


def test_every_recorded_event_is_a_hint() -> None:
    """T-8: no recorded name is mistaken for another style."""
    for name in ("04-agent-lifecycle", "09-events", "11-move-tab"):
        for row in Tape(name).rows:
            if row.what != "event" or row.line["event"].startswith(("workspace", "tab", "layout")):
                continue
            got = hint(json.dumps(row.line).encode())
            alone = row.line["event"] not in ("pane_moved", "pane_focused")
            assert isinstance(got, LookAt) == alone, row.line


def test_each_kind_is_subscribed_once() -> None:
    """A kind listed twice comes twice (recording 09)."""
    kinds = [entry["type"] for entry in entries([P1])]
    assert len(set(kinds)) == len(kinds) == len(LIFECYCLE) + 1
    assert "pane.agent_status_changed" in kinds


def test_pauses_grow_and_are_jittered() -> None:
    source = random.Random(1)
    assert [0.05 <= pause(0, source) <= 0.1 for _ in range(50)] == [True] * 50
    assert len({pause(3, source) for _ in range(20)}) == 20
    assert pause(2, source) > 0.2 - 1e-9
    assert all(pause(failures, source) <= LONGEST_PAUSE for failures in (10, 100, 10_000))


@pytest.mark.parametrize(
    ("panes", "seconds"), [(0, 15), (1, 15), (40, 15), (80, 30), (320, 120), (10_000, 120)]
)
def test_backstop_is_slower_with_many_panes(panes: int, seconds: float) -> None:
    assert backstop_interval(panes) == seconds


class Scene:
    def __init__(self, host: ReplayHost, terminal: HerdrTerminal, ear: Ear) -> None:
        self.host = host
        self.terminal = terminal
        self.ear = ear

    async def watching(self, *panes: PaneId) -> None:
        self.terminal.watch(frozenset(panes))
        await self.host.until(
            lambda: self.host.watched() == set(panes) and len(self.host.streams) == 1
        )

    def subscriptions(self) -> list[Json]:
        return [
            request for request in self.host.requests if request["method"] == "events.subscribe"
        ]


@asynccontextmanager
async def scene(*panes: PaneId) -> AsyncIterator[Scene]:
    truth = Truth()
    for pane in panes:
        record: Json = {
            "pane_id": pane, "terminal_id": f"term_{pane}", "workspace_id": "w1", "tab_id": "w1:t1",
            "agent_status": "unknown", "scroll": {}, "foreground_cwd": "/demo",
        }  # fmt: skip
        truth.panes[pane] = record
    with anyio.fail_after(10):
        async with serving(truth) as host, anyio.create_task_group() as group:
            terminal = terminal_at(host.path)
            ear = Ear(terminal)
            await group.start(ear.run)
            await ear.until(lambda: StreamUp() in ear.heard)
            yield Scene(host, terminal, ear)
            assert host.noise == []
            group.cancel_scope.cancel()


async def test_stream_that_is_read_is_never_written() -> None:
    """T-2: no byte and no half-close, also while the watch set changes."""
    async with scene(P1, P2) as now:
        await now.watching(P1)
        await now.watching(P1, P2)
        await now.watching()
        assert now.host.noise == []


async def test_half_close_and_bytes_would_be_noticed() -> None:
    """T-2: the check of these tests can fail."""
    async with serving(Truth()) as host, await anyio.connect_unix(host.path) as stream:
        line = b'{"id":"x","method":"events.subscribe","params":{"subscriptions":[]}}\n'
        await stream.send(line)
        await stream.receive()
        await stream.send_eof()
        await stream.receive()
        await host.until(lambda: host.noise == ["half-closed"])


async def test_new_stream_stands_before_the_old_one_goes() -> None:
    """No event falls between two subscriptions, and the newcomer is looked at."""
    async with scene(P1, P2) as now:
        most = 0
        before = now.host.wake

        def counting() -> None:
            nonlocal most
            most = max(most, len(now.host.streams))
            before()

        now.host.wake = counting  # type: ignore[method-assign]
        await now.watching(P1)
        assert most == 2
        assert LookAt(P1) in now.ear.heard
        assert [event for event in now.ear.heard if isinstance(event, StreamDown)] == []
        assert now.terminal.health().reconnects == 0


async def test_same_watch_set_subscribes_once() -> None:
    async with scene(P1) as now:
        await now.watching(P1)
        count = len(now.subscriptions())
        now.terminal.watch(frozenset({P1}))
        await anyio.wait_all_tasks_blocked()
        assert len(now.subscriptions()) == count == 2


async def test_pane_that_died_is_left_out() -> None:
    """T-11: a refused probe names its entry; the others are watched all the same."""
    async with scene(P1) as now:
        now.terminal.watch(frozenset({P1, P2}))
        await now.host.until(lambda: now.host.watched() == {P1})
        assert now.terminal.health().connected


@pytest.mark.parametrize("way", ["look", "snapshot"])
async def test_dead_pane_is_no_longer_subscribed(way: str) -> None:
    """T-11: its subscription would be silent and cost the host a look ten times a second."""
    async with scene(P1, P2) as now:
        await now.watching(P1, P2)
        now.host.truth.drop(P2)
        if way == "look":
            with pytest.raises(PaneMissing):
                await now.terminal.look(P2)
        else:
            await now.terminal.snapshot()
        await now.host.until(lambda: now.host.watched() == {P1} and len(now.host.streams) == 1)


async def test_pane_newer_than_the_snapshot_stays_subscribed() -> None:
    """A snapshot that was asked for before the pane was watched says nothing about it."""
    async with scene(P1) as now:
        late = now.host.truth.snapshot

        def meanwhile() -> Json:
            answer = copy.deepcopy(late())
            now.host.truth.panes[P2] = now.host.truth.panes[P1] | {"pane_id": P2}
            now.terminal.watch(frozenset({P1, P2}))
            return answer

        now.host.truth.snapshot = meanwhile  # type: ignore[method-assign]
        assert list((await now.terminal.snapshot()).panes) == [P1]
        await now.host.until(lambda: now.host.watched() == {P1, P2})
        await anyio.wait_all_tasks_blocked()
        assert now.host.watched() == {P1, P2}


async def test_unreadable_record_is_not_taken_for_a_dead_pane() -> None:
    """One odd record affects itself: the rest is read, and the snapshot says it is incomplete."""
    async with scene(P1, P2) as now:
        await now.watching(P1, P2)
        now.host.truth.panes[P2]["terminal_id"] = 7
        snapshot = await now.terminal.snapshot()
        assert snapshot.incomplete
        assert list(snapshot.panes) == [P1]
        await anyio.wait_all_tasks_blocked()
        assert now.host.watched() == {P1, P2}


async def test_end_of_the_stream_is_told_and_mended() -> None:
    async with scene(P1) as now:
        await now.watching(P1)
        now.host.cut()
        await now.ear.until(lambda: now.ear.heard.count(StreamUp()) == 2)
        kinds = [type(event) for event in now.ear.heard if not isinstance(event, LookAt)]
        assert kinds == [StreamUp, StreamDown, StreamUp]
        assert now.terminal.health().reconnects == 1
        await now.host.until(lambda: now.host.watched() == {P1})


async def test_host_that_is_down_is_told_once_and_waited_for() -> None:
    """Held from the first moment; the first attempt's failure already counts as started."""
    async with serving(Truth()) as host, anyio.create_task_group() as group:
        host.down = True
        terminal = terminal_at(host.path)
        ear = Ear(terminal)
        with anyio.fail_after(10):
            await group.start(ear.run)
            assert [type(event) for event in ear.heard] == [StreamDown]
            assert terminal.health().trouble is not None
            await host.until(lambda: host.connections > 5)
            assert [type(event) for event in ear.heard] == [StreamDown]
            host.down = False
            await ear.until(lambda: StreamUp() in ear.heard)
        assert terminal.health().trouble is None
        group.cancel_scope.cancel()


async def test_mute_stream_is_no_trouble() -> None:
    """The stream says nothing; health shows that it stands and that nothing was heard."""
    async with scene(P1) as now:
        health = now.terminal.health()
        assert (health.connected, health.events_seen, health.trouble) == (True, 0, None)
        await now.host.emit({"event": "pane_exited", "data": {"pane_id": P1}})
        await now.ear.until(lambda: LookAt(P1) in now.ear.heard)
        assert now.terminal.health().events_seen == 1


async def test_what_no_event_tells_is_seen_by_looking() -> None:
    """T-10: status, label and conversation of a pane change in silence."""
    session = {"source": "herdr:codex", "agent": "codex", "kind": "id", "value": "s-2"}
    async with scene(P1, P2) as now:
        truth = now.host.truth
        before = await now.terminal.snapshot()
        truth.panes[P1] |= {"label": "review"}
        agent = {**truth.panes[P2], "agent": "codex", "state_change_seq": 1}
        truth.agents[P2] = agent | {"agent_status": "working", "agent_session": session}
        after = await now.terminal.snapshot()
        assert now.terminal.health().events_seen == 0
        assert (before.panes[P1].label, after.panes[P1].label) == (None, "review")
        assert after.panes[P2].status == "working"
        assert (found := after.panes[P2].session) is not None
        assert found.value == "s-2"
        assert await now.terminal.look(P1) == after.panes[P1]
        assert await now.terminal.look(P2) == after.panes[P2]


async def test_stream_that_ended_is_a_gap() -> None:
    """What happened until it stood again was announced to nobody."""
    async with scene(P1) as now:
        assert now.terminal.health().gaps_found == 0
        now.host.cut()
        await now.ear.until(lambda: now.ear.heard.count(StreamUp()) == 2)
        assert now.terminal.health().gaps_found == 1
        assert now.terminal.health().reconnects == 1


@pytest.mark.parametrize("seed", range(5))
async def test_order_and_loss_of_hints_change_nothing(seed: int) -> None:
    """T-7: wire order is not event order (recordings 09, 11); a snapshot mends what was lost."""
    source = random.Random(seed)
    events: list[Any] = [row.line for row in Tape("09-events").rows if row.what == "event"]
    async with scene(P1, P2) as now:
        for event in source.sample(events, 60):
            await now.host.emit(event)
        snapshot = await now.terminal.snapshot()
        assert set(snapshot.panes) == {P1, P2}


@pytest.mark.parametrize("protocol", [19, 20, 21, 22])
async def test_known_protocols_may_be_typed_to(protocol: int) -> None:
    async with scene(P1) as now:
        now.host.protocol = protocol
        assert (await now.terminal.greet()).may_type


@pytest.mark.parametrize("protocol", [0, 18, 23])
async def test_unknown_protocol_is_read_and_never_acted_on(protocol: int) -> None:
    """Reads allowed; typing refused before anything is sent."""
    async with scene(P1) as now:
        now.host.protocol = protocol
        assert not (await now.terminal.greet()).may_type
        assert (await now.terminal.look(P1)).pane == P1
        terminal = now.terminal
        sent = len(now.host.requests)
        for act in (
            lambda: terminal.prompt(P1, "x"),
            lambda: terminal.press(P1, ["enter"]),
            lambda: terminal.send(P1, "x"),
            lambda: terminal.split(P1, "right", cwd=None, env={}),
            lambda: terminal.new_tab("w1", label=None, cwd=None, env={}),
            lambda: terminal.new_workspace(label=None, cwd=None, env={}),
            lambda: terminal.rename(P1, "x"),
            lambda: terminal.close(P1),
            lambda: terminal.set_tokens(P1, {"a": "b"}),
            lambda: terminal.set_workspace_tokens("w1", {"a": "b"}),
            lambda: terminal.focus(P1),
            lambda: terminal.start_agent(P1, "codex", "rev", ()),
        ):
            with pytest.raises(HostRefused) as refused:
                await act()
            assert refused.value.code == "host-protocol"
        assert len(now.host.requests) == sent


async def test_protocol_is_asked_again_after_a_restart() -> None:
    """Another version may answer at the socket now."""
    async with scene(P1) as now:
        await now.terminal.greet()
        now.host.protocol = 23
        now.host.cut()
        await now.ear.until(lambda: now.ear.heard.count(StreamUp()) == 2)
        with pytest.raises(HostRefused) as refused:
            await now.terminal.close(P1)
        assert refused.value.code == "host-protocol"


async def test_listener_gets_only_the_four_kinds_of_event() -> None:
    """The daemon is told where to look, and no facts."""
    async with scene(P1, P2) as now:
        for row in Tape("11-move-tab").rows:
            if row.what == "event":
                await now.host.emit(row.line, always=True)
        last = {"event": "pane_exited", "data": {"pane_id": "w9:p9"}}
        await now.host.emit(last)
        await now.ear.until(lambda: LookAt(PaneId("w9:p9")) in now.ear.heard)
        known: tuple[type[TerminalEvent], ...] = (StreamUp, StreamDown, LookAt, LookAround)
        assert {type(event) for event in now.ear.heard} <= set(known)


async def test_snapshot_says_when_it_was_taken_and_what_went_wrong() -> None:
    async with scene(P1) as now:
        assert now.terminal.health().last_snapshot is None
        await now.terminal.snapshot()
        assert now.terminal.health().last_snapshot is not None
        now.host.scripted["session.snapshot"] = []
        with pytest.raises(Unreachable):
            await now.terminal.snapshot()
        assert now.terminal.health().trouble is not None
