"""Alerts in the database."""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.features.attention.records import Attention, Closed, Kind, Open, Seen, Why
from coordinatord.features.panes.records import Caller
from coordinatord.ids import COORDINATOR, PaneId, TaskId
from coordinatord.store.database import Transaction, View
from coordinatord.store.records import Found, RecordTable

ATTENTION: Final = RecordTable(
    "attention",
    Attention,
    lambda alert: {
        "task": alert.task,
        "kind": alert.kind,
        "state": str(alert.state.__struct_config__.tag),
    },
)


def open_alerts(view: View) -> Found[Attention]:
    """Open alerts, superseded ones among them."""
    return ATTENTION.select(view, "state = 'open'")


def owed(view: View) -> Found[Attention]:
    """Open alerts that no later record of the worker has superseded, on tasks that go on."""
    found = open_alerts(view)
    return Found([each for each in found.items if not _superseded(view, each)], found.unreadable)


def open_kinds(view: View, task: TaskId) -> frozenset[Kind]:
    """Kinds of alerts that stand for this task: a second one of a kind would only repeat it."""
    found = ATTENTION.select(view, "task = ? AND state = 'open'", task).items
    return frozenset(each.kind for each in found if not _superseded(view, each))


def spoke_after(view: View, task: TaskId, at: float) -> bool:
    """Did the worker record anything on its task at or after this wall time?"""
    row = view.row(
        "SELECT 1 FROM journal WHERE task = ? AND at >= ? AND kind IN ('question', 'report')"
        " AND actor = ? LIMIT 1",
        task,
        at,
        ids.worker_of(task),
    )
    return row is not None


def _superseded(view: View, alert: Attention) -> bool:
    row = view.row(
        "WITH about AS (SELECT ? AS task, ? AS seq) SELECT 1 FROM about"
        " WHERE EXISTS (SELECT 1 FROM questions q WHERE q.task = about.task AND q.seq > about.seq)"
        " OR EXISTS (SELECT 1 FROM reports r WHERE r.task = about.task AND r.seq > about.seq)"
        " OR EXISTS (SELECT 1 FROM tasks t WHERE t.id = about.task AND t.state = 'archived')",
        alert.task,
        alert.seq,
    )
    return row is not None


def create(
    tx: Transaction,
    task: TaskId,
    kind: Kind,
    *,
    observed: str,
    pane: PaneId | None,
    excerpt: str | None,
    redacted: int,
) -> Attention | None:
    """Record an alert; None if one of its kind stands already (the first excerpt is kept)."""
    if kind in open_kinds(tx, task):
        return None
    name = tx.mint("attention")
    alert = Attention(
        id=name,
        seq=tx.journal("attention", name, task=task, seat=COORDINATOR, actor="coordinatord"),
        at=tx.now,
        task=task,
        kind=kind,
        observed=observed,
        pane=pane,
        excerpt=excerpt,
        redacted=redacted,
        reading=f"coordctl pane read {pane}" if pane else "",
    )
    ATTENTION.put(tx, alert)
    return alert


def close(tx: Transaction, task: TaskId, kind: Kind, why: Why) -> None:
    """A fresh look showed that alerts of this kind are over."""
    for alert in ATTENTION.select(tx, "task = ? AND kind = ? AND state = 'open'", task, kind).items:
        seq = tx.journal("attention", alert.id, task=task, actor="coordinatord")
        ATTENTION.put(tx, msgspec.structs.replace(alert, state=Closed(at=tx.now, seq=seq, why=why)))


def see(tx: Transaction, caller: Caller, name: str) -> Attention:
    """Record that the coordinator has looked. Doing it twice changes nothing."""
    if ids.kind_of(name) != "attention":
        raise Refused("bad-id", f"{name!r:.80} is not an alert's id.", "It looks like a-5k2m9x4p.")
    alert = ATTENTION.get(tx, name)
    if alert is None:
        raise Refused(
            "unknown-id", f"There is no alert {name}.", "See what is owed: coordctl inbox"
        )
    if not isinstance(alert.state, Open):
        return alert
    seq = tx.journal("attention", name, task=alert.task, actor=caller.seat, proof=caller.proof)
    alert = msgspec.structs.replace(alert, state=Seen(at=tx.now, seq=seq, by=caller.seat))
    ATTENTION.put(tx, alert)
    return alert
