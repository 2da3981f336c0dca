"""What may be asked about reports, reviews, verifications, publications and notes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from coordinatord.features.reports.records import (
    Check,
    Line,
    Note,
    Publication,
    Report,
    Review,
    ReviewState,
    Verdict,
    Verification,
    VerificationResult,
    WorkOutcome,
)
from coordinatord.features.tasks.requests import TaskName
from coordinatord.wire.requests import Access, Listing, Mutation, Request

Candidate = Annotated[
    str,
    Meta(
        description="What was looked at: a full commit id in a repository, else up to 64 characters.",
    ),
]
_Run = Annotated[
    str, Meta(min_length=1, max_length=200, pattern=r"^\S+$", description="The id of a test run.")
]
_Word = Annotated[str, Meta(min_length=1, max_length=400, pattern=r"^\S+$")]


class FileReport(Mutation[Report], frozen=True, kw_only=True, tag="report.file"):
    """Report on your task. The coordinator owes a verification from then on."""

    task: TaskName
    outcome: Annotated[WorkOutcome, Meta(description="How it went.")]
    text: Annotated[str, Meta(description="The report; - reads it from standard input.")]
    candidate: (
        Annotated[Candidate, Meta(description="The state of the work that is reported.")] | None
    ) = None


class FileHandoff(Mutation[Report], frozen=True, kw_only=True, tag="handoff.file"):
    """Report on your task in parts that can be compared: candidate, checks, files, what is next."""

    task: TaskName
    outcome: Annotated[WorkOutcome, Meta(description="How it went.")]
    candidate: Candidate
    next_action: Annotated[Line, Meta(description="What should happen next.")]
    text: Annotated[str, Meta(description="The report in words.")] | None = None
    files: Annotated[tuple[Line, ...], Meta(max_length=200, description="Files that matter.")] = ()
    checks: Annotated[
        tuple[Check, ...], Meta(max_length=50, description="Commands that were run.")
    ] = ()
    artifacts: Annotated[
        tuple[Line, ...], Meta(max_length=30, description="What was produced.")
    ] = ()
    unresolved: Annotated[
        tuple[Line, ...], Meta(max_length=50, description="What is undecided.")
    ] = ()
    review: Annotated[ReviewState, Meta(description="Whether somebody reviewed it.")] = "none"
    pull_request: Annotated[_Word, Meta(description="Its pull request.")] | None = None
    run: _Run | None = None


class RecordVerification(
    Mutation[Verification], frozen=True, kw_only=True, tag="verification.record"
):
    """Record what you found about a candidate. It closes the reports on the task filed before it."""

    task: TaskName
    candidate: Candidate
    result: Annotated[VerificationResult, Meta(description="What was found.")]
    run: _Run | None = None


class FileReview(Mutation[Review], frozen=True, kw_only=True, tag="review.file"):
    """File what a review of a candidate found. Your pane becomes the task's reviewer."""

    task: TaskName
    candidate: Candidate
    verdict: Annotated[Verdict, Meta(description="The verdict.")]
    text: Annotated[str, Meta(description="The findings; - reads them from standard input.")]
    tool: Annotated[_Word, Meta(description="The program that made them, if one did.")] | None = (
        None
    )


class ObservePublication(
    Mutation[Publication], frozen=True, kw_only=True, tag="publication.observe"
):
    """Look at the pull request of a task through gh, or record by hand how it stands.

    A look that fails is recorded as uncertain.
    """

    access: ClassVar[Access] = Access.COORDINATION

    task: TaskName
    number: Annotated[int, Meta(ge=1, description="The number of the pull request.")]
    repository: (
        Annotated[str, Meta(pattern=r"^[\w.-]+/[\w.-]+$", description="OWNER/NAME.")] | None
    ) = None
    replace: Annotated[bool, Meta(description="Another number than before is meant.")] = False
    state: (
        Annotated[Literal["open", "merged", "closed"], Meta(description="By hand: how it stands.")]
        | None
    ) = None
    url: Annotated[_Word, Meta(description="By hand: its address.")] | None = None
    head_sha: Annotated[_Word, Meta(description="By hand: the commit it stands at.")] | None = None


class AddNote(Mutation[Note], frozen=True, kw_only=True, tag="note.add"):
    """Note something about a task. Nobody is told; no secrets."""

    task: TaskName
    text: Annotated[str, Meta(description="The note; - reads it from standard input.")]


class ListNotes(Request[Listing[Note]], frozen=True, kw_only=True, tag="note.list"):
    """List the notes on a task, oldest first."""

    task: TaskName
