"""Answers the reading methods. Nothing here writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.attention import table as alerts
from coordinatord.features.briefs import table as briefs
from coordinatord.features.delivery import pacing, run_wake
from coordinatord.features.delivery import table as delivery
from coordinatord.features.delivery.records import Attempt, Told
from coordinatord.features.delivery.run_ageing import ages_of
from coordinatord.features.delivery.run_shadow import SHADOWS, mode_of
from coordinatord.features.delivery.switch import Switch
from coordinatord.features.messages.table import MESSAGES
from coordinatord.features.obligations.records import Obligation
from coordinatord.features.obligations.table import Sources, about
from coordinatord.features.panes import table as seats
from coordinatord.features.panes.records import Caller
from coordinatord.features.panes.sightings import Sightings
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Answered
from coordinatord.features.reports import table as reports
from coordinatord.features.tasks.table import TASKS, task_named
from coordinatord.features.tool_runs.table import RUNS
from coordinatord.features.typing.table import pause_of
from coordinatord.features.views import sentence
from coordinatord.features.views.records import (
    AnyRecord,
    Connection,
    Evidence,
    Inbox,
    InboxItem,
    Status,
    Why,
)
from coordinatord.features.views.requests import ExplainRecord, ReadInbox, ReadStatus, ShowRecord
from coordinatord.features.views.run_overview import brief_named
from coordinatord.features.views.run_standing import status_in, told
from coordinatord.ids import COORDINATOR, OPERATOR, SeatId
from coordinatord.store import journal
from coordinatord.store.database import View
from coordinatord.store.records import RecordTable, Unreadable
from coordinatord.terminals.port import Sighting

TABLES: Final[Mapping[ids.Kind, RecordTable[Any]]] = {
    "task": TASKS,
    "question": questions.QUESTIONS,
    "message": MESSAGES,
    "report": reports.REPORTS,
    "verification": reports.VERIFICATIONS,
    "review": reports.REVIEWS,
    "publication": reports.PUBLICATIONS,
    "note": reports.NOTES,
    "decision": briefs.DECISIONS,
    "attention": alerts.ATTENTION,
    "attempt": delivery.ATTEMPTS,
    "tool-run": RUNS,
    "shadow": SHADOWS,
}
"""Where each kind of record is kept."""


OF_TASK: Final[Mapping[str, RecordTable[Any]]] = {
    "questions": questions.QUESTIONS,
    "reports": reports.REPORTS,
    "reviews": reports.REVIEWS,
    "verifications": reports.VERIFICATIONS,
    "publications": reports.PUBLICATIONS,
    "briefs": briefs.REVISIONS,
    "decisions": briefs.DECISIONS,
    "notes": reports.NOTES,
}
"""Kinds of records that belong to a task."""


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the process, handed in by the daemon."""

    pid: int
    version: str
    workspace: str
    socket: str
    started_at: float


class ViewMethods:
    """Routes of this feature."""

    def __init__(
        self,
        sources: Sources,
        wall: Callable[[], float],
        running: Running,
        connection: Callable[[], Connection],
        sightings: Sightings,
        failing: Mapping[str, str],
        switch: Switch,
    ) -> None:
        self._sources = sources
        self._wall = wall
        self._running = running
        self._connection = connection
        self._sightings = sightings
        self._failing = failing
        self._switch = switch

    def inbox(self, view: View, caller: Caller, request: ReadInbox) -> Inbox:
        """What a seat owes, with the texts to read."""
        seat = caller.seat if request.seat is None else _seat_named(view, request.seat)
        if seat == OPERATOR:
            seat = COORDINATOR
        seats_read = {seat} if request.seat else {seat, *caller.also}
        everything = self._sources.owed(view, self._wall())
        owed = msgspec.structs.replace(
            everything, items=[item for item in everything.items if item.to in seats_read]
        )
        how_far = told(view, owed.items)
        items = [self._inbox_item(view, item, how_far.get(item.id)) for item in owed.items]
        return Inbox(
            seat=seat,
            items=items,
            incomplete=bool(owed.unreadable),
            unreadable=owed.unreadable,
            receipt=_receipt(view, seat, owed.items),
        )

    def show(self, view: View, caller: Caller, request: ShowRecord) -> AnyRecord:
        """One record whole."""
        kind, record = self._record(view, request.id)
        if kind == "task" and ids.kind_of(request.id) == "task":
            return record | self._about_task(view, record)
        return record

    def _about_task(self, view: View, record: AnyRecord) -> AnyRecord:
        """What the other records say about a task: status, seats, debts, and the ids of its records."""
        task = TASKS.get(view, record["id"])
        assert task is not None  # it was read in this transaction
        owed = self._sources.owed(view, self._wall()).items
        bound = seats.SEATS.among(view, (ids.worker_of(task.id), ids.reviewer_of(task.id))).items
        return {
            "status": status_in(view, task),
            "seats": [msgspec.to_builtins(seat) for seat in bound if not seat.vacant],
            "owed": [msgspec.to_builtins(item) for item in owed if item.task == task.id],
            **{name: _ids_of(view, table, task.id) for name, table in OF_TASK.items()},
        }

    def why(self, view: View, caller: Caller, request: ExplainRecord) -> Why:
        """Where a record stands."""
        kind, record = self._record(view, request.id)
        if kind == "attempt":
            attempt = msgspec.convert(record, Attempt)
            return Why(
                id=attempt.id,
                sentence=sentence.of_attempt(attempt),
                state=attempt.stage,
                since=attempt.trail[-1].at,
                attempts=[attempt],
            )
        owed = self._sources.owed(view, self._wall())
        mine = [
            item
            for item in owed.items
            if item.record == request.id or (kind == "task" and item.task == request.id)
        ]
        attempts = [
            attempt for item in about(mine, request.id) for attempt in _attempts(view, item)
        ]
        attempts = attempts or delivery.of_record(view, request.id)
        explained = self._why_debts(view, request.id, record, mine, attempts)
        if not request.verbose:
            return explained
        to = SeatId(mine[0].to) if mine else attempts[-1].seat if attempts else None
        return msgspec.structs.replace(explained, evidence=self._evidence(view, to))

    def _evidence(self, view: View, seat: SeatId | None) -> Evidence:
        known = seats.seat_or_none(view, seat) if seat else None
        seen = self._sightings.cached(known.pane) if known else None
        shown = seen if isinstance(seen, Sighting) else None
        return Evidence(
            hold=delivery.holds(view).get(seat) if seat else None,
            seen=shown,
            settled_since=self._sightings.settled_since(shown.pane) if shown else None,
        )

    def status(self, view: View, caller: Caller, request: ReadStatus) -> Status:
        """The daemon and what it holds."""
        now, running = self._wall(), self._running
        owed = self._sources.owed(view, now)
        held: dict[str, int] = {}
        for each in delivery.holds(view).values():
            held[each.reason] = held.get(each.reason, 0) + 1
        ages = ages_of(view, owed.items, now)
        return Status(
            pid=running.pid,
            version=running.version,
            workspace=running.workspace,
            socket=running.socket,
            terminal=self._connection(),
            held=held,
            pause=pause_of(view),
            shadow=mode_of(view).on,
            events=self._switch.on,
            degraded=self._degraded(),
            oldest_undelivered_s=ages.oldest_undelivered_s,
            oldest_decision_s=ages.oldest_decision_s,
            stranded=[each.id for each in delivery.stranded(view)],
            stages=msgspec.convert(delivery.stages(view), dict[Any, int]),
            owed=len([item for item in owed.items if not item.doubtful]),
            oldest_debt_s=max((now - item.since for item in owed.items), default=None),
            seq=journal.last_seq(view),
            started_at=running.started_at,
            incomplete=bool(owed.unreadable),
        )

    def _degraded(self) -> dict[str, str]:
        why = self._switch.degraded
        return ({"events": why} if why else {}) | dict(self._failing)

    def _why_debts(
        self,
        view: View,
        name: str,
        record: AnyRecord,
        mine: list[Obligation],
        attempts: list[Attempt],
    ) -> Why:
        now, how_far = self._wall(), told(view, mine)
        if not mine:
            return Why(id=name, sentence=_settled(record), state=_state(record), attempts=attempts)
        holds = delivery.holds(view)
        first = mine[0]
        hold = holds.get(first.to)
        state = pacing.classify(how_far.get(first.id))
        waiting = state in ("pending", "not-delivered", "stalled")
        held = hold.reason if hold and waiting else sentence.OWN_REASONS.get(state)
        sentences = [
            sentence.of_debt(
                item, how_far.get(item.id), holds.get(item.to), now, _last(attempts, item)
            )
            for item in mine
        ]
        return Why(
            id=name,
            sentence=" ".join(sentences),
            state=state,
            held=held,
            since=first.since,
            attempts=attempts,
        )

    def _record(self, view: View, name: str) -> tuple[ids.Kind, AnyRecord]:
        if ".r" in name:
            return "task", msgspec.to_builtins(brief_named(view, name))
        kind = ids.kind_of(name)
        table = TABLES.get(kind) if kind else None
        if kind is None or table is None:
            raise Refused(
                "bad-id",
                f"{name!r:.80} is not a record id.",
                "Ids look like q-9f3t8b2c or t-1h6v5w0z.",
            )
        record = table.get(view, name)
        if record is None:
            raise Refused(
                "unknown-id", f"There is no {kind} {name}.", "See what is owed: coordctl inbox"
            )
        return kind, msgspec.to_builtins(record)

    def _inbox_item(self, view: View, item: Obligation, how_far: Told | None) -> InboxItem:
        by, text = _content(view, item)
        return InboxItem(
            id=item.record,
            kind=item.kind,
            seq=item.seq,
            since=item.since,
            task=item.task,
            by=by,
            text=text,
            state=pacing.classify(how_far),
            settling=self._sources.of(item).settling(item),
        )


def _receipt(view: View, seat: SeatId, owed: list[Obligation]) -> str | None:
    """Of a seat or an episode that cannot be read there is none; what is owed is shown all the same."""
    try:
        return run_wake.receipt(view, seat, owed)
    except Unreadable:
        return None


def _seat_named(view: View, name: str) -> SeatId:
    """A seat that exists, or could be addressed.

    Raises:
        Refused: ``unknown-seat``; for a worker's seat what `task_named` raises.
    """
    role, _, of = name.partition(":")
    if role in ("worker", "reviewer"):
        with suppress(Unreadable):  # it is there, and its seats are owed things all the same
            task_named(view, of)
        return SeatId(name)
    if name in (COORDINATOR, OPERATOR) or seats.seat_or_none(view, SeatId(name)) is not None:
        return SeatId(name)
    raise seats.unknown_seat(name)


def _ids_of(view: View, table: RecordTable[Any], task: str) -> list[str]:
    rows = view.rows(f"SELECT id FROM {table.name} WHERE task = ? ORDER BY seq", task)
    return [str(row[0]) for row in rows]


def _last(attempts: list[Attempt], item: Obligation) -> Attempt | None:
    return next((each for each in reversed(attempts) if item.id in each.obligations), None)


def _attempts(view: View, item: Obligation) -> list[Attempt]:
    found = delivery.of_record(view, item.record)
    return [attempt for attempt in found if item.id in attempt.obligations]


def _content(view: View, item: Obligation) -> tuple[SeatId | None, str | None]:
    """Author and text of what is owed, where this layer knows the record."""
    match item.kind:
        case "question":
            question = questions.question_named(view, item.record)
            return question.by, question.text
        case "answer":
            state = questions.question_named(view, item.record).state
            return (state.by, state.text) if isinstance(state, Answered) else (None, None)
        case "report":
            report = reports.report_named(view, item.record)
            return report.by, report.text
        case "review":
            review = reports.REVIEWS.get(view, item.record)
            return (review.by, review.text) if review else (None, None)
        case "refresh":
            revision = briefs.REVISIONS.get(view, item.record)
            return (revision.by, revision.text) if revision else (None, None)
        case "attention":
            alert = alerts.ATTENTION.get(view, item.record)
            return None, alert.sentence if alert else None
        case "message" | "inline" | "expiry":
            message = MESSAGES.get(view, item.record)
            return (message.by, message.text) if message else (None, None)
        case _:
            return None, None


def _state(record: AnyRecord) -> str:
    state = record.get("state")
    return str(state["kind"]) if isinstance(state, dict) else "recorded"


def _settled(record: AnyRecord) -> str:
    return f"Nothing is owed on it; it is {_state(record)}."
