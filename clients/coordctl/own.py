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

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "coordctl up",
        "coordctl pane open --label worker --agent claude",
        "coordctl inbox",
        "coordctl why q-9f3t8b2c",
    ),
    "up": ("coordctl up", "coordctl up --terminal embedded"),
    "down": ("coordctl down", "coordctl down --panes"),
    "init": ("coordctl init", "coordctl init --role coordinator --reclaim"),
    "task new": (
        "coordctl task new 'Speed up the import' --worker-pane w1:p2",
        "coordctl task new 'Speed up the import' --brief-file brief.md",
    ),
    "ask": (
        "coordctl ask --task t-1h6v5w0z 'Which port?'",
        "coordctl ask --task t-1h6v5w0z - < question.md",
        "coordctl ask --task t-1h6v5w0z -- '-v or -q?'",
    ),
    "answer": ("coordctl answer q-9f3t8b2c 'Port 8080.'",),
    "report": ("coordctl report --task t-1h6v5w0z --outcome completed 'Done, with tests.'",),
    "verify": ("coordctl verify t-1h6v5w0z --candidate $(git rev-parse HEAD) --result pass",),
    "send": (
        "coordctl send worker:t-1h6v5w0z 'The branch moved; please rebase.'",
        "coordctl send w1:p2 --expires 30m -",
    ),
    "watch": ("coordctl watch", "coordctl watch --json --since 0"),
    "pane open": (
        "coordctl pane open --label tests -- pytest -q",
        "coordctl pane open --split w1:p2 right --agent codex",
    ),
    "completion": (
        "coordctl completion bash > ~/.local/share/bash-completion/completions/coordctl",
        "coordctl completion zsh > ~/.zfunc/_coordctl",
        "coordctl completion fish > ~/.config/fish/completions/coordctl.fish",
    ),
}
