"""What may be asked about tool runs; `runner-…` are the runner's own requests."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.tool_runs.records import Assignment, Output, RunListed, ToolResult
from coordinatord.terminals.port import Direction
from coordinatord.wire.requests import Access, Done, Listing, Mutation, Request

RunName = Annotated[str, Meta(description="The run, such as x-4k7q2m1x.")]
TailLines = (
    Annotated[int, Meta(ge=1, le=10_000, description="Last lines of output to give.")] | None
)


class RunTool(Mutation[ToolResult], frozen=True, kw_only=True, tag="tool.run"):
    """Run a command in a pane with a label, beside your own, and give its result.

    The pane of that label is used again when it is free. The command has your folder and your
    environment; it is a child of the pane's shell, so ``cd`` and ``export`` end with it (see
    --in-shell), and what it leaves in the background ends with it unless started with ``nohup`` or
    ``setsid``. One word after ``--`` is a line for /bin/sh; several are a program and its arguments.
    """

    key_scope: ClassVar[str | None] = "terminal_id"

    label: Annotated[str, Meta(description="The pane is called Tool · LABEL.")]
    command: Annotated[tuple[str, ...], Meta(description="The command, after --.")]
    cwd: Annotated[str, Meta(description="Folder to run in; your pane's if not given.")] | None = (
        None
    )
    environment: (
        Annotated[
            bytes,
            Meta(description="NAME=value, each ended by NUL, in base64; the pane's if not given."),
        ]
        | None
    ) = None
    direction: Annotated[Direction, Meta(description="Where a new pane goes.")] = "right"
    focus: Annotated[bool, Meta(description="Move the focus to the pane.")] = False
    timeout_ms: (
        Annotated[int, Meta(gt=0, description="Give up waiting after this; the command goes on.")]
        | None
    ) = None
    new: Annotated[bool, Meta(description="Open another pane, whatever there is.")] = False
    in_shell: Annotated[
        bool, Meta(description="Run it in the pane's own shell, so that cd and export stay.")
    ] = False
    wait: Annotated[bool, Meta(description="Answer when the command has ended.")] = True
    tail_lines: TailLines = None


class ListRuns(Request[Listing[RunListed]], frozen=True, kw_only=True, tag="tool.list"):
    """List the tool runs, newest first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="How many at most.")] = 50


class TakeResult(Mutation[ToolResult], frozen=True, kw_only=True, tag="tool.result"):
    """Give the result of a run; the seat that was told of its end owes nothing for it any more."""

    access: ClassVar[Access] = Access.ANYONE

    run: RunName
    wait: Annotated[bool, Meta(description="Answer when the command has ended.")] = False
    tail_lines: TailLines = None


class ReadOutput(Request[Output], frozen=True, kw_only=True, tag="tool.tail"):
    """Show the last output of a run."""

    run: RunName
    follow: Annotated[bool, Meta(description="Go on until the command has ended.")] = False
    tail_lines: TailLines = None


class CancelRun(Mutation[ToolResult], frozen=True, kw_only=True, tag="tool.cancel"):
    """End a run: one that waits never starts, one that runs is terminated."""

    run: RunName


class CloseTool(Mutation[Done], frozen=True, kw_only=True, tag="tool.close"):
    """Close the panes of a label, with what runs in them."""

    label: Annotated[str, Meta(description="The label, without Tool · in front.")]


class ClaimRun(Mutation[Assignment], frozen=True, kw_only=True, tag="tool.runner-claim"):
    """The runner in the pane asks what to do; ``resume``: it has it and found a daemon again."""

    access: ClassVar[Access] = Access.ANYONE

    run: RunName
    resume: Annotated[bool, Meta(description="The command runs already.")] = False


class FinishRun(Mutation[Done], frozen=True, kw_only=True, tag="tool.runner-done"):
    """The runner reports how the command ended."""

    access: ClassVar[Access] = Access.ANYONE

    run: RunName
    exit_code: Annotated[int, Meta(ge=0, le=255, description="128 + N for signal N.")] | None = None
    detail: Annotated[str, Meta(max_length=500, description="Why there is no code.")] | None = None
    hung_up: Annotated[bool, Meta(description="The pane went away.")] = False
    alternate_screen: Annotated[bool, Meta(description="It drew a full screen.")] = False
    written: Annotated[int, Meta(ge=0, description="Bytes of output.")] = 0
