"""Telling: who is told what, when, and how often (coordination.md §11, 1 to 15)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from coordinatord.features.delivery.requests import NoticeSeat, PumpNow
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.reports.requests import FileReport
from coordinatord.features.typing.requests import SendToPane
from coordinatord.features.views.requests import ReadStatus
from coordinatord.ids import PaneId
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.port import HostFacts
from tests.features.staff import ask, new_task, next_idle, staffed, until_held, why
from tests.house import living


async def test_what_two_tasks_owe_is_told_in_one_notice(tmp_path: Path) -> None:
    """C-4: five things of two tasks."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        second = house.host.add_agent()
        await house.until(lambda: second in house.parts.sightings.panes)
        other = await new_task(house, boss, second)
        names = [await ask(house, task, worker, f"{n}?") for n in range(3)]
        names.append(await ask(house, other, second))
        filed = await house.call(FileReport(task=other, outcome="partial", text="half"), second)
        await until_held(house, filed.id, "busy")
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert len(house.prompts(boss)) == 1
        assert all(name in house.prompts(boss)[0] for name in [*names, filed.id])


async def test_the_thirteenth_task_is_counted_and_named_at_the_next_idle(tmp_path: Path) -> None:
    """C-5."""
    async with living(tmp_path) as house:
        boss, _, first = await staffed(house, boss_status="working")
        tasks = [first, *[await new_task(house, boss) for _ in range(12)]]
        names = [await ask(house, task, boss) for task in tasks]
        await until_held(house, names[-1], "busy")
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        notice = house.prompts(boss)[0]
        assert [name in notice for name in names] == [True] * 12 + [False]
        assert "and 1 more" in notice
        assert (await why(house, names[-1])).state == "pending"
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == 2
        assert names[-1] in house.prompts(boss)[1]


@pytest.mark.parametrize("fault", ["uncertain-done", "uncertain-lost"])
async def test_what_may_have_been_typed_is_repeated_only_when_somebody_asks(
    tmp_path: Path, fault: str
) -> None:
    """C-6, C-8, §3.8.22, §3.8.23: and news beside it goes alone, counting it."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        house.host.fail("prompt", fault)  # type: ignore[arg-type]
        question = await ask(house, task, worker)
        await until_held(house, question, "uncertain")
        await house.rest()
        typed = len(house.prompts(boss))
        assert (await house.call(ReadStatus())).held == {"uncertain": 1}
        assert "may have been told" in (await why(house, question)).sentence
        await next_idle(house, boss)
        await house.call(PumpNow(), boss)
        assert len(house.prompts(boss)) == typed

        filed = await house.call(FileReport(task=task, outcome="completed", text="did"), worker)
        await house.until(lambda: len(house.prompts(boss)) == typed + 1)
        assert filed.id in house.prompts(boss)[-1]
        assert question not in house.prompts(boss)[-1]
        assert "and 1 more" in house.prompts(boss)[-1]

        await next_idle(house, boss)
        told = await house.call(NoticeSeat(seat="coordinator"))
        assert len(told.attempts) == 1
        assert len(house.prompts(boss)) == typed + 2
        assert question in house.prompts(boss)[-1]
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == typed + 2


async def test_after_three_failures_only_an_idle_edge_tries_again(tmp_path: Path) -> None:
    """C-7."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        for _ in range(3):
            house.host.refuse("prompt", "agent_not_ready")
        question = await ask(house, task, worker)
        await until_held(house, question, "stalled")
        said = await why(house, question)
        assert (said.state, len(said.attempts)) == ("stalled", 3)
        assert {each.stage for each in said.attempts} == {"not-delivered"}
        await house.call(PumpNow(), boss)
        await house.rest()
        assert house.prompts(boss) == []
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == 1
        assert (await why(house, question)).state == "submitted"


async def test_a_failure_waits_its_pause_and_is_told_then(tmp_path: Path) -> None:
    """One known failure is no reason to give up; it does not count twice."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        house.host.refuse("prompt", "agent_not_ready")
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        stages = [each.stage for each in await house.attempts()]
        assert stages == ["not-delivered", "turn-started"]
        assert (await why(house, question)).state == "submitted"


@pytest.mark.parametrize("second", [False, True], ids=["the only one", "one of two"])
async def test_what_is_answered_while_we_look_is_not_named(tmp_path: Path, second: bool) -> None:
    """C-10: and if nothing is left, nothing is typed or stored."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        house.host.fail("foreground", "hang")
        before = len(house.host.calls)
        question = await ask(house, task, worker)
        other = await ask(house, task, worker, "And this?") if second else None
        await house.until(
            lambda: any(each.method == "foreground" for each in house.host.calls[before:])
        )
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        house.host.release()
        await house.until(lambda: house.prompts(worker))
        await house.rest()
        if other is None:
            assert house.prompts(boss) == []
            assert [each.seat for each in await house.attempts()] == [f"worker:{task}"]
        else:
            await house.until(lambda: house.prompts(boss))
            assert other in house.prompts(boss)[0]
            assert question not in house.prompts(boss)[0]


@pytest.mark.parametrize("method", ["foreground", "read", "prompt"])
async def test_one_recipient_that_hangs_does_not_hold_up_another(
    tmp_path: Path, method: str
) -> None:
    """C-13, C-15."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, boss)
        await until_held(house, question, "busy")
        await house.rest()
        house.host.fail(method, "hang")
        before = len(house.host.calls)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.until(lambda: any(each.method == method for each in house.host.calls[before:]))
        second = await ask(house, task, boss)
        house.host.agent(boss).status = "idle"
        house.host.set_status(boss, "done")
        await house.until(lambda: house.prompts(boss))
        assert second in house.prompts(boss)[0]
        assert house.prompts(worker) == []
        house.host.release()
        expected = "uncertain" if method == "prompt" else "submitted"

        async def over() -> bool:
            return (await why(house, question)).state == expected

        await house.until(over)


def draft(host: FakeHost, pane: PaneId) -> Callable[[], None]:
    host.type_draft(pane, "half a thought")
    return lambda: setattr(host.agent(pane), "composer", "")


def unnoticed_dialog(host: FakeHost, pane: PaneId) -> Callable[[], None]:
    host.open_dialog(pane, "Run it?", blocked=False)
    return lambda: setattr(host.agent(pane), "dialog", None)


def noticed_dialog(host: FakeHost, pane: PaneId) -> Callable[[], None]:
    host.open_dialog(pane, "Run it?")

    def close() -> None:
        host.close_dialog(pane)
        host.set_status(pane, "idle")

    return close


def blank(host: FakeHost, pane: PaneId) -> Callable[[], None]:
    host.at(pane).shown = "\n\n"
    return lambda: setattr(host.at(pane), "shown", None)


def garbled(host: FakeHost, pane: PaneId) -> Callable[[], None]:
    host.at(pane).shown = "\x1b[31mwhat is this\x1b[0m\n"
    return lambda: setattr(host.at(pane), "shown", None)


def no_agent(host: FakeHost, pane: PaneId) -> Callable[[], None]:
    agent = host.agent(pane)
    host.agent_exits(pane)

    def back() -> None:
        host.at(pane).agent = agent
        host.set_status(pane, "working")
        host.set_status(pane, "idle")

    return back


def restored(host: FakeHost, pane: PaneId) -> Callable[[], None]:
    host.agent(pane).live = False
    host.set_status(pane, "done")

    def back() -> None:
        host.agent(pane).live = True
        host.set_status(pane, "idle")

    return back


def status(reported: str) -> Callable[[FakeHost, PaneId], Callable[[], None]]:
    def obstruct(host: FakeHost, pane: PaneId) -> Callable[[], None]:
        host.set_status(pane, reported)  # type: ignore[arg-type]
        return lambda: host.set_status(pane, "idle")

    return obstruct


@pytest.mark.parametrize(
    ("obstruct", "reason"),
    [
        (draft, "draft"),
        (unnoticed_dialog, "dialog"),
        (noticed_dialog, "blocked"),
        (blank, "no-composer"),
        (garbled, "no-composer"),
        (no_agent, "not-agent"),
        (restored, "launching"),
        (status("working"), "busy"),
        (status("unknown"), "unknown"),
    ],
    ids=[
        "draft",
        "unnoticed-dialog",
        "dialog",
        "blank",
        "garbled",
        "bare-shell",
        "restored",
        "working",
        "unknown",
    ],
)
async def test_what_holds_is_named_and_ends(
    tmp_path: Path, obstruct: Callable[[FakeHost, PaneId], Callable[[], None]], reason: str
) -> None:
    """C-1: nothing is typed meanwhile, also when somebody asks; afterwards one notice."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        clear = obstruct(house.host, boss)
        question = await ask(house, task, worker)
        await until_held(house, question, reason)
        refused = await house.call(NoticeSeat(seat="coordinator"))
        assert (refused.attempts, [each.reason for each in refused.held]) == ([], [reason])
        assert (await house.call(ReadStatus())).held == {reason: 1}
        assert [each for each in house.host.typed if each.pane == boss] == []
        assert await house.attempts() == []
        clear()
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert len(house.prompts(boss)) == 1
        assert (await why(house, question)).state == "submitted"
        assert house.host.submitted[-1].text == house.prompts(boss)[0]


async def test_the_label_of_an_agent_that_is_not_in_front_is_not_believed(tmp_path: Path) -> None:
    """The host still reports the agent, and only its shell reads the keys."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        house.host.at(boss).agent.kind = "vim"  # type: ignore[union-attr]
        house.host.set_status(boss, "done")
        question = await ask(house, task, worker)
        await until_held(house, question, "not-agent")
        assert house.prompts(boss) == []


async def test_a_new_occupant_gets_nothing_until_it_is_bound(tmp_path: Path) -> None:
    """C-25: no attempt; after the binding, one notice."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        tried = len(await house.attempts())
        house.host.recycle(worker)
        house.host.add_agent(worker)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await until_held(house, question, "replaced")
        assert house.prompts(worker) == []
        assert len(await house.attempts()) == tried
        await house.call(BindSeat(task=task, worker_pane=worker), boss)
        await house.until(lambda: house.prompts(worker))
        await house.rest()
        assert len(house.prompts(worker)) == 1


async def test_a_pane_that_is_gone_holds_and_one_that_moved_is_found(tmp_path: Path) -> None:
    """The terminal is the recorded one wherever the pane moved."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        moved = PaneId("w7:p1")
        found = house.host.panes.pop(boss)
        found.pane, found.tab_id = moved, "w7:t1"
        house.host.panes[moved] = found
        await house.parts.lookout.look_around()
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(moved))
        await house.rest()
        assert len(house.prompts(moved)) == 1
        house.host.remove_pane(worker)
        await house.call(AnswerQuestion(question=question, text="80"), moved)
        await until_held(house, question, "absent")


async def test_an_idle_edge_nobody_announces_is_made_up_for(tmp_path: Path) -> None:
    """C-33: owed and settled is enough, no event is needed."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await until_held(house, question, "busy")
        house.host.mute = True
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        assert question in house.prompts(boss)[0]


async def test_a_host_out_of_sight_holds_everything(tmp_path: Path) -> None:
    """C-24: nothing is tried, and it is said why; once it is back, one notice."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        house.host.stop()
        question = await ask(house, task, worker)
        await until_held(house, question, "host-unreachable")
        assert await house.attempts() == []
        house.host.start(keep_processes=True)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert len(house.prompts(boss)) == 1


async def test_a_host_of_an_unknown_protocol_is_only_read(tmp_path: Path) -> None:
    """T-1: held with the reason, and no attempt is spent on it."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        house.host.may_type = False
        house.parts.host_facts = HostFacts(
            kind="herdr", socket="s", version="99", protocol=99, may_type=False
        )
        question = await ask(house, task, worker)
        await until_held(house, question, "host-protocol")
        assert await house.attempts() == []
        assert house.prompts(boss) == []


async def test_a_turn_that_had_to_be_waited_for_is_looked_at_again(tmp_path: Path) -> None:
    """The agent that was idle before somebody else typed may be at work now."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        house.host.fail("send", "hang")
        async with anyio.create_task_group() as group:

            async def type_by_hand() -> None:
                with pytest.raises(Exception, match="no answer"):
                    await house.call(SendToPane(pane=boss, text="hello", enter=True))

            group.start_soon(type_by_hand)
            await house.until(lambda: any(each.method == "send" for each in house.host.calls))
            question = await ask(house, task, worker)
            await house.until(lambda: house.parts.pump._under_way)
            house.host.mute = True
            house.host.set_status(boss, "working")
            house.host.at(boss).shown = "› Ask Codex to do anything\n\n  fake default · /work\n"
            house.host.release()
        await until_held(house, question, "busy")
        assert house.prompts(boss) == []


async def test_a_text_that_stands_unsent_gets_one_more_enter(tmp_path: Path) -> None:
    """T-19: the Enter was lost, the composer proves that exactly our text stands there."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        house.host._enters = LosingEnters()  # type: ignore[assignment]
        question = await ask(house, task, worker)
        await house.until(lambda: house.host.submitted)
        await house.rest()
        assert len(house.prompts(boss)) == 1
        keys = [each.keys for each in house.host.typed if each.how == "keys"]
        assert keys == [("enter",)]
        stages = [step.stage for step in (await why(house, question)).attempts[0].trail]
        assert stages == ["claimed", "typed", "turn-started"]


class LosingEnters(list[tuple[float, str]]):
    """Every Enter of a prompt is lost."""

    def append(self, _: tuple[float, str]) -> None:
        """Lose it."""


async def test_each_pass_says_what_it_did(tmp_path: Path) -> None:
    """An explicit notice to a seat that owes nothing does nothing."""
    async with living(tmp_path) as house:
        boss, worker, _ = await staffed(house)
        nothing = await house.call(NoticeSeat(seat="coordinator"), boss)
        assert (nothing.attempts, nothing.held) == ([], [])
        assert house.prompts(boss) == house.prompts(worker) == []
