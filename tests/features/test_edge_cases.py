"""The edge cases of coordination.md §3.8 that are about records and lives, restated for one daemon.

Those about typing are in `typing/test_edges.py`. What the original says about several processes, lock files
and plugins is told here of what takes their place: the claim's transaction, the store, the switch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from coordinatord.errors import Refused, Unreachable
from coordinatord.features.attention.requests import ListAttention
from coordinatord.features.briefs.requests import RegenerateBrief, RequestBrief
from coordinatord.features.delivery import run_attempt
from coordinatord.features.delivery.requests import (
    ConsumeWake,
    InitSeat,
    NoticeSeat,
    PumpNow,
    ReadDelivery,
    ShowWake,
)
from coordinatord.features.messages.requests import AckMessage, SendMessage
from coordinatord.features.panes.requests import BindSeat, ClosePane, ListPanes, WhoAmI
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.typing.requests import SendToPane
from coordinatord.features.upkeep.requests import ArchiveTask
from coordinatord.features.views.requests import (
    ReadContext,
    ReadInbox,
    ReadLog,
    ReadRundown,
    ReadStatus,
    ShowRecord,
)
from coordinatord.ids import COORDINATOR, PaneId
from coordinatord.store import journal
from coordinatord.store.database import Transaction
from tests.features.staff import ask, new_task, next_idle, staffed, until_held, why
from tests.house import FastClock, House, living

A_DAY_S = 86_400.0


async def woken_for(house: House, *texts: str) -> tuple[PaneId, PaneId, str, list[str]]:
    """A coordinator that was told of these messages in one notice and stands idle; its worker works."""
    boss = house.host.add_agent(status="working")
    worker = house.host.add_agent(status="working")
    await house.until(lambda: worker in house.parts.sightings.panes)
    await house.call(InitSeat(), boss)
    task = await new_task(house, boss, worker)
    sent = [(await house.call(SendMessage(to=COORDINATOR, text=text))).id for text in texts]
    await until_held(house, sent[-1], "busy")
    house.host.set_status(boss, "idle")
    await house.until(lambda: house.prompts(boss))
    await house.rest()
    house.host.set_status(boss, "idle")
    return boss, worker, task, sent


async def test_who_lost_the_seat_meanwhile_is_not_told(tmp_path: Path) -> None:
    """§3.8.7: the claim reads again who sits there; what was seen before gives no right to type."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        await ask(house, task, worker)
        house.host.set_status(worker, "working")
        message = await house.call(SendMessage(to=f"worker:{task}", text="hello"))
        await until_held(house, message.id, "busy")
        archive = ArchiveTask(task=task, acknowledge=True)
        at_next_read(house, worker, lambda: house.call(archive, boss))
        house.host.set_status(worker, "idle")

        async def unseated() -> bool:
            return (await house.call(WhoAmI(), worker)).role == "developer"

        await house.until(unseated)
        await house.rest()
        assert (house.prompts(worker), await house.attempts()) == ([], [])


def at_next_read(house: House, pane: PaneId, do: Callable[[], Any]) -> None:
    """Do something when the daemon reads this screen next."""
    terminal = house.parts.ground.terminal
    real = terminal.read

    async def read(asked: PaneId, *args: Any, **facts: Any) -> Any:
        if asked == pane:
            terminal.read = real  # type: ignore[method-assign]
            done = do()
            if inspect.isawaitable(done):
                await done
        return await real(asked, *args, **facts)

    terminal.read = read  # type: ignore[method-assign]


async def test_a_look_that_hangs_costs_one_call_and_no_failure(tmp_path: Path) -> None:
    """§3.8.16, C-15: the others are told meanwhile; nothing is counted against anybody."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        others = [house.host.add_agent() for _ in range(2)]
        await house.until(lambda: set(others) <= house.parts.sightings.panes.keys())
        tasks = [task, *[await new_task(house, boss, pane) for pane in others]]
        await house.clock.sleep(1)  # nobody was looked at lately
        house.host.fail("foreground", "hang")
        before = len(house.host.calls)
        sent = [
            (await house.call(SendMessage(to=f"worker:{name}", text="hello"))).id for name in tasks
        ]
        told = [*others]
        await house.until(lambda: sum(bool(house.prompts(p)) for p in (worker, *told)) == 2)
        silent = next(pane for pane in (worker, *told) if not house.prompts(pane))
        asked = [each for each in house.host.calls[before:] if each.pane == silent]
        assert [each.method for each in asked].count("foreground") == 1
        stages = [each.stage for each in await house.attempts()]
        assert "not-delivered" not in stages
        house.host.release()
        await house.until(lambda: house.prompts(silent))
        assert len(sent) == 3


async def test_a_host_that_hangs_is_asked_once_for_all(tmp_path: Path) -> None:
    """§3.8.16, C-15: three recipients, one bounded call; who waited for it asks no more in that pass."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        panes = [worker, *[house.host.add_agent() for _ in range(2)]]
        await house.until(lambda: set(panes) <= house.parts.sightings.panes.keys())
        tasks = [task, *[await new_task(house, boss, pane) for pane in panes[1:]]]
        await house.rest()
        await house.clock.sleep(2)  # it was not heard of lately
        asked, answer = list[PaneId](), anyio.Event()

        async def hang(pane: PaneId) -> Any:
            asked.append(pane)
            await answer.wait()
            raise Unreachable("no answer within 5 s")

        terminal = house.parts.ground.terminal
        real, terminal.look = terminal.look, hang  # type: ignore[method-assign]
        sent = [
            (await house.call(SendMessage(to=f"worker:{name}", text="hello"))).id for name in tasks
        ]
        await house.until(lambda: len(house.parts.pump._under_way) == len(sent))
        assert len(asked) == 1
        answer.set()
        for name in sent:
            await until_held(house, name, "host-unreachable")
        assert await house.attempts() == []
        terminal.look = real  # type: ignore[method-assign]
        await house.until(lambda: all(house.prompts(pane) for pane in panes))
        assert all(len(house.prompts(pane)) == 1 for pane in panes)


async def test_a_snapshot_that_times_out_is_waited_for_together(tmp_path: Path) -> None:
    """C-15, C-24: four callers at a host that hangs wait for one bounded call, not for four in a row."""
    async with living(tmp_path, run=False) as house:
        asked, answer = list[int](), anyio.Event()

        async def hang() -> Any:
            asked.append(1)
            await answer.wait()
            await house.clock.sleep(1)
            raise Unreachable("no answer within 5 s")

        house.parts.ground.terminal.snapshot = hang  # type: ignore[method-assign]
        found: list[bool] = []

        async def look() -> None:
            found.append(await house.parts.lookout.look_around())

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(look)
            await anyio.wait_all_tasks_blocked()
            answer.set()
        assert (found, len(asked)) == ([False] * 4, 1)


async def test_a_look_that_times_out_holds_others_for_its_bound_only(tmp_path: Path) -> None:
    """C-13, C-15: they wait for its answer, then one of them asks itself."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        await house.rest()
        await house.clock.sleep(2)  # it was not heard of lately
        terminal, waiting = house.parts.ground.terminal, anyio.Event()
        real = terminal.look

        async def look(pane: PaneId) -> Any:
            if pane != worker:
                return await real(pane)
            waiting.set()
            await house.clock.sleep(5)
            raise Unreachable("no answer within 5 s")

        terminal.look = look  # type: ignore[method-assign]
        await house.call(SendMessage(to=f"worker:{task}", text="hello"))
        await waiting.wait()
        await house.call(SendMessage(to=COORDINATOR, text="hello"))
        await house.until(lambda: house.prompts(boss))
        assert house.prompts(worker) == []


async def test_a_closed_coordinator_leaves_its_returns_to_the_next(tmp_path: Path) -> None:
    """§3.8.19: nothing is lost, nothing fails; who takes the seat is told afresh."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        house.host.remove_pane(boss)
        second = await ask(house, task, worker, "And this?")
        await until_held(house, second, "absent")
        heir = house.host.add_agent()
        await house.until(lambda: heir in house.parts.sightings.panes)
        taken = await house.call(InitSeat(role="coordinator", reclaim=True), heir)
        assert [each.id for each in taken.owed] == [question, second]
        assert [each.state for each in taken.owed] == ["pending", "pending"]
        assert house.prompts(heir) == []


async def test_an_explicit_notice_tries_once_what_had_stalled(tmp_path: Path) -> None:
    """§3.8.23: once, and what fails again is tried no further."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        for _ in range(4):
            house.host.refuse("prompt", "agent_not_ready")
        question = await ask(house, task, worker)
        await until_held(house, question, "stalled")
        assert len((await house.call(NoticeSeat(seat="coordinator"))).attempts) == 1
        await house.call(PumpNow(), boss)
        await house.rest()
        tried = [each.stage for each in await house.attempts()]
        assert tried == ["not-delivered"] * 4
        await house.call(NoticeSeat(seat="coordinator"))
        assert len(house.prompts(boss)) == 1
        assert question in house.prompts(boss)[0]


@pytest.mark.parametrize("command", [NoticeSeat(seat=COORDINATOR), PumpNow()])
async def test_whoever_asks_gets_a_fresh_look(
    tmp_path: Path, command: NoticeSeat | PumpNow
) -> None:
    """§3.1: a draft that was deleted since the last look holds nothing, and no hold is told of it."""
    async with living(tmp_path, clock=FastClock(speed=1.0)) as house:
        boss, worker, task = await staffed(house)
        house.host.type_draft(boss, "half a thought")
        question = await ask(house, task, worker)
        await until_held(house, question, "draft")
        house.host.agent(boss).composer = ""
        assert (await house.call(command)).held == []
        assert len(house.prompts(boss)) == 1


async def test_a_worker_whose_pane_was_closed_is_no_failure(tmp_path: Path) -> None:
    """§3.8.26: what it is owed waits for the next one in that seat, without an attempt."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        await house.call(ClosePane(pane=worker))
        repair = await house.call(SendMessage(to=f"worker:{task}", text="please repair"), boss)
        await until_held(house, repair.id, "absent")
        assert await house.attempts() == []
        heir = house.host.add_agent()
        await house.until(lambda: heir in house.parts.sightings.panes)
        await house.call(BindSeat(task=task, worker_pane=heir), boss)
        await house.until(lambda: house.prompts(heir))
        assert repair.id in house.prompts(heir)[0]


async def test_a_requested_brief_waits_for_whoever_can_read_it(tmp_path: Path) -> None:
    """§3.8.27, §3.8.28: nothing is tried while the worker is gone; told once, it is not repeated."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        house.host.remove_pane(worker)
        made = await house.call(RegenerateBrief(task=task, policy="run all tests"), boss)
        requested = await house.call(RequestBrief(brief=made.id), boss)
        await until_held(house, requested.id, "absent")
        assert await house.attempts() == []
        heir = house.host.add_agent()
        await house.until(lambda: heir in house.parts.sightings.panes)
        await house.call(BindSeat(task=task, worker_pane=heir), boss)
        await house.until(lambda: house.prompts(heir))
        assert requested.id in house.prompts(heir)[0]
        for _ in range(2):
            await next_idle(house, heir)
            await house.call(PumpNow(), boss)
        assert len(house.prompts(heir)) == 1


async def test_a_store_that_somebody_holds_only_delays(tmp_path: Path) -> None:
    """§3.8.29, G-7: nothing is typed that could not be written down before; then it is told once."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await until_held(house, question, "busy")
        refusals = refuse_writes(house, "_claim")
        house.host.set_status(boss, "idle")
        await house.until(lambda: refusals.count > 1)
        assert (house.prompts(boss), await house.attempts()) == ([], [])
        refusals.over = True
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert len(house.prompts(boss)) == 1


async def test_an_outcome_that_cannot_be_stored_at_once_is_insisted_on(tmp_path: Path) -> None:
    """§3.8.31: the disk has the claim; the text is not typed again because its outcome is late."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        refusals = refuse_writes(house, "reach")
        await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss) and refusals.count > 1)
        assert [each.stage for each in await house.attempts()] == ["claimed"]
        refusals.over = True

        async def known() -> bool:
            return [each.stage for each in await house.attempts()] == ["turn-started"]

        await house.until(known)
        assert len(house.prompts(boss)) == 1


class Refusals:
    """How often the store took nothing."""

    count = 0
    over = False


def refuse_writes(house: House, name: str) -> Refusals:
    """The store takes no transaction of this name, until that is over."""
    honest, refusals = house.database.write, Refusals()

    async def write(fn: Any, *args: Any, **facts: Any) -> Any:
        if fn.__name__ == name and not refusals.over:
            refusals.count += 1
            raise Refused("store-busy", "somebody else holds it")
        return await honest(fn, *args, **facts)

    house.database.write = write  # type: ignore[method-assign]
    return refusals


async def test_what_is_typed_by_hand_is_no_part_of_an_episode(tmp_path: Path) -> None:
    """§3.8.30: it is neither merged with what waits, nor does it end the episode."""
    async with living(tmp_path) as house:
        boss, _, _, _ = await woken_for(house, "one")
        before = await house.call(ShowWake(), boss)
        await house.call(SendToPane(pane=boss, text="from a person", enter=True))
        house.host.set_status(boss, "idle")
        late = await house.call(SendMessage(to=COORDINATOR, text="two"))
        await until_held(house, late.id, "coalesced")
        after = await house.call(ShowWake(), boss)
        assert (after.id, after.included, after.state) == (before.id, before.included, before.state)


async def test_an_episode_that_cannot_be_read_holds_routine_only_for_its_coordinator(
    tmp_path: Path,
) -> None:
    """§3.8.32: no guess interrupts; decisions pass, others are told, an explicit notice makes a new one."""
    async with living(tmp_path) as house:
        boss, worker, task, _ = await woken_for(house, "one")
        await house.database.write(spoil_episodes)
        late = await house.call(SendMessage(to=COORDINATOR, text="two"))
        await until_held(house, late.id, "coalesced")
        with pytest.raises(Refused) as refusal:
            await house.call(ShowWake(), boss)
        assert refusal.value.reason == "unreadable"
        to_worker = await house.call(SendMessage(to=f"worker:{task}", text="three"))
        house.host.set_status(worker, "idle")
        await house.until(lambda: house.prompts(worker))
        assert to_worker.id in house.prompts(worker)[0]
        question = await ask(house, task, worker)
        await house.until(lambda: len(house.prompts(boss)) == 2)
        assert question in house.prompts(boss)[1]
        assert late.id not in house.prompts(boss)[1]
        await house.rest()
        house.host.set_status(boss, "idle")
        await house.call(NoticeSeat(seat="coordinator"))
        assert late.id in house.prompts(boss)[2]
        assert f"message:{late.id}" in (await house.call(ShowWake(), boss)).included


def spoil_episodes(tx: Transaction) -> None:
    tx.run("UPDATE episodes SET body = ?", b'{"id": 7')


async def test_twelve_arrivals_make_one_prompt_and_twelve_things_to_read(tmp_path: Path) -> None:
    """§3.8.33, C-36."""
    async with living(tmp_path) as house:
        boss, _, _, sent = await woken_for(house, "one")
        for number in range(11):
            message = await house.call(SendMessage(to=COORDINATOR, text=f"{number}"))
            sent.append(message.id)
        await until_held(house, sent[-1], "coalesced")
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == 1
        assert [each.id for each in (await house.call(ReadInbox(), boss)).items] == sent


async def test_what_came_after_a_boundary_is_told_alone(tmp_path: Path) -> None:
    """§3.8.34, C-37: what the receipt covers is not told again, and its attempt stays as it was."""
    async with living(tmp_path) as house:
        boss, _, _, (first, second) = await woken_for(house, "a", "b")
        assert first in house.prompts(boss)[0]
        assert second in house.prompts(boss)[0]
        late = await house.call(SendMessage(to=COORDINATOR, text="c"))
        await until_held(house, late.id, "coalesced")
        before = await house.attempts()
        shown = await house.call(ShowWake(), boss)
        await house.call(ConsumeWake(boundary=shown.boundary), boss)
        await house.until(lambda: len(house.prompts(boss)) == 2)
        assert [name in house.prompts(boss)[1] for name in (first, second, late.id)] == [
            False,
            False,
            True,
        ]
        assert (await house.attempts())[: len(before)] == before


async def test_a_new_occupant_inherits_no_coverage_and_no_receipt(tmp_path: Path) -> None:
    """§3.8.35: it is told everything itself, and the old receipt is none of its."""
    async with living(tmp_path) as house:
        boss, _, _, (first,) = await woken_for(house, "a")
        shown = await house.call(ShowWake(), boss)
        house.host.recycle(boss)
        house.host.add_agent(boss)
        await house.until(lambda: house.parts.sightings.panes[boss].agent is not None)
        late = await house.call(SendMessage(to=COORDINATOR, text="b"))
        await until_held(house, late.id, "replaced")
        with pytest.raises(Refused):
            await house.call(ConsumeWake(boundary=shown.boundary), boss)
        taken = await house.call(InitSeat(role="coordinator", reclaim=True), boss)
        assert [each.id for each in taken.owed] == [first, late.id]
        with pytest.raises(Refused) as refusal:
            await house.call(ConsumeWake(boundary=shown.boundary), boss)
        assert refusal.value.reason in ("not-allowed", "wrong-state")


async def test_the_same_question_under_a_new_key_is_a_new_decision(tmp_path: Path) -> None:
    """§3.8.36, C-19: the old key repeats nothing; a new one may pass the episode once more."""
    async with living(tmp_path) as house:
        boss, worker, task, _ = await woken_for(house, "a")
        first = AskQuestion(task=task, text="Which port?", key="one")
        question = await house.call(first, worker)
        await house.until(lambda: len(house.prompts(boss)) == 2)
        await next_idle(house, boss)
        assert (await house.call(first, worker)).id == question.id
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == 2
        again = await house.call(AskQuestion(task=task, text="Which port?", key="two"), worker)
        await house.until(lambda: len(house.prompts(boss)) == 3)
        assert again.id in house.prompts(boss)[2]
        assert question.id not in house.prompts(boss)[2]


async def test_a_lost_edge_makes_it_late_and_nothing_else(tmp_path: Path) -> None:
    """§3.8.37, C-33: no event is counted as handled; whatever looks next finds it."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        house.host.set_status(worker, "working")
        question = await ask(house, task, worker)
        await until_held(house, question, "busy")
        await house.clock.sleep(5)
        handled = (await house.call(ReadDelivery())).handled
        house.host.mute = True
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        assert len(house.prompts(boss)) == 1
        assert (await house.call(ReadDelivery())).handled == handled


async def test_reading_tells_nobody(tmp_path: Path) -> None:
    """§3.8.38: whatever is read while something is due changes no record and types nothing."""
    async with living(tmp_path, run=False) as house:
        await house.parts.lookout.look_around()
        boss, worker = house.host.add_agent(), house.host.add_agent()
        await house.parts.lookout.look_around()
        await house.call(InitSeat(), boss)
        task = await new_task(house, boss, worker)
        question = await ask(house, task, worker)
        before = await house.database.read(journal.last_seq)
        calls = len(house.host.calls)
        for request in (
            ReadInbox(),
            ReadStatus(),
            ReadRundown(),
            ReadContext(task=task),
            ReadLog(),
            ShowRecord(id=question),
            ReadDelivery(),
            ListAttention(),
            ListPanes(),
            WhoAmI(),
        ):
            await house.call(request, boss)
        await why(house, question)
        assert await house.database.read(journal.last_seq) == before
        assert house.host.typed == []
        assert "prompt" not in {each.method for each in house.host.calls[calls:]}


async def test_a_coordinator_that_never_acts_is_owed_to_for_ever(tmp_path: Path) -> None:
    """§3.8.40: told once; days later it is still open, and nobody typed again."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        house.host.set_status(worker, "working")
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        for _ in range(3):
            house.clock.skip(A_DAY_S)
            await next_idle(house, boss)
        assert len(house.prompts(boss)) == 1
        inbox = await house.call(ReadInbox(), boss)
        assert [each.id for each in inbox.items] == [question]
        assert (await house.call(ReadDelivery())).oldest_decision_s > 3 * A_DAY_S  # type: ignore[operator]


async def test_a_message_is_owed_until_it_is_acknowledged(tmp_path: Path) -> None:
    """§3.8.40: being told, or time, ends nothing; the recipient's word does."""
    async with living(tmp_path) as house:
        boss, _, _, (first,) = await woken_for(house, "a")
        house.clock.skip(A_DAY_S)
        assert [each.id for each in (await house.call(ReadInbox(), boss)).items] == [first]
        await house.call(AckMessage(message=first), boss)
        assert (await house.call(ReadInbox(), boss)).items == []


async def test_a_text_that_stands_unsubmitted_is_told_to_a_person_once(tmp_path: Path) -> None:
    """G-3: through the host, in `status` and in `why`; nothing is typed behind it."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        house.host.agent(boss).swallows = 50
        question = await ask(house, task, worker)

        async def stuck() -> bool:
            return bool((await house.call(ReadStatus())).stranded)

        await house.until(stuck)
        (attempt,) = await house.attempts()
        await house.until(lambda: house.host.notes)
        title, body = house.host.notes[0]
        assert (title, attempt.id in body, boss in body) == (
            "coordinatord: typed, not submitted",
            True,
            True,
        )
        assert "not submitted" in (await why(house, attempt.id)).sentence
        assert "not submitted" in (await why(house, question)).sentence
        await next_idle(house, boss)
        await house.clock.sleep(60)
        assert len(house.host.notes) == 1
        assert len(house.prompts(boss)) == 1


async def test_the_look_that_made_it_due_is_the_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-2: four host calls up to and including the prompt, the look at the event's pane among them."""
    monkeypatch.setattr(run_attempt, "RECENT_S", 60.0)  # however slow this machine is
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await until_held(house, question, "busy")
        await house.rest()
        before = len(house.host.calls)
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        calls = [each.method for each in house.host.calls[before:] if each.pane == boss]
        assert calls[: calls.index("prompt") + 1] == ["look", "foreground", "read", "prompt"]
