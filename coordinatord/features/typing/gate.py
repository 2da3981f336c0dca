"""May an agent's composer be typed into now? A pure decision from one fresh look.

The order is cheapest first, and everything fails closed: a screen that no rule explains holds the text.
Source: coordination.md §3.3 and §3.9, agents.md §1 (real agents report idle on menus and dialogs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from coordinatord.features.panes.judgement import STANDS, Gone, Unseen
from coordinatord.features.panes.records import Outcome
from coordinatord.features.typing.records import Clear, Held, Obstacle
from coordinatord.kinds import (
    AgentKind,
    Blank,
    Busy,
    Composer,
    Dialog,
    Menu,
    Reading,
    Unclear,
    kind_of_program,
)
from coordinatord.terminals.port import SETTLED, Foreground, Program, Sighting

_OUTCOMES: Final[dict[Outcome, Obstacle]] = {
    "replaced": "replaced",
    "absent": "absent",
    "unrecorded": "unbound",
    "unobservable": "unobservable",
}


def occupant_stands(seen: Sighting | Gone | Unseen, outcome: Outcome) -> Held | None:
    """What the host's own record of the pane forbids; None: look closer."""
    if isinstance(seen, Unseen):
        return Held("host-unreachable")
    if isinstance(seen, Gone):
        return Held("absent")
    if outcome not in STANDS:
        return Held(_OUTCOMES[outcome], f"the pane's occupant is {outcome}")
    return agent_settled(seen)


def agent_settled(seen: Sighting) -> Held | None:
    """What the agent's reported state forbids; None: look closer."""
    if seen.launch_pending or not seen.live:
        # a pending start is not named as an agent yet
        return Held("launching", f"{seen.agent or 'the agent'} is not up yet")
    if seen.agent is None:
        return Held("not-agent")
    if seen.status in SETTLED:
        return None
    state: Obstacle = {"working": "busy", "blocked": "blocked"}.get(seen.status, "unknown")  # type: ignore[assignment]
    return Held(state)


def agent_in_front(
    seen: Sighting, foreground: Foreground | None, kinds: Mapping[str, AgentKind]
) -> Held | None:
    """Is the agent really what would read the keys? A label proves nothing; the process does."""
    if foreground is None or foreground.shell is None:
        return Held("unobservable", "the foreground program cannot be seen")
    if foreground.group == foreground.shell.pid:
        return Held("not-agent", "only the shell is in front")
    if program_of(seen, foreground, kinds) is not None:
        return None
    return Held("not-agent", f"{seen.agent} is not the program in front")


def program_of(
    seen: Sighting, foreground: Foreground | None, kinds: Mapping[str, AgentKind]
) -> Program | None:
    """The agent's own process among those in front."""
    for program in foreground.programs if foreground else ():
        environ = {"HERDR_AGENT": program.declared} if program.declared else {}
        if kind_of_program(kinds, program.name, program.argv, environ) == seen.agent:
            return program
    return None


def shell_in_front(foreground: Foreground | None) -> Held | None:
    """Would a line reach the pane's shell, and not an editor, a pager or an interpreter?"""
    if foreground is None or foreground.shell is None:
        return Held("unobservable", "the foreground program cannot be seen")
    if foreground.group != foreground.shell.pid:
        return Held("busy", "another program than the shell is in front")
    return None


def composer_empty(reading: Reading) -> Held | None:
    """Does the screen show a composer, drawn and empty?"""
    match reading:
        case Composer(draft=""):
            return None
        case Composer() as composer:
            return Held("draft", f"a draft of {len(composer.draft)} characters")
        case Dialog() | Menu():
            return Held("dialog", f"the screen shows {reading.name}")
        case Busy():
            return Held("busy", "the screen shows a turn that is running")
        case Blank():
            return Held("no-composer", "the screen is blank")
        case Unclear():
            return Held("no-composer", "no composer is drawn")


def verdict(
    seen: Sighting | Gone | Unseen,
    outcome: Outcome,
    foreground: Foreground | None,
    reading: Reading | None,
    kinds: Mapping[str, AgentKind],
) -> Held | Clear:
    """The gate's answer after all looks. ``reading`` is None where what came before forbade it anyway."""
    obstacle = occupant_stands(seen, outcome)
    if obstacle is not None or not isinstance(seen, Sighting):
        return obstacle or Held("absent")
    obstacle = agent_in_front(seen, foreground, kinds) or composer_empty(reading or Unclear())
    program = program_of(seen, foreground, kinds)
    if obstacle is not None or seen.agent is None or program is None:
        return obstacle or Held("not-agent")
    return Clear(seen.agent, program.pid)
