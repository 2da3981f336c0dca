"""Answers `rundown.read`, `context.read` and `log.read`. Nothing here writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.briefs import table as briefs
from coordinatord.features.briefs.methods import first
from coordinatord.features.briefs.records import Decided, Revision
from coordinatord.features.delivery import pacing
from coordinatord.features.delivery.records import Told
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.records import Caller
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Answered, Open, Question
from coordinatord.features.reports import table as reports
from coordinatord.features.reports.records import Handoff, Note, Report, Review
from coordinatord.features.tasks.records import Task
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
from coordinatord.features.views.run_standing import Stands, standing, status_in, told
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
        order = [each.task for each in ranked(rows, owed.items)]
        shown = order[: request.limit]
        found = TASKS.among(view, shown)
        stands, lost = standing(view, found.items)
        of_task: dict[str | None, list[Obligation]] = {}
        for item in owed.items:
            of_task.setdefault(item.task, []).append(item)
        how_far = told(view, (item for task in shown for item in of_task.get(task, ())))
        items = [
            _item(
                task,
                stands[task.id],
                [_debt(each, how_far, now) for each in of_task.get(task.id, ())],
            )
            for task in sorted(found.items, key=lambda task: shown.index(task.id))
        ]
        unreadable = owed.unreadable + found.unreadable + lost
        decisions = [item for item in owed.items if item.weight == "decision"]
        return Rundown(
            items=items,
            decisions=len(decisions),
            owed=len(owed.items),
            oldest_decision_s=max(0.0, now - decisions[0].since) if decisions else None,
            more=max(0, len(order) - request.limit),
            incomplete=bool(unreadable),
            unreadable=unreadable,
        )

    def context(self, view: View, caller: Caller, request: ReadContext) -> Context:
        """What a worker needs to go on, within a bound; what is named first goes in first."""
        task = task_named(view, request.task)
        asked = questions.of_task(view, task.id)
        filed, verified = reports.of_task(view, task.id)
        bound = Bound(request.max_chars)
        outstanding = [
            entry for question in asked.items if (entry := _outstanding(question, bound))
        ]
        revision, requested, gone = _revisions(view, task)
        last = filed.items[-1] if filed.items else None
        return Context(
            id=task.id,
            seq=task.seq,
            at=task.at,
            title=task.title,
            status=status_in(view, task),
            brief=bound.fit("brief", redacted(revision.text)),
            brief_number=revision.number,
            requested_number=requested,
            outstanding=outstanding,
            decisions=_decided(view, task.id, bound),
            report=bound.fit("report", redacted(last.text)) if last else None,
            report_id=last.id if last else None,
            handoff=_handoff(last.handoff, bound) if last and last.handoff else None,
            verification=verified.items[-1] if verified.items else None,
            reviews=_reviews(view, task.id, bound),
            notes=_notes(view, task.id, bound),
            re_review=[
                each
                for each in _outdated(view, task.id, filed.items)
                if bound.room("re_review", len(each))
            ],
            cut=bound.cut,
            incomplete=asked.incomplete or filed.incomplete or verified.incomplete or gone,
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


def _item(task: Task, stands: Stands, owed: list[Debt]) -> RundownItem:
    return RundownItem(
        id=task.id,
        seq=task.seq,
        at=task.at,
        title=task.title,
        status=stands.status,
        verification=stands.verification,
        parent=task.parent,
        worker_pane=stands.worker.pane if stands.worker else None,
        owed=owed,
    )


def _debt(item: Obligation, how_far: Mapping[str, Told], now: float) -> Debt:
    return Debt(
        id=item.record,
        kind=item.kind,
        to=item.to,
        seq=item.seq,
        since=item.since,
        age_s=now - item.since,
        state=pacing.classify(how_far.get(item.id)),
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


def _handoff(handoff: Handoff, bound: Bound) -> Handoff | None:
    """The whole of it or nothing: a part would be another claim."""
    return _clean(handoff) if bound.room("handoff", len(msgspec.json.encode(handoff))) else None


def _clean(value: Any) -> Any:
    """The same without what looks like a credential; no line gets longer than it may be."""
    match value:
        case str():
            return redacted(value)[:2000]
        case tuple():
            return tuple(map(_clean, value))
        case msgspec.Struct():
            fields = {name: _clean(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **fields)
        case _:
            return value


def _reviews(view: View, task: TaskId, bound: Bound) -> list[Review]:
    """Those that nobody acted on, the newest kept longest."""
    found = reports.REVIEWS.select(view, "task = ? AND state = 'open'", task, order="seq DESC")
    shown = [msgspec.structs.replace(each, text=redacted(each.text)) for each in found.items]
    return [each for each in shown if bound.room("reviews", len(each.text))][::-1]


def _notes(view: View, task: TaskId, bound: Bound) -> list[Note]:
    """The newest kept longest."""
    found = reports.NOTES.select(view, "task = ?", task, order="seq DESC", limit=200)
    return [each for each in found.items if bound.room("notes", len(each.text))]


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
