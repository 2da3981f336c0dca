"""One spoiled record of each kind: everything else is shown, done and told (C-48)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinatord.errors import Refused
from coordinatord.features.attention.requests import ListAttention
from coordinatord.features.briefs.requests import (
    ListRevisions,
    RecordDecision,
    RegenerateBrief,
    RequestBrief,
)
from coordinatord.features.delivery.requests import PumpNow
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes.requests import BindSeat, ListPanes, WhoAmI
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.reports.requests import (
    AddNote,
    FileReport,
    FileReview,
    ListNotes,
    ObservePublication,
    RecordVerification,
)
from coordinatord.features.tasks.requests import ListTasks
from coordinatord.features.upkeep.requests import ArchiveTask, Examine, Export, Prune
from coordinatord.features.views.requests import (
    ExplainRecord,
    ReadContext,
    ReadInbox,
    ReadLog,
    ReadRundown,
    ReadStatus,
    ShowRecord,
)
from coordinatord.ids import COORDINATOR, PaneId, reviewer_of, worker_of
from coordinatord.store.database import Transaction
from coordinatord.wire.requests import Request
from tests.features.staff import ask, new_task, staffed
from tests.house import House, living

KINDS = (
    "seats",
    "tasks",
    "questions",
    "messages",
    "reports",
    "reviews",
    "verifications",
    "publications",
    "task_notes",
    "briefs",
    "decisions",
    "attempts",
    "episodes",
)

Spoil = Callable[[Transaction], None]


def spoil(table: str, *ids: str) -> Spoil:
    def change(tx: Transaction) -> None:
        for id in ids:
            tx.run(f"UPDATE {table} SET body = ? WHERE id = ?", b'{"id": 7', id)

    return change


async def full_task(house: House, boss: PaneId, worker: PaneId, task: str) -> None:
    """One record of each kind on the task."""
    reader = house.host.add_agent(status="working")
    await house.until(lambda: reader in house.parts.sightings.panes)
    await house.call(BindSeat(task=task, reviewer_pane=reader), boss)
    first = await ask(house, task, worker)
    await house.call(AnswerQuestion(question=first, text="80"), boss)
    await ask(house, task, worker, "And then?")
    await house.call(RecordDecision(task=task, text="Port 80."), boss)
    await house.call(RegenerateBrief(task=task), boss)
    await house.call(RequestBrief(brief=task), boss)
    await house.call(SendMessage(to=worker_of(task), text="hello"), boss)
    filed = FileReport(task=task, outcome="partial", text="x", candidate="v1")
    await house.call(filed, worker)
    await house.call(RecordVerification(task=task, candidate="v0", result="fail"), boss)
    review = FileReview(task=task, candidate="v1", verdict="comment", text="fine", tool="lint")
    await house.call(review, reader)
    await house.call(ObservePublication(task=task, number=1, state="open"), boss)
    await house.call(AddNote(task=task, text="x"), worker)
    await house.call(filed, worker)


def readings(task: str, other: str, question: str) -> list[Request[Any]]:
    """Everything that shows more than the spoiled record."""
    return [
        ReadInbox(),
        ReadInbox(seat=COORDINATOR),
        ReadInbox(seat=worker_of(other)),
        ReadInbox(seat=worker_of(task)),
        ReadRundown(),
        ReadContext(task=other),
        ReadLog(),
        ReadStatus(),
        ListTasks(archived=True),
        ListAttention(),
        ListPanes(),
        ListNotes(task=other),
        ListRevisions(task=other),
        ShowRecord(id=other),
        ShowRecord(id=question),
        ExplainRecord(id=other),
        ExplainRecord(id=question),
        Examine(fix=True),
        Export(),
        Prune(older_than_s=0),
        WhoAmI(),
    ]


@pytest.mark.parametrize("table", KINDS)
async def test_the_rest_goes_on(tmp_path: Path, table: str) -> None:
    """C-48."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="idle")
        second = house.host.add_agent()
        await house.until(lambda: second in house.parts.sightings.panes)
        other = await new_task(house, boss, second)
        await full_task(house, boss, worker, task)
        await house.rest()
        column = {"seats": "id", "tasks": "id", "messages": "recipient", "attempts": "seat",
                  "episodes": "seat"}.get(table, "task")  # fmt: skip
        named = {"seats": (worker_of(task), reviewer_of(task)), "tasks": (task,),
                 "messages": (worker_of(task),), "attempts": (worker_of(task), COORDINATOR),
                 "episodes": (COORDINATOR,)}.get(table, (task,))  # fmt: skip
        rows = await house.database.read(
            lambda view: [
                row
                for name in named
                for row in view.rows(f"SELECT id FROM {table} WHERE {column} = ?", name)
            ]
        )
        spoiled = [str(row[0]) for row in rows]
        assert spoiled, "nothing of this kind was made"
        await house.database.write(spoil(table, *spoiled))
        question = await ask(house, other, second)
        broken = {}
        for request in readings(task, other, question):
            try:
                answer = await house.call(request, boss)
            except Refused as refusal:
                broken[str(request)] = refusal.message
            else:
                if isinstance(request, Examine):
                    found = {each.subject for each in answer.items if each.id == "records-readable"}
                    assert set(spoiled) <= found
        assert broken == {}
        house.host.set_status(boss, "working")
        await house.rest()
        house.host.set_status(boss, "idle")
        await house.until(lambda: any(question in text for text in house.prompts(boss)))
        await house.call(PumpNow(), boss)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.call(ArchiveTask(task=other, acknowledge=True), boss)
