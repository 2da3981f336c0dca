"""Commands beyond the table: those without a method, and those that do more than one call.

Plain literals, shaped like the entries of `table.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

RUNNERS: Final[dict[str, tuple[str, str]]] = {
    "up": ("daemon", "up"),
    "down": ("daemon", "down"),
    "version": ("daemon", "version"),
    "completion": ("completion", "completion"),
    "watch": ("watch", "watch"),
    "pane open": ("panes", "open_pane"),
    "demo": ("demonstration", "demo"),
}
"""Command and the function in ``coordctl.commands`` that runs it, instead of one call."""

COMMANDS: Final[dict[str, dict[str, Any]]] = {
    "up": {
        "help": "Start the daemon for this project, and make its .coordinatord folder if needed.",
        "fields": {
            "terminal": {
                "kind": "choice",
                "choices": ("auto", "herdr", "embedded"),
                "help": "Where the panes live; auto takes a running Herdr, else the embedded host.",
            }
        },
    },
    "version": {"help": "Print the version.", "fields": {}},
    "completion": {
        "help": "Print a completion script for your shell.",
        "fields": {
            "shell": {
                "kind": "choice",
                "choices": ("bash", "zsh", "fish"),
                "required": True,
                "help": "The shell.",
            }
        },
        "positional": ("shell",),
    },
    "demo": {
        "help": "Watch a question travel between two scripted agents, in a workspace of its own.",
        "fields": {},
        "passthrough": True,
    },
}

FIELDS: Final[dict[str, dict[str, dict[str, Any] | None]]] = {
    "pane open": {
        "split": {
            "kind": "pair",
            "metavar": "PANE right|down",
            "help": "Split this pane instead of opening a tab.",
        },
        "direction": None,
    },
}
"""Fields of the table's commands that are written otherwise here; None: not at all."""
