"""How tasks and debts stand, read for many of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from coordinatord import ids
from coordinatord.features.delivery import table as delivery
from coordinatord.features.delivery.records import Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.table import SEATS
from coordinatord.features.reports import table as reports
from coordinatord.features.reports.records import VerificationResult
from coordinatord.features.tasks.records import Status, Task
from coordinatord.features.tasks.status import Standing, status_of
from coordinatord.ids import TaskId
from coordinatord.store.database import View
from coordinatord.store.records import listed


class Stands(msgspec.Struct, frozen=True, kw_only=True):
    """One task: the word for it, its worker's seat, and what was found about its last report."""

    status: Status
    worker: Seat | None = None
    verification: VerificationResult | None = None


def standing(view: View, tasks: Sequence[Task]) -> tuple[dict[TaskId, Stands], list[str]]:
    """How these tasks stand, and which records could not be read for it."""
    names = listed(task.id for task in tasks)
    among = "task IN (SELECT value FROM json_each(?))"
    asked = view.rows(
        "SELECT task, max(seq), max(state IN ('open', 'answered'))"
        f" FROM questions WHERE {among} GROUP BY task",
        names,
    )
    filed = view.rows(f"SELECT task, max(seq) FROM reports WHERE {among} GROUP BY task", names)
    found = reports.VERIFICATIONS.select(
        view,
        f"{among} AND seq = (SELECT max(seq) FROM verifications AS v WHERE v.task = verifications.task)",
        names,
    )
    seats = SEATS.among(view, (ids.worker_of(task.id) for task in tasks))
    questions = {task: (int(seq), bool(waits)) for task, seq, waits in asked}
    last_report = {task: int(seq) for task, seq in filed}
    workers = {seat.task: seat for seat in seats.items}
    verified = {
        each.task: each.result
        for each in found.items
        if each.seq > last_report.get(each.task, 0) > 0
    }

    def stands(task: Task) -> Stands:
        worker = workers.get(task.id)
        question_seq, waits = questions.get(task.id, (0, False))
        facts = Standing(
            has_worker=worker is not None and not worker.vacant,
            waits=waits,
            report_seq=last_report.get(task.id, 0),
            question_seq=question_seq,
        )
        return Stands(
            status=status_of(task, facts), worker=worker, verification=verified.get(task.id)
        )

    return {task.id: stands(task) for task in tasks}, seats.unreadable + found.unreadable


def status_in(view: View, task: Task) -> Status:
    """The one word for a task, from its records."""
    return standing(view, [task])[0][task.id].status


def told(view: View, items: Iterable[Obligation]) -> dict[str, Told]:
    """How far telling has come about these debts, by debt. Of a seat that cannot be read, nothing."""
    items = list(items)
    seats = SEATS.among(view, (item.to for item in items)).items
    found = delivery.told_about(view, items, {seat.id: seat.binding for seat in seats})
    return {each.obligation: each for each in found}
