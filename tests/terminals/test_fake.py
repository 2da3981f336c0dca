"""The scripted terminal does what it is told, in order and at the time that is passed in."""

from __future__ import annotations

import anyio
import pytest

from coordinatord.errors import HostRefused, Uncertain, Unreachable
from coordinatord.terminals.fake import FakeTerminal
from coordinatord.terminals.fake_host import ENTER_DELAY, FakeHost
from coordinatord.terminals.port import LookAt, StreamDown, StreamUp, TerminalEvent


class Time:
    now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def host(time: Time) -> FakeHost:
    return FakeHost(time)


@pytest.fixture
def terminal(host: FakeHost) -> FakeTerminal:
    return FakeTerminal(host)


async def test_enter_comes_after_the_text(
    host: FakeHost, terminal: FakeTerminal, time: Time
) -> None:
    pane = host.add_agent()
    await terminal.prompt(pane, "hello")
    assert host.submitted == []
    time.now += ENTER_DELAY
    assert (await terminal.look(pane)).status == "working"
    assert [(each.text, each.at) for each in host.submitted] == [("hello", 50 + ENTER_DELAY)]
    assert [(each.how, each.text, each.at) for each in host.typed] == [("prompt", "hello", 50.0)]


async def test_two_prompts_too_close_are_one_message(
    host: FakeHost, terminal: FakeTerminal, time: Time
) -> None:
    """T-19: as recording 05 shows."""
    pane = host.add_agent()
    await terminal.prompt(pane, "alpha one")
    await terminal.prompt(pane, "beta two")
    time.now += 1
    host.settle()
    assert [each.text for each in host.submitted] == ["alpha onebeta two"]


async def test_draft_goes_along(host: FakeHost, terminal: FakeTerminal, time: Time) -> None:
    """Recording 05: what stood in the composer is submitted too."""
    pane = host.add_agent()
    host.type_draft(pane, "my half written ")
    assert "› my half written" in (await terminal.read(pane)).text
    await terminal.prompt(pane, "text")
    time.now += 1
    host.settle()
    assert host.submitted[0].text == "my half written text"


async def test_dialog_in_the_gap_gets_the_enter(
    host: FakeHost, terminal: FakeTerminal, time: Time
) -> None:
    """Recording 05: nothing is submitted, the dialog is answered."""
    pane = host.add_agent()
    await terminal.prompt(pane, "text")
    host.open_dialog(pane, "Run this?", blocked=False)
    time.now += 1
    host.settle()
    assert host.submitted == []
    assert host.agent(pane).dialog is None


async def test_blocked_agent_is_not_prompted(host: FakeHost, terminal: FakeTerminal) -> None:
    pane = host.add_agent()
    host.open_dialog(pane, "Run this?")
    with pytest.raises(HostRefused) as refused:
        await terminal.prompt(pane, "text")
    assert refused.value.code == "agent_blocked"
    assert host.typed == []


@pytest.mark.parametrize(
    ("fault", "error", "typed"),
    [
        ("unreachable", Unreachable, 0),
        ("uncertain-lost", Uncertain, 0),
        ("uncertain-done", Uncertain, 1),
    ],
)
async def test_faults_come_once(
    host: FakeHost, terminal: FakeTerminal, fault: str, error: type[Exception], typed: int
) -> None:
    pane = host.add_agent()
    host.fail("prompt", fault)  # type: ignore[arg-type]
    with pytest.raises(error):
        await terminal.prompt(pane, "text")
    assert len(host.typed) == typed
    await terminal.prompt(pane, "text")
    assert len(host.typed) == typed + 1


async def test_hung_call_ends_when_its_deadline_is_said_to_pass(
    host: FakeHost, terminal: FakeTerminal
) -> None:
    pane = host.add_agent()
    host.fail("look", "hang")
    failures: list[Exception] = []

    async def look() -> None:
        try:
            await terminal.look(pane)
        except Unreachable as error:
            failures.append(error)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(look)
            await anyio.wait_all_tasks_blocked()
            assert failures == []
            host.release()
    assert len(failures) == 1


async def test_restart_brings_new_terminals_and_shells(
    host: FakeHost, terminal: FakeTerminal
) -> None:
    """T-12: and an agent that looks ready without a process."""
    kept, lost = host.add_agent(session="0aaa"), host.add_agent()
    before = {pane: host.at(pane).shell for pane in host.panes}
    ids = {pane: host.at(pane).terminal_id for pane in host.panes}
    host.stop()
    with pytest.raises(Unreachable):
        await terminal.snapshot()
    host.start()
    after = (await terminal.snapshot()).panes
    assert all(after[pane].terminal_id != ids[pane] for pane in ids)
    shells = [(await terminal.foreground(pane)).shell for pane in before]
    assert set(shells).isdisjoint(before.values())
    assert (after[kept].agent, after[kept].status, after[kept].live) == ("codex", "idle", False)
    assert after[lost].agent is None
    with pytest.raises(HostRefused):
        await terminal.prompt(kept, "too early")
    host.resume(kept)
    await terminal.prompt(kept, "now")


async def test_hand_off_keeps_the_processes(host: FakeHost, terminal: FakeTerminal) -> None:
    pane = host.add_agent()
    shell, terminal_id = host.at(pane).shell, host.at(pane).terminal_id
    host.stop()
    host.start(keep_processes=True)
    assert (await terminal.foreground(pane)).shell == shell
    sighting = await terminal.look(pane)
    assert sighting.terminal_id != terminal_id
    assert sighting.live


async def test_recycled_address_is_another_pane(host: FakeHost, terminal: FakeTerminal) -> None:
    pane = host.add_agent()
    before = await terminal.look(pane)
    host.recycle(pane)
    after = await terminal.look(pane)
    assert after.terminal_id != before.terminal_id
    assert after.agent is None


async def test_status_is_heard_only_of_watched_panes(
    host: FakeHost, terminal: FakeTerminal
) -> None:
    one, two = host.add_agent(), host.add_agent()
    heard: list[TerminalEvent] = []

    async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        await terminal.run(heard.append, task_status=task_status)

    async with anyio.create_task_group() as group:
        await group.start(run)
        terminal.watch(frozenset({one}))
        host.set_status(one, "working")
        host.set_status(two, "working")
        host.mute = True
        host.set_status(one, "idle")
        host.stop("gone")
        group.cancel_scope.cancel()
    assert heard == [StreamUp(), LookAt(one), StreamDown("gone")]


async def test_unknown_protocol_is_read_only(host: FakeHost, terminal: FakeTerminal) -> None:
    pane = host.add_agent()
    host.may_type = False
    assert (await terminal.look(pane)).agent == "codex"
    with pytest.raises(HostRefused) as refused:
        await terminal.prompt(pane, "x")
    assert refused.value.code == "host-protocol"
    assert [call.method for call in host.calls] == ["look", "prompt"]
