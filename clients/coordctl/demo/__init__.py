"""``coordctl demo``: the main job on real panes, with scripted agents in place of models.

Invariant: nothing shown is scripted output; every line is read back from the daemon, and a step that did
not happen as told ends the demo with a non-zero status. Start with `play.py` (the steps); `agent.py` is
the program that runs in the panes, `stage.py` the workspace around it, `timeline.py` the picture at the end.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the demo; 0 if every step happened as told."""
    from coordctl.demo import play

    return play.main(arguments)
