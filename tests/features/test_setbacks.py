"""A failure that nobody expected, inside one delivery, one look or one alert, stops nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from coordinatord.errors import Refused
from coordinatord.features.delivery import settling
from coordinatord.features.delivery.records import Attempt
from coordinatord.features.delivery.requests import NoticeSeat
from coordinatord.features.delivery.run_setbacks import PAUSES_S, Setback, Setbacks
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.views.requests import ReadStatus
from coordinatord.ids import PaneId, SeatId, TaskId, worker_of
from tests.features.staff import ask, new_task, staffed, until_held, why
from tests.house import House, living

WORDS = "what somebody wrote"


def broken(*_: Any, **__: Any) -> NoReturn:
    raise ZeroDivisionError(WORDS)


def break_screen(house: House, pane: PaneId, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at this pane's screen meets a bug."""
    monkeypatch.setattr(house.host.at(pane), "screen", broken)


async def test_a_delivery_that_fails_holds_its_seat_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-13: it is told once, held visibly, and goes on by itself once the cause is gone."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        other = house.host.add_agent()
        await house.until(lambda: other in house.parts.sightings.panes)
        second = await new_task(house, boss, other)
        question, fine = await ask(house, task, worker), await ask(house, second, other)
        await house.until(lambda: house.prompts(boss))
        with monkeypatch.context() as patched:
            break_screen(house, worker, patched)
            await house.call(AnswerQuestion(question=question, text="80"), boss)
            await until_held(house, question, "pacing")
            assert (
                "failed in the daemon: ZeroDivisionError" in (await why(house, question)).sentence
            )
            await house.call(AnswerQuestion(question=fine, text="80"), boss)
            await house.until(lambda: house.prompts(other))
            asked = await house.call(NoticeSeat(seat=f"worker:{task}"))
            assert [each.reason for each in asked.held] == ["pacing"]
            name = f"delivery to worker:{task}"
            assert (await house.call(ReadStatus())).degraded == {name: "ZeroDivisionError"}
        await house.until(lambda: house.prompts(worker))
        await house.rest()
        assert len(house.prompts(worker)) == 1
        assert (await house.call(ReadStatus())).degraded == {}
        told = [house.setbacks.pop(0) for _ in house.setbacks[:]]
        assert [each[:2] for each in told] == [(name, "ZeroDivisionError")]
        assert "screen" in told[0][2]
        assert WORDS not in told[0][2]


async def test_what_failed_after_the_claim_is_uncertain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-9: nobody knows what the failing call did; it is not typed again."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        with monkeypatch.context() as patched:
            patched.setattr(house.host, "prompt", broken)
            question = await ask(house, task, worker)
            await house.until(lambda: house.setbacks)

            async def doubted() -> bool:
                return [each.stage for each in await house.attempts()] == ["uncertain"]

            await house.until(doubted)
        await house.clock.sleep(max(PAUSES_S))
        await house.rest()
        assert house.prompts(boss) == []
        assert (await why(house, question)).state == "uncertain"
        house.setbacks.clear()


async def test_an_attempt_that_cannot_be_settled_does_not_keep_others_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that fails comes first in every round, and the second is settled all the same."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        panes = {SeatId("coordinator"): boss, worker_of(TaskId(task)): worker}
        for seat, pane in panes.items():
            house.host.agent(pane).swallows = 50
            await house.call(SendMessage(to=seat, text="hello"))

        async def stranded() -> list[Attempt]:
            return [each for each in await house.attempts() if each.stranded]

        async def both() -> bool:
            return len(await stranded()) == len(panes)

        await house.until(both)
        first, second = await stranded()
        honest = settling.settle

        def sometimes(attempt: Attempt, *rest: Any) -> Any:
            return broken() if attempt.id == first.id else honest(attempt, *rest)

        monkeypatch.setattr(settling, "settle", sometimes)
        for pane in panes.values():
            house.host.agent(pane).composer = ""
            house.host.set_status(pane, "working")

        async def settled() -> bool:
            return [each.id for each in await stranded()] == [first.id]

        await house.until(settled)
        assert house.setbacks.pop(0)[0] == f"settling {first.id}"
        assert (await house.attempts())[-1].id == second.id


async def test_the_rest_grows_and_ends_with_a_success() -> None:
    """And the same kind of failure is told once."""
    told: list[str] = []
    failing: dict[str, str] = {}
    clock = Still()
    setbacks = Setbacks("delivery to", clock, failing, lambda name, kind, trace: told.append(kind))

    async def fail() -> None:
        broken()

    async def succeed() -> int:
        return 7

    for number, pause in enumerate([*PAUSES_S, PAUSES_S[-1]], start=1):
        found = await setbacks.isolate("a", fail)
        assert found == Setback(number, "ZeroDivisionError", clock.now + pause)
        assert setbacks.resting("a") == found
        assert setbacks.resting("b") is None
        clock.now += pause
        assert setbacks.resting("a") is None
    assert told == ["ZeroDivisionError"]
    assert failing == {"delivery to a": "ZeroDivisionError"}
    assert await setbacks.isolate("a", succeed) == 7
    assert failing == {}
    found = await setbacks.isolate("a", fail)
    assert isinstance(found, Setback)
    assert found.times == 1
    setbacks.keep(frozenset({"b"}))
    assert (setbacks.resting("a"), failing) == (None, {})


async def test_a_store_that_takes_nothing_is_no_setback() -> None:
    """Whoever waits for the store waits for everybody."""
    setbacks = Setbacks("delivery to", Still(), {}, broken)

    async def refused() -> None:
        raise Refused("store-busy", "held")

    with pytest.raises(Refused):
        await setbacks.isolate("a", refused)
    assert setbacks.resting("a") is None


class Still:
    """A clock that a test moves."""

    now = 100.0

    def wall(self) -> float:
        return self.now

    def awake(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody waits here")
