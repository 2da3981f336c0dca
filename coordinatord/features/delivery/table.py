"""Attempts, how far telling has come, and holds, in the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from coordinatord.features.delivery.records import (
    OPEN,
    REACHED,
    Attempt,
    Hold,
    HoldRecord,
    Reached,
    Receipt,
    Stage,
    Told,
    Transport,
    may_follow,
)
from coordinatord.features.obligations.records import Obligation, Telling
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes.records import Seat
from coordinatord.ids import AttemptId, SeatId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import RecordTable, listed

ATTEMPTS: Final = RecordTable(
    "attempts", Attempt, lambda attempt: {"seat": attempt.seat, "stage": attempt.stage}
)

_LIVING: Final = "stage IN ('claimed', 'typed', 'submitted', 'turn-started', 'seen', 'uncertain')"

_TOLD: Final = "SELECT obligation, seat, binding, attempt, stage, failures, at FROM told"


def told_to(view: View, seat: Seat, items: Iterable[Obligation]) -> dict[str, Told]:
    """How far telling this seat about exactly these obligations has come, by obligation."""
    return {each.obligation: each for each in told_about(view, items, {seat.id: seat.binding})}


def told_since(view: View, seat: Seat, since: float) -> bool:
    """Was the one who sits there told something since this wall time? An earlier binding does not count."""
    last = ATTEMPTS.select(view, "seat = ?", seat.id, order="seq DESC", limit=1).items
    return any(each.binding == seat.binding and each.trail[-1].at >= since for each in last)


def told_about(
    view: View, items: Iterable[Obligation], bindings: Mapping[SeatId, int]
) -> list[Told]:
    """How far telling has come about exactly these obligations."""
    to = {item.id: item.to for item in items}
    rows = view.rows(f"{_TOLD} WHERE obligation IN (SELECT value FROM json_each(?))", listed(to))
    return [_told(row) for row in rows if row[1] == to[row[0]] and row[2] == bindings.get(row[1])]


def _told(row: tuple[object, ...]) -> Told:
    return msgspec.convert(dict(zip(Told.__struct_fields__, row, strict=True)), Told)


def claim(
    tx: Transaction,
    sources: Sources,
    seat: Seat,
    named: Iterable[Obligation],
    attempt: AttemptId,
    *,
    transport: Transport,
    stage: Stage,
    evidence: str,
    receipt: Receipt | None = None,
    settled_at: float | None = None,
) -> Attempt:
    """Store the intent to tell, before anything is typed."""
    named = tuple(named)
    given = receipt or Receipt()
    record = Attempt(
        id=attempt,
        seq=tx.journal("attempt", attempt, seat=seat.id, task=seat.task, actor="coordinatord"),
        at=tx.now,
        seat=seat.id,
        binding=seat.binding,
        pane=seat.pane,
        transport=transport,
        obligations=tuple(item.id for item in named),
        records=tuple(dict.fromkeys(item.record for item in named)),
        sha256=given.sha256,
        removed=given.removed,
        settled_at=settled_at,
        needle=given.needle,
        mark=given.mark,
        file=given.file,
        trail=(Reached(stage=stage, at=tx.now, evidence=evidence),),
    )
    ATTEMPTS.put(tx, record)
    for name in record.records:
        tx.run("INSERT OR IGNORE INTO named (record, attempt) VALUES (?, ?)", name, attempt)
    for obligation in record.obligations:
        tx.run(
            "INSERT INTO told (obligation, seat, binding, attempt, stage, failures, at)"
            " VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT (obligation, seat) DO UPDATE SET"
            " failures = CASE binding WHEN excluded.binding THEN failures ELSE 0 END,"
            " binding = excluded.binding, attempt = excluded.attempt, stage = excluded.stage,"
            " at = excluded.at",
            obligation, seat.id, seat.binding, attempt, stage, tx.now,
        )  # fmt: skip
    _let_sources_know(tx, sources, record)
    return record


def reach(
    tx: Transaction, sources: Sources, attempt: AttemptId, stage: Stage, evidence: str
) -> Attempt | None:
    """Add a step to an attempt's trail; None if the attempt cannot be read. A step back is none."""
    record = ATTEMPTS.get(tx, attempt)
    if record is None or not may_follow(record.stage, stage):
        return record
    tx.journal("attempt", attempt, seat=record.seat, actor="coordinatord")
    step = Reached(stage=stage, at=tx.now, evidence=evidence)
    record = msgspec.structs.replace(record, trail=(*record.trail, step), stranded=False)
    ATTEMPTS.put(tx, record)
    failed = 1 if stage == "not-delivered" else 0
    for obligation in record.obligations:  # by its key: `told` grows with history
        tx.run(
            "UPDATE told SET stage = ?, failures = failures + ?, at = ?"
            " WHERE obligation = ? AND seat = ? AND attempt = ?",
            stage, failed, tx.now, obligation, record.seat, attempt,
        )  # fmt: skip
    _let_sources_know(tx, sources, record)
    return record


def strand(tx: Transaction, attempt: AttemptId, evidence: str) -> Attempt | None:
    """The text stands in the composer and Enter did not submit it: a person has to see to it."""
    record = ATTEMPTS.get(tx, attempt)
    if record is None or record.stage != "typed":
        return record
    tx.journal("alert", attempt, seat=record.seat, actor="coordinatord")
    step = Reached(stage="typed", at=tx.now, evidence=evidence)
    record = msgspec.structs.replace(record, trail=(*record.trail, step), stranded=True)
    ATTEMPTS.put(tx, record)
    return record


def _let_sources_know(tx: Transaction, sources: Sources, record: Attempt) -> None:
    telling = Telling(
        attempt=record.id,
        at=tx.now,
        reached=record.stage in REACHED,
        doubtful=record.stage == "uncertain",
        over=record.stage == "not-delivered",
        sha256=record.sha256,
        removed=record.removed,
        file=record.file,
    )
    for obligation in record.obligations:
        sources.telling(tx, obligation, telling)


def in_hand(view: View) -> list[Attempt]:
    """Attempts without an outcome. After a start nobody has them in hand any more."""
    marks = ", ".join(f"'{stage}'" for stage in sorted(OPEN))
    return [
        each for each in ATTEMPTS.select(view, f"stage IN ({marks})").items if not each.stranded
    ]


def living(view: View) -> list[Attempt]:
    """Attempts about which more may still be learned; one that cannot be read is left alone."""
    return ATTEMPTS.select(view, _LIVING).items


def stranded(view: View) -> list[Attempt]:
    """Attempts whose text stands unsubmitted in a composer."""
    found = ATTEMPTS.select(view, "stage IN ('claimed', 'typed')").items
    return [each for each in found if each.stranded]


def give_up_in_hand(tx: Transaction, sources: Sources) -> int:
    """At start: what may have been typed and is not known to be is uncertain; how many were."""
    left = in_hand(tx)
    for attempt in left:
        evidence = f"the daemon ended while this was {attempt.stage}"
        reach(tx, sources, attempt.id, "uncertain", evidence)
    # also where the attempt itself cannot be read: what it named must not seem to be in hand for ever
    readable = {each.id for each in living(tx)}
    marks = ", ".join(f"'{stage}'" for stage in sorted(OPEN))
    for (attempt_id,) in tx.rows(f"SELECT DISTINCT attempt FROM told WHERE stage IN ({marks})"):
        if attempt_id not in readable:
            tx.run(
                "UPDATE told SET stage = 'uncertain', at = ? WHERE attempt = ?", tx.now, attempt_id
            )
    return len(left)


def of_record(view: View, record: str) -> list[Attempt]:
    """The attempts that named a record, oldest first."""
    return ATTEMPTS.select(view, "id IN (SELECT attempt FROM named WHERE record = ?)", record).items


def stages(view: View) -> dict[str, int]:
    """How many attempts ended at each stage."""
    return dict(view.rows("SELECT stage, count(*) FROM attempts GROUP BY stage"))


def hold(tx: Transaction, seat: SeatId, reason: Hold, detail: str | None) -> bool:
    """Remember why a seat is not told; True if that is news."""
    known = tx.row("SELECT reason, detail FROM holds WHERE seat = ?", seat)
    if known is not None and known[0] == reason and known[1] == detail:
        return False
    if known is None or known[0] != reason:
        tx.journal("hold", seat, seat=seat, actor="coordinatord")
        tx.run(
            "INSERT INTO holds (seat, reason, since, detail) VALUES (?, ?, ?, ?) ON CONFLICT (seat)"
            " DO UPDATE SET reason = excluded.reason, since = excluded.since, detail = excluded.detail",
            seat, reason, tx.now, detail,
        )  # fmt: skip
        return True
    tx.run("UPDATE holds SET detail = ? WHERE seat = ?", detail, seat)
    return True


def release(tx: Transaction, seat: SeatId) -> None:
    """The seat is not held any more."""
    tx.run("DELETE FROM holds WHERE seat = ?", seat)


def holds(view: View) -> dict[SeatId, HoldRecord]:
    """Every seat that is held, and why."""
    rows = view.rows("SELECT seat, reason, since, detail FROM holds")
    fields = HoldRecord.__struct_fields__
    return {
        row[0]: msgspec.convert(dict(zip(fields, row, strict=True)), HoldRecord) for row in rows
    }
