"""The line that starts a command in a shell, and the environment of panes we open. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from coordinatord.errors import Refused
from coordinatord.prose import is_line

LONGEST_LINE: Final = 16 * 1024
"""Characters of a line that is typed into a shell: its editor draws and keeps every one of them."""

LONGEST_NAME: Final = 1024
"""Characters of a label or a folder."""


def command_line(command: Sequence[str]) -> str:
    """Program and arguments as one quoted line for a shell.

    Raises:
        Refused: ``bad-params`` for control characters (in a shell's editor they are keys) and for an
            empty program, ``too-long``.
    """
    if command and not command[0].strip():
        raise Refused(
            "bad-params",
            "The command does not name a program.",
            "Give the program, then its arguments.",
        )
    for word in command:
        if any(ord(sign) < 0x20 or ord(sign) == 0x7F for sign in word):
            raise Refused(
                "bad-params",
                "The command holds a control character or a line break.",
                "Put such a script into a file and run the file.",
            )
    line = shlex.join(command)
    if len(line) > LONGEST_LINE:
        raise Refused(
            "too-long",
            f"The command has {len(line)} characters; at most {LONGEST_LINE} are typed.",
            "Put such a script into a file and run the file.",
        )
    return line


def one_line(text: str | None, what: str) -> None:
    """Check a text that the host shows or passes on: nothing in it may act on a terminal.

    Raises:
        Refused: ``bad-params`` for control characters, line breaks, blank and overlong texts.
    """
    if text is not None and not (is_line(text) and 0 < len(text.strip()) <= LONGEST_NAME):
        raise Refused(
            "bad-params",
            f"The {what} must be one printable line of 1 to {LONGEST_NAME} characters.",
            "Leave out control characters and line breaks.",
        )


def pane_environment(
    *, root: str, token: str, coordctl: str | None, path: str
) -> Mapping[str, str]:
    """What panes that we open carry (interfaces.md, Terminal host choice)."""
    env = {"COORDINATORD_ROOT": root, "COORDINATORD_TOKEN": token, "PATH": path}
    if coordctl is not None:
        folder = coordctl.rpartition("/")[0]
        env |= {"COORDCTL": coordctl}
        if folder and folder not in path.split(":"):
            env |= {"PATH": f"{folder}:{path}" if path else folder}
    return env
