"""The edge cases of coordination.md §3.8 that are about typing, restated for one daemon."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinatord.features.delivery.requests import NoticeSeat, PumpNow
from coordinatord.features.delivery.run_attempt import STALE_S
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Communication
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.ids import COORDINATOR, PaneId
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.port import LookAt, Sighting
from tests.features.staff import ask, new_task, next_idle, staffed, until_held, why
from tests.house import FastClock, House, living


async def held_question(house: House) -> tuple[PaneId, PaneId, str]:
    """A question that waits for a coordinator who works; the worker works too."""
    boss, worker, task = await staffed(house, boss_status="working")
    question = await ask(house, task, worker)
    house.host.set_status(worker, "working")
    await until_held(house, question, "busy")
    await house.rest()
    return boss, worker, question


def on_call(house: House, method: str, pane: PaneId, do: Callable[[], Any]) -> None:
    """Do something at the moment at which the daemon's next such call arrives."""
    terminal = house.parts.ground.terminal
    real = getattr(terminal, method)

    async def arrive(asked: PaneId, *args: object, **facts: object) -> object:
        if asked == pane:
            setattr(terminal, method, real)
            done = do()
            if inspect.isawaitable(done):
                await done
        return await real(asked, *args, **facts)

    setattr(terminal, method, arrive)


async def test_answered_while_the_recipient_is_observed(tmp_path: Path) -> None:
    """§3.8.5, C-10: what is left is named; nothing left, nothing typed and no attempt made."""
    async with living(tmp_path) as house:
        boss, _worker, question = await held_question(house)
        answer = AnswerQuestion(question=question, text="80")
        on_call(house, "read", boss, lambda: house.call(answer, boss))
        house.host.set_status(boss, "idle")
        await house.rest()
        assert house.prompts(boss) == []
        assert await house.attempts() == []


async def test_rebound_while_the_recipient_is_observed(tmp_path: Path) -> None:
    """§3.8.6, §3.8.8, C-11: the old pane gets nothing, the new one is told."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        other = house.host.add_agent()
        await house.until(lambda: other in house.parts.sightings.panes)
        question = await ask(house, task, boss)
        await house.rest()
        house.host.set_status(worker, "idle")
        bind = BindSeat(task=task, worker_pane=other)
        on_call(house, "read", worker, lambda: house.call(bind, boss))
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.until(lambda: house.prompts(other))
        await house.rest()
        assert house.prompts(worker) == []
        assert question in house.prompts(other)[0]


async def test_a_terminal_that_changes_right_after_typing_is_uncertain(tmp_path: Path) -> None:
    """§3.8.9: the window cannot be closed; what happened in it is detected and not called delivered."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        house.host.panes[boss].terminal_id = "term_other"
        await until_held(house, question, "uncertain")


async def test_a_recycled_pane_gets_nothing(tmp_path: Path) -> None:
    """§3.8.10: same address, same folder, another occupant."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        house.host.recycle(boss)
        house.host.add_agent(boss)
        await until_held(house, question, "replaced")
        assert house.prompts(boss) == []


@pytest.mark.parametrize("method", ["foreground", "read"])
async def test_busy_wins_over_an_earlier_look(tmp_path: Path, method: str) -> None:
    """§3.8.11: the agent begins to work while it is observed; the screen says so and nothing is typed."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        on_call(house, method, boss, lambda: house.host.set_status(boss, "working"))
        house.host.set_status(boss, "idle")
        await house.rest()
        assert house.prompts(boss) == []
        await until_held(house, question, "busy")


async def test_what_was_seen_to_change_meanwhile_is_looked_at_again(tmp_path: Path) -> None:
    """§3.8.11: the screen that comes back slowly is an old one; what the host has said since wins."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)

        async def begin_to_work() -> None:
            house.host.at(boss).shown = house.host.at(boss).screen(ansi=True)
            house.host.set_status(boss, "working")
            await house.until(lambda: house.parts.sightings.panes[boss].status == "working")

        on_call(house, "read", boss, begin_to_work)
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.host.agent(boss).status == "working")
        await house.rest()
        await until_held(house, question, "busy")
        assert (house.prompts(boss), await house.attempts()) == ([], [])


@pytest.mark.parametrize("meanwhile", ["draft", "nothing"])
async def test_a_store_that_takes_its_time_makes_the_look_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """§3.8.11, G-7: after seconds of waiting for the claim the pane is looked at once more."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        honest = Communication.phrase

        def slowly(source: Communication, item: Obligation) -> str:
            monkeypatch.setattr(Communication, "phrase", honest)
            house.clock.skip(5 * STALE_S)
            if meanwhile == "draft":
                house.host.type_draft(boss, "could you look at")
            return honest(source, item)

        monkeypatch.setattr(Communication, "phrase", slowly)
        question = await ask(house, task, worker)
        if meanwhile == "nothing":
            await house.until(lambda: house.prompts(boss))
            return
        await until_held(house, question, "draft")
        await house.rest()
        assert house.prompts(boss) == []
        tried = await house.attempts()
        assert [each.stage for each in tried] == ["not-delivered"]
        assert tried[0].trail[-1].evidence.startswith("draft")
        house.host.agent(boss).composer = ""
        await house.until(lambda: house.prompts(boss))


async def test_a_permission_dialog_is_not_typed_into(tmp_path: Path) -> None:
    """§3.8.12."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        house.host.open_dialog(boss, "Allow?")
        await until_held(house, question, "blocked")
        assert house.prompts(boss) == []
        house.host.close_dialog(boss)
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))


async def test_a_dialog_that_the_host_has_not_noticed_is_seen_on_the_screen(tmp_path: Path) -> None:
    """§3.8.12, agents.md §1, facts 1 to 3: idle and ready for all to see, with a dialog drawn."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        house.host.open_dialog(boss, "Allow?", blocked=False)
        house.host.set_status(boss, "idle")
        await until_held(house, question, "dialog")
        assert house.prompts(boss) == []


async def test_a_state_that_changed_does_not_outweigh_the_text_that_still_stands(
    tmp_path: Path,
) -> None:
    """Coordination §3.9: a dialog came up after the text and took its Enter; the agent rests again, and
    the screen proves that nothing was submitted."""
    async with living(tmp_path) as house:
        boss, _worker, question = await held_question(house)
        agent = house.host.agent(boss)

        def answered_by_the_enter() -> None:
            agent.swallows = 1
            house.host.set_status(boss, "working")
            house.host.set_status(boss, "idle")

        on_call(house, "prompt", boss, answered_by_the_enter)
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.host.submitted)
        assert question in house.host.submitted[0].text
        assert len(house.prompts(boss)) == 1


async def test_an_event_is_not_believed(tmp_path: Path) -> None:
    """§3.8.13: an idle edge that is not true any more; the fresh look decides."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        house.host.announce(LookAt(boss), about=boss)
        await house.rest()
        assert house.prompts(boss) == []
        assert (await why(house, question)).held == "busy"


async def test_six_edges_in_any_order_make_one_prompt(tmp_path: Path) -> None:
    """§3.8.14, §3.8.15."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        house.host.agent(boss).status = "idle"
        for _ in range(6):
            house.host.announce(LookAt(boss), about=boss)
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        for _ in range(6):
            house.host.announce(LookAt(boss), about=boss)
        await next_idle(house, boss)
        assert len([text for text in house.prompts(boss) if question in text]) == 1


async def test_whoever_is_not_through_in_time_is_deferred_without_an_attempt(
    tmp_path: Path,
) -> None:
    """§3.8.18, C-14: an explicit pass ends within its budget; the seat has its turn all the same."""
    async with living(tmp_path) as house:
        boss, _, question = await held_question(house)
        house.host.agent(boss).status = "idle"  # without an event
        house.host.fail("read", "hang")
        told = await house.call(PumpNow())
        assert told.deferred == [COORDINATOR]
        assert told.attempts == []
        assert await house.attempts() == []
        house.host.release()
        await house.until(lambda: house.prompts(boss))
        assert question in house.prompts(boss)[0]


async def test_stalled_is_revived_by_an_edge_and_uncertain_is_not(tmp_path: Path) -> None:
    """§3.8.20, §3.8.21, C-7: every failure was proven; a doubt never is."""
    async with living(tmp_path) as house:
        pane = house.host.add_agent()
        await house.until(lambda: pane in house.parts.sightings.panes)
        for _ in range(3):
            house.host.refuse("prompt", "agent_not_ready")
        message = await house.call(SendMessage(to=pane, text="x", inline=True))
        await until_held(house, message.id, "stalled")
        await house.call(PumpNow())
        assert house.prompts(pane) == []
        house.host.fail("prompt", "uncertain-lost")
        await next_idle(house, pane)
        await until_held(house, message.id, "uncertain")
        await next_idle(house, pane)
        assert house.prompts(pane) == []
        await house.call(NoticeSeat(seat=message.to))
        await house.until(lambda: house.prompts(pane))
        assert len(house.prompts(pane)) == 1


async def test_a_pane_that_does_not_report_its_session_is_told(tmp_path: Path) -> None:
    """A missing conversation id is a hint and never a hold."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        seen = house.parts.sightings.panes[boss]
        assert isinstance(seen, Sighting)
        assert seen.session is None
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        assert question in house.prompts(boss)[0]


async def test_two_daemons_on_one_store_type_once(tmp_path: Path) -> None:
    """§3.8.2, C-12: even past the lock that keeps a second one away, the claim decides."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with (
        living(tmp_path, host, clock=clock) as one,
        living(tmp_path, host, clock=clock) as two,
    ):
        boss, _, question = await held_question(one)
        for _ in range(5):
            host.set_status(boss, "working")
            host.set_status(boss, "idle")
        await one.until(lambda: one.prompts(boss))
        await one.rest()
        await two.rest()
        assert len([text for text in one.prompts(boss) if question in text]) == 1


async def test_two_recipients_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """§3.8.1, C-13: one hangs at its prompt, the other is told meanwhile."""
    async with living(tmp_path) as house:
        panes = [house.host.add_agent() for _ in range(2)]
        await house.until(lambda: set(panes) <= house.parts.sightings.panes.keys())
        house.host.fail("prompt", "hang")
        first = await house.call(SendMessage(to=panes[0], text="x"))
        await house.until(lambda: any(each.method == "prompt" for each in house.host.calls))
        await house.call(SendMessage(to=panes[1], text="y"))
        await house.until(lambda: house.prompts(panes[1]))
        house.host.release()
        await until_held(house, first.id, "uncertain")


async def test_a_worker_without_a_pane_is_not_told(tmp_path: Path) -> None:
    """§3.8.25: no recorded pane is a reason, not a failure that counts."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        task = await new_task(house, boss)
        message = await house.call(SendMessage(to=f"worker:{task}", text="x"), boss)
        await until_held(house, message.id, "unbound")
        assert [each for each in await house.attempts() if message.id in each.records] == []
