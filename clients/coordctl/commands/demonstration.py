"""``demo``: the main job, on real panes, in a workspace of its own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coordctl.grammar import Invocation


def demo(invocation: Invocation) -> int:
    """Run it; the words after ``demo`` are its own."""
    from coordctl.demo import main

    return main(invocation.rest)
