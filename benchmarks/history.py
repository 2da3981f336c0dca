"""Makes a database with a past: many tasks that are over, and a few on which something is owed."""

from __future__ import annotations

import random
import time
from pathlib import Path

import anyio.to_thread
import copies
import msgspec

from coordinatord.features.delivery import table as delivery
from coordinatord.features.obligations import derivation
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Communication, Sources
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table as questions
from coordinatord.features.reports import table as reports
from coordinatord.features.reports.records import Report, Verification
from coordinatord.features.tasks import table as tasks
from coordinatord.ids import (
    COORDINATOR,
    AttemptId,
    PaneId,
    ReportId,
    SeatId,
    TaskId,
    VerificationId,
    worker_of,
)
from coordinatord.store.database import Database, Transaction
from coordinatord.terminals.port import Occupant

SOURCES = Sources([Communication()])
TEXT = "Which of the two migrations should run first? " * 8
AT_ONCE = 500


def _worker(task: TaskId) -> Caller:
    return Caller(seat=worker_of(task), role="worker", proof="ancestry", task=task)


BOSS = Caller(seat=COORDINATOR, role="coordinator", proof="ancestry")


def _over(tx: Transaction, count: int) -> None:
    for _ in range(count):
        task = tasks.add(tx, BOSS, "A task that is over", TEXT)
        worker = _worker(task.id)
        _sit(tx, task.id)
        for _ in range(2):
            asked = questions.ask(tx, worker, task.id, TEXT)
            questions.answer(tx, BOSS, asked.id, "The first one.")
            questions.resolve(tx, worker, asked.id)
        _report(tx, task.id, worker)
        _verify(tx, task.id)
        _tell(tx, task.id)
        seats.vacate(tx, BOSS, worker_of(task.id))
        tasks.archive(tx, BOSS, task)


def _sit(tx: Transaction, task: TaskId) -> None:
    occupant = Occupant(terminal_id=f"term_{task}", agent="codex")
    pane = PaneId("w1:p9")
    seats.take(tx, BOSS, worker_of(task), "worker", pane=pane, occupant=occupant, task=task)


def _report(tx: Transaction, task: TaskId, worker: Caller) -> None:
    made = ReportId(tx.mint("report"))
    seq = reports.journal(tx, worker, "report", made, task, COORDINATOR)
    reports.add_report(
        tx,
        Report(
            id=made, seq=seq, at=tx.now, task=task, by=worker.seat, outcome="completed", text=TEXT
        ),
    )


def _tell(tx: Transaction, task: TaskId) -> None:
    """Everything on the task was told, in one attempt to its worker and one to the coordinator."""
    worker = seats.seat_or_none(tx, worker_of(task))
    assert worker is not None
    boss = msgspec.structs.replace(worker, id=COORDINATOR)
    asked = questions.of_task(tx, task).items
    filed = reports.of_task(tx, task)[0].items
    to_boss = [derivation.from_report(each) for each in filed]
    to_boss += [_owed(each.id, "question", COORDINATOR, task) for each in asked]
    to_worker = [_owed(each.id, "answer", worker.id, task) for each in asked]
    for seat, named in ((boss, to_boss), (worker, to_worker)):
        name = AttemptId(tx.mint("attempt"))
        words = "the host took the text"
        delivery.claim(
            tx, SOURCES, seat, named, name, transport="prompt", stage="claimed", evidence=words
        )
        for stage in ("typed", "turn-started", "closed"):
            delivery.reach(tx, SOURCES, name, stage, words)


def _owed(record: str, kind: str, to: SeatId, task: TaskId) -> Obligation:
    return Obligation(
        id=f"{kind}:{record}", kind=kind, record=record, to=to, seq=1, since=0.0, task=task
    )


def _verify(tx: Transaction, task: TaskId) -> None:
    made = VerificationId(tx.mint("verification"))
    seq = reports.journal(tx, BOSS, "verification", made, task, None)
    reports.add_verification(
        tx,
        Verification(
            id=made, seq=seq, at=tx.now, task=task, by=BOSS.seat, candidate="v1", result="pass"
        ),
    )


def _open(tx: Transaction, active: int, owed: int) -> None:
    for number in range(active):
        task = tasks.add(tx, BOSS, f"Task {number}", TEXT)
        _sit(tx, task.id)
        if number < owed:
            questions.ask(tx, _worker(task.id), task.id, TEXT)


async def make(path: Path, *, over: int, active: int, owed: int) -> None:
    """Write the database at ``path``."""
    async with await Database.open(path, wall=time.time, source=random.Random(1)) as database:
        await database.write(_over, min(AT_ONCE, over))
    if over > AT_ONCE:
        await anyio.to_thread.run_sync(copies.multiply, path, over // AT_ONCE)
    async with await Database.open(path, wall=time.time, source=random.Random(2)) as database:
        await database.write(_open, active, owed)
