"""Commands that run in the pane's own shell: what is typed, and how its end is read. Pure.

The marker is put together by the shell, so the echo of the typed line does not contain it; it must
stand alone on a line, with a number (delegation-tools-loops.md §4.3 and §4.4).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from coordinatord.errors import Refused
from coordinatord.prose import is_line

_EDITS_LINES: Final = frozenset({"bash", "zsh", "fish"})
_PLAIN_SH: Final = frozenset({"dash", "sh", "ksh", "mksh", "ash", "busybox"})
"""In these a syntax error ends the typed line, unless ``command`` stands before ``eval``."""
_ZSH_GOES_ON: Final = re.compile(r"\^C[%#] {2,}")
"""zsh ends a row that has no end with its own sign and fills it with blanks; it reads as one row."""
_LONGEST_UNEDITED: Final = 1000
"""Bytes that a terminal takes as one line for a shell that does not edit lines itself (MAX_CANON)."""


def text_of(command: Sequence[str]) -> str:
    """The command as it is typed.

    Raises:
        Refused: ``bad-params`` for control characters.
    """
    text = command[0] if len(command) == 1 else shlex.join(command)
    if not is_line(text):
        raise Refused(
            "bad-params",
            "A command for --in-shell holds a control character or a line break.",
            "Put such a script into a file and source the file.",
        )
    return text


def typed(command: Sequence[str], run: str, shell: str) -> str:
    """The line to type. ``eval`` of one quoted word: comments, open quotes and ``&`` stay inside it.

    Raises:
        Refused: ``bad-params`` as `text_of`, ``not-here`` for a shell we cannot speak, ``too-long``
            for one that does not take so long a line.
    """
    text = text_of(command)
    if shell == "fish":
        start, status = f"eval {_fish(text)}", "$status"
    elif shell in _EDITS_LINES:
        start, status = f"eval {shlex.quote(text)}", '"$?"'
    elif shell in _PLAIN_SH:
        start, status = f"command eval {shlex.quote(text)}", '"$?"'
    else:
        raise Refused(
            "not-here",
            f"The shell in the pane ({shell or 'unknown'}) is not one that --in-shell can speak.",
            "Leave out --in-shell.",
        )
    line = f" {start}; printf '\\n__HERDR_TOOL_DONE_%s__:%s\\n' {run} {status}"
    if shell not in _EDITS_LINES and len(line.encode()) > _LONGEST_UNEDITED:
        raise Refused(
            "too-long",
            f"{shell} takes no typed line of more than {_LONGEST_UNEDITED} bytes.",
            "Put the command into a file and source the file.",
        )
    return line


def _fish(text: str) -> str:
    """In fish's single quotes a backslash escapes itself and the quote."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def found(screen: str, run: str) -> int | None:
    """The exit code that the marker of this run tells; None: not there yet."""
    match = re.search(rf"^__HERDR_TOOL_DONE_{run}__:(\d+)\s*$", screen, re.MULTILINE)
    return int(match[1]) if match else None


def output(screen: str, run: str) -> tuple[str, bool]:
    """What stands between the echo of the line and the marker; False: the screen had not all of it."""
    before = re.split(rf"^__HERDR_TOOL_DONE_{run}__:", screen, maxsplit=1, flags=re.MULTILINE)[0]
    _, typed_line, after = before.rpartition(_echo(run))
    if not typed_line:
        return before.strip("\n"), False
    return after.partition("\n")[2].strip("\n"), True


def seems_broken_off(screen: str, run: str) -> bool:
    """Does it look as if the shell dropped the typed line and is at its prompt again?

    ctrl+c makes most shells do so, and then there is no marker. The last row is the prompt that stood
    before the typed line, or stands below the ``^C`` that the terminal showed.
    """
    before, typed_line, after = screen.rpartition(_echo(run))
    rows = [row.rstrip() for row in after.partition("\n")[2].split("\n") if row.strip()]
    if not typed_line or not rows:
        return False
    prompt = re.split(r"(?:command )?eval ", before.rpartition("\n")[2])[0].rstrip()
    shown = any(row.endswith("^C") for row in rows[:-1]) or any(map(_ZSH_GOES_ON.search, rows))
    return shown or bool(prompt and rows[-1] == prompt)


def _echo(run: str) -> str:
    return f"_DONE_%s__:%s\\n' {run} "
