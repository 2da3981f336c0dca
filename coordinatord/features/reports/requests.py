"""What may be asked about reports."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.reports.records import (
    Report,
    Verification,
    VerificationResult,
    WorkOutcome,
)
from coordinatord.features.tasks.requests import TaskName
from coordinatord.wire.requests import Access, Mutation


class FileReport(Mutation[Report], frozen=True, kw_only=True, tag="report.file"):
    """Report on your task. The coordinator owes a verification from then on."""

    task: TaskName
    outcome: Annotated[WorkOutcome, Meta(description="How it went.")]
    text: Annotated[str, Meta(description="The report; - reads it from standard input.")]


class RecordVerification(
    Mutation[Verification], frozen=True, kw_only=True, tag="verification.record"
):
    """Record what you found about a candidate. It closes the reports on the task filed before it."""

    access: ClassVar[Access] = Access.COORDINATION

    task: TaskName
    candidate: Annotated[
        str,
        Meta(
            description="What was looked at: a full commit id in a repository, else up to 64 characters.",
        ),
    ]
    result: Annotated[VerificationResult, Meta(description="What was found.")] = "pass"
