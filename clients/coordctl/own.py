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
    "pane attach": ("attach", "attach"),
    "demo": ("demonstration", "demo"),
    "handoff": ("handoff", "handoff"),
    "backup": ("upkeep", "backup"),
    "restore": ("upkeep", "restore"),
    "export": ("upkeep", "export"),
    "wait": ("wait", "wait"),
    "tool run": ("tool", "run"),
    "tool tail": ("tool", "tail"),
    "tool result": ("tool", "result"),
    "trace record": ("trace", "record"),
    "trace replay": ("trace", "replay"),
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
    "restore": {
        "help": "Fill an empty workspace from a backup. Nobody sits anywhere afterwards.",
        "fields": {
            "backup": {"kind": "text", "required": True, "help": "The file that backup wrote."}
        },
        "positional": ("backup",),
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
    "pane attach": {
        "help": "Show a pane in this terminal and type into it; ctrl+\\ leaves it as it is.",
        "fields": {
            "pane": {
                "kind": "text",
                "required": True,
                "help": "The pane, such as w1:p2, its label, or the seat of its agent.",
            }
        },
        "positional": ("pane",),
    },
    "trace record": {
        "help": "Write down what the daemon sees and decides, with every text masked, for a bug report.",
        "fields": {
            "file": {
                "kind": "text",
                "help": "Where to write, by default coordinatord-trace.jsonl; must not be there yet. "
                "- is standard output.",
            },
            "for_s": {
                "kind": "duration",
                "help": "How long to record; without it until you interrupt it.",
            },
            "limit_mb": {
                "kind": "number",
                "metavar": "MB",
                "help": "Stop when the file is this large; by default 100.",
            },
        },
        "positional": ("file",),
    },
    "trace replay": {
        "help": "Decide again on what a trace says, without daemon and terminal host, and tell where it "
        "comes out otherwise.",
        "fields": {
            "file": {"kind": "text", "required": True, "help": "The trace; - is standard input."}
        },
        "positional": ("file",),
    },
    "demo": {
        "help": "Watch a question travel between two scripted agents, in a workspace of its own.",
        "fields": {},
        "passthrough": True,
    },
}

FIELDS: Final[dict[str, dict[str, dict[str, Any] | None]]] = {
    "export": {"after": None, "limit": None},
    "handoff": {
        "claim": {
            "kind": "text",
            "required": True,
            "help": "A JSON file with outcome, candidate, next_action and the rest; - reads it from "
            "standard input.",
        },
        **dict.fromkeys(
            (
                *("outcome", "candidate", "next_action", "text", "files", "checks"),
                *("artifacts", "unresolved", "review", "pull_request", "run"),
            )
        ),
    },
    "tool run": {
        "cwd": None,
        "environment": None,
        "wait": {"kind": "switch", "help": "Wait until the command has ended: the default."},
        "no_wait": {"kind": "switch", "help": "Answer at once; you are told when it has ended."},
    },
    "wait": {
        "limit_s": {
            "kind": "duration",
            "help": "How long to wait at most, with exit status 4 then; without it until it comes.",
        },
    },
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

_NOT_RUN: Final = 125


def failed(arguments: list[str], status: int) -> int:
    """The exit status of a failure of ours: ``tool run`` has one for all, since the others are the
    command's own (interfaces.md, Exit codes)."""
    words = [each for each in arguments if not each.startswith("-")]
    return _NOT_RUN if ["tool", "run"] in (words[:2], words[1:3]) else status
