"""Answers what is asked about reports: handoffs, verifications, reviews, publications, notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.panes import authority
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.records import Caller, Present
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.reports import table
from coordinatord.features.reports.candidate import accept_candidate
from coordinatord.features.reports.records import Handoff, Note, Report, Review, Verification
from coordinatord.features.reports.requests import (
    AddNote,
    FileHandoff,
    FileReport,
    FileReview,
    ListNotes,
    RecordVerification,
)
from coordinatord.features.tasks.records import Task
from coordinatord.features.tasks.run_bind import seat_reviewer
from coordinatord.features.tasks.table import active_task, task_named
from coordinatord.ids import NoteId, ReportId, ReviewId, TaskId, VerificationId
from coordinatord.prose import accept
from coordinatord.redaction import credentials
from coordinatord.store.database import Transaction, View
from coordinatord.wire.requests import Listing

Revision: TypeAlias = Callable[[View, TaskId], int]
"""The number of the brief's revision that is active."""


class ReportMethods:
    """Routes of this feature; ``in_repository`` says whether the workspace is one."""

    def __init__(self, in_repository: bool, lookout: Lookout, revision: Revision) -> None:
        self._in_repository = in_repository
        self._lookout = lookout
        self._revision = revision

    def file(self, tx: Transaction, caller: Caller, request: FileReport) -> Report:
        """Record a report."""
        task = self._own_task(tx, caller, request.task)
        if request.candidate is not None:
            self._accept(request.candidate)
        return self._claim(tx, caller, task, request, request.text, request.candidate, None)

    def hand_off(self, tx: Transaction, caller: Caller, request: FileHandoff) -> Report:
        """Record a report in parts."""
        task = self._own_task(tx, caller, request.task)
        self._accept(request.candidate)
        handoff = msgspec.convert(request, Handoff, from_attributes=True)
        text = request.text if request.text is not None else request.next_action
        return self._claim(tx, caller, task, request, text, request.candidate, handoff)

    def verify(self, tx: Transaction, caller: Caller, request: RecordVerification) -> Verification:
        """Record what the coordinator found."""
        task = active_task(tx, request.task)
        authority.not_own_work(caller, task.id, "verify its own work")
        authority.coordinates_task(caller, task.parent, f"verify {task.id}")
        self._accept(request.candidate)
        made = VerificationId(tx.mint("verification"))
        worker = ids.worker_of(task.id)
        return table.add_verification(
            tx,
            Verification(
                id=made,
                seq=table.journal(tx, caller, "verification", made, task.id, worker),
                at=tx.now,
                task=task.id,
                by=caller.seat,
                candidate=request.candidate,
                result=request.result,
                run=request.run,
            ),
        )

    async def look(self, caller: Caller, request: FileReview) -> Present | None:
        """Who is in the reviewer's pane, if filing the review binds it."""
        if caller.role != "developer" or caller.pane is None or request.tool is not None:
            return None
        return await occupant_in(self._lookout, caller.pane)

    def review(
        self, tx: Transaction, caller: Caller, request: FileReview, found: Present | None
    ) -> Review:
        """Record findings; the caller's pane becomes the task's reviewer, unless a tool made them."""
        task = active_task(tx, request.task)
        authority.not_own_work(caller, task.id, "review its own work")
        self._accept(request.candidate)
        accept(request.text, "the review")
        by = seat_reviewer(tx, caller, task, found).id if found else caller.seat
        made = ReviewId(tx.mint("review"))
        return table.add_review(
            tx,
            Review(
                id=made,
                seq=table.journal(tx, caller, "review", made, task.id, task.parent),
                at=tx.now,
                task=task.id,
                by=by,
                candidate=request.candidate,
                verdict=request.verdict,
                text=request.text,
                tool=request.tool,
            ),
        )

    def _accept(self, candidate: str) -> None:
        accept_candidate(candidate, self._in_repository)

    def _own_task(self, tx: Transaction, caller: Caller, name: str) -> Task:
        task = active_task(tx, name)
        authority.worker_only(caller, task.id, "report on it")
        return task

    def _claim(
        self,
        tx: Transaction,
        caller: Caller,
        task: Task,
        request: FileReport | FileHandoff,
        text: str,
        candidate: str | None,
        handoff: Handoff | None,
    ) -> Report:
        accept(text, "the report")
        made = ReportId(tx.mint("report"))
        return table.add_report(
            tx,
            Report(
                id=made,
                seq=table.journal(tx, caller, "report", made, task.id, task.parent),
                at=tx.now,
                task=task.id,
                by=caller.seat,
                outcome=request.outcome,
                text=text,
                candidate=candidate,
                brief=self._revision(tx, task.id),
                handoff=handoff,
            ),
        )


def note(tx: Transaction, caller: Caller, request: AddNote) -> Note:
    """Record a note of the worker, the reviewer or the coordinator."""
    task = active_task(tx, request.task)
    mine = {ids.worker_of(task.id), ids.reviewer_of(task.id), task.parent}
    if not caller.coordinates and not mine & authority.seats_of(caller):
        authority.worker_only(caller, task.id, "note something on it")
    accept(request.text, "the note")
    if credentials(request.text):
        raise Refused(
            "bad-params",
            "The note has something that looks like a credential.",
            "Name where the secret is kept instead of the secret.",
        )
    made = NoteId(tx.mint("note"))
    record = Note(
        id=made,
        seq=table.journal(tx, caller, "note", made, task.id, None),
        at=tx.now,
        task=task.id,
        by=caller.seat,
        text=request.text,
    )
    table.NOTES.put(tx, record)
    return record


def notes(view: View, caller: Caller, request: ListNotes) -> Listing[Note]:
    """The notes on a task."""
    found = table.NOTES.select(view, "task = ?", task_named(view, request.task).id)
    return Listing(items=found.items, incomplete=found.incomplete)
