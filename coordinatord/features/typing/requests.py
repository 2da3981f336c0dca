"""What may be asked about typing."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from coordinatord.features.typing.records import Pause
from coordinatord.wire.requests import Access, Done, Mutation


class SendToPane(Mutation[Done], frozen=True, kw_only=True, tag="pane.send"):
    """Type text into a pane as it is, whatever is in front there. For people; it is journalled."""

    access: ClassVar[Access] = Access.OPERATOR

    pane: Annotated[str, Meta(description="A pane id of the terminal host, such as w1:p2.")]
    text: Annotated[str, Meta(description="The text; - reads it from standard input.")]
    enter: Annotated[bool, Meta(description="Press Enter after the text.")] = False


class PauseTyping(Mutation[Pause], frozen=True, kw_only=True, tag="typing.pause"):
    """Stop all typing into panes at once, until `resume`, also over a restart. Records are still kept."""

    access: ClassVar[Access] = Access.COORDINATION


class ResumeTyping(Mutation[Pause], frozen=True, kw_only=True, tag="typing.resume"):
    """Allow typing again; who waited is told as soon as it is safe."""

    access: ClassVar[Access] = Access.COORDINATION
