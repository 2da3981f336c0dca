"""Kinds of agents as data, one TOML file each, and the pure matching of what they show and store.

Invariant: a screen that no rule explains is not a composer, and nothing may be typed into it. Only
the bottom of a screen counts, so that text which an agent quotes cannot fake a state. Loading reads
files; everything else here is a function of its arguments.

Start at `agent_kind.AgentKind` (what a kind's file may say), then `screen.read_screen`. `typed`
cleans text before it is typed, `transcript` finds a notice in what an agent stored, `programs` says
which kind a process is.
"""

from coordinatord.kinds.agent_kind import AgentKind
from coordinatord.kinds.loading import load
from coordinatord.kinds.programs import is_shared_server, kind_of_program
from coordinatord.kinds.screen import (
    Blank,
    Busy,
    Composer,
    Dialog,
    Menu,
    Reading,
    Unclear,
    composer_holds,
    read_screen,
    read_title,
    shows,
)
from coordinatord.kinds.typed import Cleaned, sanitise, unsafe_start

__all__ = [
    "AgentKind",
    "Blank",
    "Busy",
    "Cleaned",
    "Composer",
    "Dialog",
    "Menu",
    "Reading",
    "Unclear",
    "composer_holds",
    "is_shared_server",
    "kind_of_program",
    "load",
    "read_screen",
    "read_title",
    "sanitise",
    "shows",
    "unsafe_start",
]
