"""What the parts of a daemon stand on, and what differs between a real daemon and one in a test."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from coordinatord.clock import Clock
from coordinatord.daemon.requests import Explained
from coordinatord.daemon.settings import Settings
from coordinatord.features.delivery.run_evidence import Environment
from coordinatord.features.delivery.run_setbacks import Tell
from coordinatord.features.launches.run import Surroundings
from coordinatord.features.tool_runs.files import Place
from coordinatord.features.upkeep.files import Premises
from coordinatord.features.views.methods import Running
from coordinatord.kinds import AgentKind
from coordinatord.store.database import Database
from coordinatord.terminals.port import Terminal


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What all parts stand on: made by `app.py`, or by a test."""

    database: Database
    terminal: Terminal
    kinds: Mapping[str, AgentKind]
    clock: Clock
    source: random.Random
    settings: Settings
    surroundings: Surroundings
    running: Running
    config: Path = Path("config.toml")
    """The workspace's own configuration file."""
    host_socket: str
    host_kind: str
    in_repository: bool
    environ: Mapping[str, str] = {}
    """What programs that we start are given."""
    explained: tuple[Explained, ...] = ()
    """Each setting and where it came from."""
    premises: Premises = Premises(folder=Path(".coordinatord"))
    letters: Path
    """Folder for texts that are too long to be typed."""
    environment: Environment
    """The environment of a process: where an agent stores its transcripts."""
    stop: Callable[[bool], None]
    """Ask the daemon to end; True: with the panes."""
    tools: Place = Place()
    tell_setback: Tell = lambda name, kind, trace: None
    """Log what failed for one of many."""
