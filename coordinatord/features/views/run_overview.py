"""Answers `rundown.read`, `context.read` and `log.read`. Nothing here writes."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.briefs import table as briefs
from coordinatord.features.briefs.methods import first
from coordinatord.features.briefs.records import Decided, Revision
from coordinatord.features.delivery import pacing
from coordinatord.features.delivery import table as delivery
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Answered, Open, Question
from coordinatord.features.reports import table as reports
from coordinatord.features.reports.records import Report
from coordinatord.features.tasks.records import Status, Task
from coordinatord.features.tasks.status import Standing, status_of
from coordinatord.features.tasks.table import TASKS, task_named
from coordinatord.features.views.overview import Bound, ranked
from coordinatord.features.views.overview_records import (
    AuditLine,
    Context,
    Debt,
    Outstanding,
    Rundown,
    RundownItem,
)
from coordinatord.features.views.requests import ReadContext, ReadLog, ReadRundown
from coordinatord.ids import TaskId
from coordinatord.redaction import redacted
from coordinatord.store import journal
from coordinatord.store.database import View
from coordinatord.wire.requests import Listing


class Overview:
    """Routes."""

    def __init__(self, sources: Sources, wall: Callable[[], float]) -> None:
        self._sources = sources
        self._wall = wall

    def rundown(self, view: View, caller: Caller, request: ReadRundown) -> Rundown:
        """Every active task with state, who owes what, and how long already."""
        now = self._wall()
        owed = self._sources.owed(view, now)
        rows = view.rows("SELECT id, seq FROM tasks WHERE state = 'active' ORDER BY seq")
        order = ranked(rows, owed.items)
        items: list[RundownItem] = []
        unreadable = list(owed.unreadable)
        for each in order[: request.limit]:
            found = TASKS.select(view, "id = ?", each.task)
            unreadable += found.unreadable
            mine = [item for item in owed.items if item.task == each.task]
            items += (self._item(view, task, mine, now) for task in found.items)
        decisions = [item.since for item in owed.items if item.weight == "decision"]
        return Rundown(
            items=items,
            decisions=len(decisions),
            owed=len(owed.items),
            oldest_decision_s=now - min(decisions) if decisions else None,
            more=max(0, len(order) - request.limit),
            incomplete=bool(unreadable),
            unreadable=unreadable,
        )

    def context(self, view: View, caller: Caller, request: ReadContext) -> Context:
        """What a worker needs to go on, within a bound."""
        task = task_named(view, request.task)
        asked, filed = (
            questions.of_task(view, task.id),
            reports.REPORTS.select(view, "task = ?", task.id),
        )
        bound = Bound(request.max_chars)
        outstanding = [
            entry for question in asked.items if (entry := _outstanding(question, bound))
        ]
        revision, requested, gone = _revisions(view, task)
        brief = bound.fit("brief", redacted(revision.text))
        last = filed.items[-1] if filed.items else None
        verified = reports.VERIFICATIONS.select(
            view, "task = ?", task.id, order="seq DESC", limit=1
        ).items
        return Context(
            id=task.id,
            seq=task.seq,
            at=task.at,
            title=task.title,
            status=status_in(view, task),
            brief=brief,
            brief_number=revision.number,
            requested_number=requested,
            outstanding=outstanding,
            decisions=_decided(view, task.id, bound),
            report=bound.fit("report", redacted(last.text)) if last else None,
            report_id=last.id if last else None,
            handoff=last.handoff if last else None,
            verification=verified[0] if verified else None,
            reviews=[
                msgspec.structs.replace(review, text=bound.fit("reviews", redacted(review.text)))
                for review in reports.REVIEWS.select(
                    view, "task = ? AND state = 'open'", task.id
                ).items
            ],
            notes=[
                note
                for note in reports.NOTES.select(
                    view, "task = ?", task.id, order="seq DESC", limit=200
                ).items
                if bound.room("notes", len(note.text))
            ],
            re_review=_outdated(view, task.id, filed.items),
            cut=bound.cut,
            incomplete=asked.incomplete or filed.incomplete or gone,
        )

    def log(self, view: View, caller: Caller, request: ReadLog) -> Listing[AuditLine]:
        """Who did what, and how that one was proven."""
        if request.task is not None:
            task_named(view, request.task)
        lines = journal.audit(
            view,
            task=request.task,
            record=request.record,
            actor=request.actor,
            after=request.after,
            limit=request.limit,
        )
        return Listing(items=[AuditLine(**act._asdict()) for act in lines])

    def _item(self, view: View, task: Task, owed: list[Obligation], now: float) -> RundownItem:
        worker = seats.seat_or_none(view, ids.worker_of(task.id))
        return RundownItem(
            id=task.id,
            seq=task.seq,
            at=task.at,
            title=task.title,
            status=status_in(view, task),
            parent=task.parent,
            worker_pane=worker.pane if worker else None,
            owed=[
                Debt(
                    id=item.record,
                    kind=item.kind,
                    to=item.to,
                    seq=item.seq,
                    since=item.since,
                    age_s=now - item.since,
                    state=state_of(view, item),
                )
                for item in owed
            ],
        )


def state_of(view: View, item: Obligation) -> str:
    """How far telling about one obligation has come."""
    seat = seats.seat_or_none(view, item.to)
    bindings = {item.to: seat.binding} if seat else {}
    told = delivery.told_about(view, [item], bindings)
    return pacing.classify(told[0] if told else None)


def status_in(view: View, task: Task) -> Status:
    """The one word for a task, from its records."""
    worker = seats.seat_or_none(view, ids.worker_of(task.id))
    row = view.row(
        "SELECT max(seq), coalesce(max(state IN ('open', 'answered')), 0)"
        " FROM questions WHERE task = ?",
        task.id,
    )
    asked, waits = row or (0, 0)
    return status_of(
        task,
        Standing(
            has_worker=worker is not None and not worker.vacant,
            waits=bool(waits),
            report_seq=reports.last_report_seq(view, task.id),
            question_seq=int(asked or 0),
        ),
    )


def _outstanding(question: Question, bound: Bound) -> Outstanding | None:
    match question.state:
        case Open():
            return Outstanding(id=question.id, asked=bound.take(redacted(question.text)))
        case Answered(text=text):
            return Outstanding(
                id=question.id,
                asked=bound.take(redacted(question.text)),
                answer=bound.take(redacted(text)),
            )
        case _:
            return None


def _decided(view: View, task: TaskId, bound: Bound) -> list[Decided]:
    answered = [
        (given.seq, Decided(record=question.id, text=given.text, asked=question.text))
        for question, given in questions.answers_on(view, task)
        if not isinstance(question.state, Answered)
    ]
    stated = briefs.DECISIONS.select(view, "task = ?", task).items
    both = [*answered, *((each.seq, Decided(record=each.id, text=each.text)) for each in stated)]
    found = [
        Decided(
            record=each.record,
            text=redacted(each.text),
            asked=redacted(each.asked) if each.asked else None,
        )
        for _, each in sorted(both, key=lambda pair: pair[0], reverse=True)
    ]
    return [
        each for each in found if bound.room("decisions", len(each.text) + len(each.asked or ""))
    ][::-1]


def _revisions(view: View, task: Task) -> tuple[Revision, int | None, bool]:
    """The revision in force, the number of the requested one, and whether one cannot be read."""
    found = briefs.of_task(view, task.id)
    active = next((each for each in found.items if each.state == "active"), first(task))
    requested = next((each.number for each in found.items if each.state == "requested"), None)
    return active, requested, found.incomplete


def _outdated(view: View, task: TaskId, filed: list[Report]) -> list[str]:
    changed = [
        each.number for each in briefs.of_task(view, task).items if each.verification_affected
    ]
    newest = max(changed, default=0)
    return [report.id for report in filed if report.brief < newest]


def brief_named(view: View, name: str) -> Revision:
    """A revision by its id, such as ``t-1h6v5w0z.r2``.

    Raises:
        Refused: ``bad-id``, ``unknown-id``.
    """
    of, number = briefs.number_in(name)
    task = task_named(view, of)
    found = briefs.REVISIONS.get(view, name) or (first(task) if number == 1 else None)
    if found is None:
        raise Refused(
            "unknown-id", f"{task.id} has no revision {number}.", f"coordctl brief list {of}"
        )
    return found
