"""What can be typed: every command with its entry, the flags of all, and what a line becomes."""

from __future__ import annotations

from coordctl import own, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

GLOBAL: Final = {
    "-C": ("directory", True),
    "--socket": ("socket", True),
    "--no-start": ("no_start", False),
    "--json": ("json", False),
    "--version": ("version", False),
    "--help": ("help", False),
    "-h": ("help", False),
}
"""Flags of every command: their name here, and whether a value follows."""


class Invocation:
    """One command as it was typed. ``params`` holds the fields that were given."""

    def __init__(self, words: str, spec: dict[str, Any], options: dict[str, Any]) -> None:
        self.words = words
        self.method: str = spec.get("method", "")
        self.mutates: bool = spec.get("mutates", False)
        self.directory: str | None = options.get("directory")
        self.socket: str | None = options.get("socket")
        self.start = "no_start" not in options
        self.as_json = "json" in options
        self.params: dict[str, Any] = {}
        self.rest: list[str] = []


class HelpWanted(Exception):
    """Somebody asked for help, or (not ``asked``) needs it: ``text``."""

    def __init__(self, text: str, *, asked: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.asked = asked


class VersionWanted(Exception):
    """Somebody asked for the version."""


def specification(words: str) -> dict[str, Any]:
    """The entry of a command: from the table, or our own."""
    found: dict[str, Any] = table.COMMANDS.get(words) or own.COMMANDS[words]
    return found


def all_words() -> list[str]:
    """Every command, as it is typed."""
    return sorted({*table.COMMANDS, *own.COMMANDS})


def flag_of(name: str) -> str:
    """How a field's flag is written; durations drop their unit: ``expires_s`` is ``--expires``."""
    return "--" + name.removesuffix("_s").replace("_", "-")
