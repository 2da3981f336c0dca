"""One pane as the host keeps it: its terminal, its agent, what was written on it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from coordinatord.panehost.agents import Agent
from coordinatord.panehost.metadata import Presentation, Sequences, Tokens
from coordinatord.panehost.pane import Pane

_SPINNERS = frozenset("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏◐◓◑◒◴◷◶◵✳✶✻✽✢·*")


@dataclass(eq=False)
class HostedPane:
    """A pane from its opening to its end. ``terminal_id`` never changes, ``pane_id`` may."""

    terminal_id: str
    pane_id: str
    agent: Agent
    started_in: str
    terminal: Pane | None = None
    label: str | None = None
    tokens: Tokens = field(default_factory=lambda: Tokens("pane"))
    presentation: Presentation = field(default_factory=Presentation)
    sequences: Sequences = field(default_factory=lambda: Sequences("pane"))
    revision: int = 0
    moves: int = 0
    gone: bool = False
    closing: bool = False
    looking: bool = False
    looked_at: float = -1.0
    attached: int = 0
    group: int | None = None
    title: str | None = None

    @property
    def cwd(self) -> str:
        """What the shell reported, else the folder of its process, else where it was started."""
        if self.terminal is None or self.group is None:
            return self.started_in  # before the first look the child may still be on its way there
        return (
            self.terminal.screen.reported_cwd
            or _folder_of(self.terminal.shell_pid)
            or self.started_in
        )

    @property
    def foreground_cwd(self) -> str | None:
        """The folder of the foreground group as it was last seen; None without a terminal."""
        if self.terminal is None:
            return None
        if self.group is None:
            return self.started_in
        return _folder_of(self.group) or _folder_of(self.terminal.shell_pid) or self.started_in


def stripped(title: str | None) -> str | None:
    """A terminal title without one leading spinner sign."""
    if title and title[0] in _SPINNERS:
        return title[1:].lstrip() or None
    return title or None


def _folder_of(pid: int | None) -> str | None:
    if pid is None:
        return None
    try:
        return os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")
    except OSError:
        return None
