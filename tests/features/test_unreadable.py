"""A record that cannot be read affects itself and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.features.questions.requests import AnswerQuestion, ResolveQuestion
from coordinatord.features.views.requests import ReadInbox, ReadStatus, ShowRecord
from coordinatord.store.database import Transaction
from tests.features.staff import ask, next_idle, staffed, until_held, why
from tests.house import living


def spoil(tx: Transaction, record: str) -> None:
    """As half a write or a hand in the database leaves it."""
    tx.run("UPDATE questions SET body = ? WHERE id = ?", b'{"id": 7', record)


async def test_an_unreadable_record_leaves_the_rest(tmp_path: Path) -> None:
    """C-48, §3.8.39: the rest is told, and counts say that something is missing."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        broken, sound = [await ask(house, task, worker, f"{n}?") for n in range(2)]
        await until_held(house, sound, "busy")
        assert not (await house.call(ReadInbox(), boss)).incomplete
        await house.database.write(spoil, broken)
        inbox = await house.call(ReadInbox(), boss)
        assert (inbox.incomplete, [item.id for item in inbox.items]) == (True, [sound])
        assert (await house.call(ReadStatus())).incomplete
        for request in (ShowRecord(id=broken), AnswerQuestion(question=broken, text="80")):
            with pytest.raises(Refused) as refusal:
                await house.call(request, boss)
            assert (refusal.value.reason, bool(refusal.value.hint)) == ("unreadable", True)
        house.host.set_status(boss, "idle")
        await house.until(lambda: any(sound in notice for notice in house.prompts(boss)))
        assert broken not in "".join(house.prompts(boss))


async def test_why_follows_a_question_to_its_end(tmp_path: Path) -> None:
    """C-16: waiting, told, answered, told again, applied: each in one sentence."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await until_held(house, question, "busy")
        assert (await why(house, question)).sentence.endswith("its agent is working.")
        house.host.set_status(boss, "idle")

        async def told() -> bool:
            return (await why(house, question)).state == "submitted"

        await house.until(told)
        said = await why(house, question)
        assert "coordinator was told" in said.sentence
        assert (said.held, len(said.attempts)) == (None, 1)
        attempt = await why(house, said.attempts[0].id)
        assert question in attempt.sentence
        house.host.set_status(worker, "working")
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await until_held(house, question, "busy")
        await next_idle(house, worker)
        await house.until(told)
        assert f"worker:{task} was told" in (await why(house, question)).sentence
        await house.call(ResolveQuestion(question=question), worker)
        over = await why(house, question)
        assert (over.state, over.held) == ("applied", None)
        assert over.sentence == "Nothing is owed on it; it is applied."
