"""What a revision says, and whether it is intact. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from coordinatord.features.briefs.records import Change, Decided, Revision
from coordinatord.features.tasks.records import Task


def fingerprint_of(task: Task) -> str:
    """Of what was approved: no revision may differ in it."""
    return _digest("\0".join((task.id, task.title, task.brief or "")))


def text_of(task: Task, policy: str, decisions: Sequence[Decided]) -> str:
    """The whole text: the approved part first, unchanged."""
    parts = [f"# {task.title}", task.brief or "", "## How to answer", _RETURNS.format(task=task.id)]
    if policy:
        parts += ["## How it will be verified", policy]
    if decisions:
        parts += ["## Decided", *(_line(each) for each in decisions)]
    return "\n\n".join(part for part in parts if part)


_RETURNS = (
    "Ask: `coordctl ask --task {task} TEXT`. Read answers: `coordctl inbox`, then `coordctl resolve ID`.\n"
    "Report: `coordctl report --task {task} --outcome completed|partial|blocked|failed TEXT`."
)


def content_of(text: str) -> str:
    """The SHA-256 of a revision's text."""
    return _digest(text)


def changes_between(
    before: Revision | None, policy: str, decisions: Sequence[Decided]
) -> list[Change]:
    """What the next revision changes."""
    if before is None:
        return []
    changes: list[Change] = []
    if list(decisions) != before.decisions:
        changes.append("decisions")
    if policy != before.policy:
        changes.append("policy")
    return changes


def intact(revision: Revision, task: Task) -> bool:
    """Is it as it was stored, and of what was approved? A damaged one is never repaired in place."""
    return revision.content == content_of(revision.text) and revision.fingerprint == fingerprint_of(
        task
    )


def _line(decided: Decided) -> str:
    asked = f"{decided.asked}\n  → " if decided.asked else ""
    return f"- [{decided.record}] {asked}{decided.text}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
