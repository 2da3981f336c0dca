"""Commands that run in the pane's own shell: what is typed, and how its end is read. Pure.

The marker is put together by the shell, so the echo of the typed line does not contain it; it must
stand alone on a line, with a number (delegation-tools-loops.md §4.3 and §4.4).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from coordinatord.errors import Refused
from coordinatord.prose import is_line

_QUOTES_LIKE_SH = frozenset({"bash", "dash", "zsh", "sh", "ksh", "mksh", "ash", "busybox"})


def typed(command: Sequence[str], run: str, shell: str) -> str:
    """The line to type. ``eval`` of one quoted word: comments, open quotes and ``&`` stay inside it.

    Raises:
        Refused: ``bad-params`` for control characters, ``not-here`` for a shell we cannot speak.
    """
    text = command[0] if len(command) == 1 else shlex.join(command)
    if not is_line(text):
        raise Refused(
            "bad-params",
            "A command for --in-shell holds a control character or a line break.",
            "Put such a script into a file and source the file.",
        )
    if shell in _QUOTES_LIKE_SH:
        quoted, status = shlex.quote(text), '"$?"'
    elif shell == "fish":
        quoted, status = _fish(text), "$status"
    else:
        raise Refused(
            "not-here",
            f"The shell in the pane ({shell or 'unknown'}) is not one that --in-shell can speak.",
            "Leave out --in-shell.",
        )
    return f" eval {quoted}; printf '\\n__HERDR_TOOL_DONE_%s__:%s\\n' {run} {status}"


def _fish(text: str) -> str:
    """In fish's single quotes a backslash escapes itself and the quote."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def found(screen: str, run: str) -> int | None:
    """The exit code that the marker of this run tells; None: not there yet."""
    match = re.search(rf"^__HERDR_TOOL_DONE_{run}__:(\d+)\s*$", screen, re.MULTILINE)
    return int(match[1]) if match else None


def output(screen: str, run: str) -> str:
    """What stands between the echo of the line and the marker, as far as the screen has it."""
    before = re.split(rf"^__HERDR_TOOL_DONE_{run}__:", screen, maxsplit=1, flags=re.MULTILINE)[0]
    echo = f"_DONE_%s__:%s\\n' {run} "
    _, typed_line, after = before.rpartition(echo)
    if not typed_line:
        return before.strip("\n")
    return after.partition("\n")[2].strip("\n")
