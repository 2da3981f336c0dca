"""What is owed, from all records at once and without any index. Pure; `doctor` compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from coordinatord.features.briefs.records import Revision
from coordinatord.features.questions.records import Answered, Open, Question
from coordinatord.features.reports.records import (
    Observed,
    Publication,
    Report,
    Review,
    Verification,
)
from coordinatord.features.tasks.records import Archived, Task


class Everything(msgspec.Struct, frozen=True, kw_only=True):
    """All records that debts on tasks come from."""

    tasks: Sequence[Task]
    questions: Sequence[Question]
    reports: Sequence[Report]
    reviews: Sequence[Review]
    verifications: Sequence[Verification]
    publications: Sequence[Publication]
    revisions: Sequence[Revision]


def recomputed(all_of: Everything) -> frozenset[str]:
    """The ids of all obligations on tasks, for example ``question:q-9f3t8b2c``."""
    over = {task.id for task in all_of.tasks if isinstance(task.state, Archived)}
    return frozenset(
        name
        for task, name in (
            *_of_questions(all_of.questions),
            *_of_reports(all_of),
            *_of_reviews(all_of),
            *_of_revisions(all_of.revisions),
        )
        if task not in over
    )


def _of_questions(questions: Iterable[Question]) -> Iterator[tuple[str, str]]:
    for question in questions:
        match question.state:
            case Open():
                yield question.task, f"question:{question.id}"
            case Answered():
                yield question.task, f"answer:{question.id}"
            case _:
                pass


def _of_reports(all_of: Everything) -> Iterator[tuple[str, str]]:
    newest: dict[str, int] = {}
    for task, seq in (
        *((each.task, each.seq) for each in all_of.verifications),
        *((each.task, each.seq) for each in _seen(all_of.publications)),
    ):
        newest[task] = max(seq, newest.get(task, 0))
    for report in all_of.reports:
        if newest.get(report.task, 0) <= report.seq:
            yield report.task, f"report:{report.id}"


def _of_reviews(all_of: Everything) -> Iterator[tuple[str, str]]:
    same: dict[tuple[str, str], int] = {}
    for verification in all_of.verifications:
        _later(same, (verification.task, verification.candidate), verification.seq)
    for publication in _seen(all_of.publications):
        seen = publication.observation
        if isinstance(seen, Observed) and seen.head_sha is not None:
            _later(same, (publication.task, seen.head_sha), publication.seq)
    named: dict[str, list[tuple[int, str]]] = {}
    for report in all_of.reports:
        if report.candidate is not None:
            named.setdefault(report.task, []).append((report.seq, report.candidate))
    for review in all_of.reviews:
        named.setdefault(review.task, []).append((review.seq, review.candidate))
    for review in all_of.reviews:
        acted = same.get((review.task, review.candidate), 0) > review.seq
        others = (
            seq > review.seq and candidate != review.candidate
            for seq, candidate in named[review.task]
        )
        if not acted and not any(others):
            yield review.task, f"review:{review.id}"


def _of_revisions(revisions: Iterable[Revision]) -> Iterator[tuple[str, str]]:
    for revision in revisions:
        if revision.state == "requested":
            yield revision.task, f"refresh:{revision.id}"


def _seen(publications: Iterable[Publication]) -> Iterator[Publication]:
    return (each for each in publications if isinstance(each.observation, Observed))


def _later(newest: dict[tuple[str, str], int], key: tuple[str, str], seq: int) -> None:
    newest[key] = max(seq, newest.get(key, 0))
