"""Answers `brief.…` and `decision.record`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.briefs import revision as revisions
from coordinatord.features.briefs import table
from coordinatord.features.briefs.records import Decided, Decision, Revision
from coordinatord.features.briefs.requests import (
    AdoptBrief,
    ListRevisions,
    ReadBrief,
    RecordDecision,
    RegenerateBrief,
    RequestBrief,
)
from coordinatord.features.panes import authority
from coordinatord.features.panes.records import Caller
from coordinatord.features.tasks.records import Task
from coordinatord.features.tasks.table import active_task, task_named
from coordinatord.ids import DecisionId, TaskId
from coordinatord.prose import accept
from coordinatord.store.database import Transaction, View
from coordinatord.wire.requests import Listing

Answers: TypeAlias = Callable[[View, TaskId], list[tuple[int, Decided]]]
"""The answered questions of a task, each with the order of its answer."""


class BriefMethods:
    """Routes of this feature. The first revision is the task itself until a second one is made."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def listed(self, view: View, caller: Caller, request: ListRevisions) -> Listing[Revision]:
        """All revisions."""
        task = task_named(view, request.task)
        found = table.of_task(view, task.id)
        return Listing(items=found.items or [first(task)], incomplete=found.incomplete)

    def read(self, view: View, caller: Caller, request: ReadBrief) -> Revision:
        """One revision."""
        name, number = table.number_in(request.brief)
        task = task_named(view, name)
        return _numbered(view, task, number or table.active_number(view, task.id))

    def regenerate(self, tx: Transaction, caller: Caller, request: RegenerateBrief) -> Revision:
        """Make the next revision, if it differs."""
        task = active_task(tx, request.task)
        latest = self._latest(tx, caller, task)
        if request.policy is not None:
            accept(request.policy, "the policy")
        policy = latest.policy if request.policy is None else request.policy
        decisions = self._decisions(tx, task.id)
        text = revisions.text_of(task, policy, decisions)
        content = revisions.content_of(text)
        if content == latest.content and revisions.intact(latest, task):
            return latest
        changes = revisions.changes_between(latest, policy, decisions)
        number = table.next_number(tx, task.id)
        name = f"{task.id}.r{number}"
        return table.add(
            tx,
            Revision(
                id=name,
                seq=table.journal(tx, caller, name, task.id),
                at=tx.now,
                task=task.id,
                number=number,
                by=caller.seat,
                text=text,
                fingerprint=revisions.fingerprint_of(task),
                content=content,
                policy=policy,
                decisions=decisions,
                changes=changes,
                verification_affected="policy" in changes,
                previous=latest.number,
            ),
        )

    def request(self, tx: Transaction, caller: Caller, request: RequestBrief) -> Revision:
        """Ask for the newest one."""
        name, number = table.number_in(request.brief)
        task = active_task(tx, name)
        latest = self._latest(tx, caller, task)
        if number not in (None, latest.number):
            raise Refused(
                "wrong-state",
                f"The newest revision of {task.id} is {latest.number}, not {number}.",
                "Only the newest can be requested; make another: coordctl brief regenerate",
            )
        _check_intact(latest, task)
        match latest.state:
            case "requested":
                return latest
            case "active":
                raise Refused("wrong-state", f"{latest.id} is in force already.")
            case "superseded":
                raise Refused("wrong-state", f"{latest.id} was replaced.")
            case "staged":
                pass
        for other in table.of_task(tx, task.id).items:
            if other.state == "requested":
                table.move(tx, caller, other, "superseded")
        return table.move(tx, caller, latest, "requested")

    def adopt(self, tx: Transaction, caller: Caller, request: AdoptBrief) -> Revision:
        """The worker works by it from now on."""
        name, number = table.number_in(request.brief)
        task = active_task(tx, name)
        authority.worker_only(caller, task.id, "adopt its brief")
        number = number or table.requested_number(tx, task.id) or table.active_number(tx, task.id)
        wanted = _numbered(tx, task, number)
        if wanted.state == "active":
            return wanted
        if wanted.state != "requested":
            raise Refused(
                "wrong-state",
                f"{wanted.id} is {wanted.state}: only a requested revision can be adopted.",
                f"See which one is: coordctl brief list {task.id}",
            )
        _check_intact(wanted, task)
        for other in table.of_task(tx, task.id).items:
            if other.state == "active":
                table.move(tx, caller, other, "superseded")
        return table.move(tx, caller, wanted, "active")

    def _latest(self, tx: Transaction, caller: Caller, task: Task) -> Revision:
        """The newest revision; the first one is stored when it is needed."""
        found = table.of_task(tx, task.id)
        if found.items:
            return found.items[-1]
        if found.unreadable:
            raise Refused(
                "unreadable",
                f"No revision of {task.id} can be read: {', '.join(found.unreadable)}.",
                "coordctl doctor names what is damaged.",
            )
        made = first(task)
        seq = table.journal(tx, caller, made.id, task.id)
        return table.add(tx, msgspec.structs.replace(made, seq=seq))

    def _decisions(self, view: View, task: TaskId) -> list[Decided]:
        answered = self._answers(view, task)
        stated = table.DECISIONS.select(view, "task = ?", task).items
        both = [
            *answered,
            *((each.seq, Decided(record=each.id, text=each.text)) for each in stated),
        ]
        return [decided for _, decided in sorted(both, key=lambda pair: pair[0])]


def decide(tx: Transaction, caller: Caller, request: RecordDecision) -> Decision:
    """Record a decision."""
    task = active_task(tx, request.task)
    accept(request.text, "the decision")
    made = DecisionId(tx.mint("decision"))
    seq = tx.journal("decision", made, task=task.id, actor=caller.seat, proof=caller.proof)
    record = Decision(id=made, seq=seq, at=tx.now, task=task.id, by=caller.seat, text=request.text)
    table.DECISIONS.put(tx, record)
    return record


def first(task: Task) -> Revision:
    """The revision that the task itself is."""
    text = revisions.text_of(task, "", ())
    return Revision(
        id=f"{task.id}.r1",
        seq=task.seq,
        at=task.at,
        task=task.id,
        number=1,
        by=task.by,
        text=text,
        fingerprint=revisions.fingerprint_of(task),
        content=revisions.content_of(text),
        state="active",
    )


def _numbered(view: View, task: Task, number: int) -> Revision:
    found = table.REVISIONS.get(view, f"{task.id}.r{number}")
    if found is not None:
        return found
    if number == 1:
        return first(task)
    raise Refused(
        "unknown-id",
        f"{task.id} has no revision {number}.",
        f"List them: coordctl brief list {task.id}",
    )


def _check_intact(revision: Revision, task: Task) -> None:
    if not revisions.intact(revision, task):
        raise Refused(
            "unreadable",
            f"{revision.id} is not as it was stored, and is not used any more.",
            f"Make another: coordctl brief regenerate {task.id}",
        )
