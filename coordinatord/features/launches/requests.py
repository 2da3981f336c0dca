"""What may be asked about opening panes."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.panes.records import PaneRecord
from coordinatord.terminals.port import Direction
from coordinatord.wire.requests import Access, Mutation


class OpenPane(Mutation[PaneRecord], frozen=True, kw_only=True, tag="pane.open"):
    """Open a pane without moving anybody's focus, and run a command or an agent in it."""

    access: ClassVar[Access] = Access.COORDINATION

    label: Annotated[str, Meta(max_length=80, description="The pane's label.")] | None = None
    cwd: (
        Annotated[str, Meta(description="Folder to start in; the workspace's root if not given.")]
        | None
    ) = None
    split: Annotated[str, Meta(description="Split this pane instead of opening a tab.")] | None = (
        None
    )
    direction: Annotated[Direction, Meta(description="Where the new pane goes when splitting.")] = (
        "right"
    )
    agent: (
        Annotated[
            str, Meta(description="Start an agent of this kind: claude, codex, opencode, pi.")
        ]
        | None
    ) = None
    command: Annotated[
        tuple[str, ...], Meta(description="Program and arguments, typed as one quoted line.")
    ] = ()
