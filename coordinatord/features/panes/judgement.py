"""Is the occupant seen now the one that was recorded? A pure table.

Source: coordination.md §2.3 (order of judging, cheapest first) and §2.4 (what was measured).
"""

from __future__ import annotations

from typing import Final

import msgspec

from coordinatord.features.panes.records import Outcome
from coordinatord.ids import ProcessId, SeatId
from coordinatord.terminals.port import Occupant, Sighting

STANDS: Final[frozenset[Outcome]] = frozenset({"same", "new-conversation", "handoff", "restored"})
"""Outcomes under which the role stands and the seat may be typed to."""

RECLAIMABLE: Final[frozenset[Outcome]] = frozenset({"replaced", "absent"})
"""Outcomes under which another pane may take the coordinator's seat deliberately."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What a judgement went by, for a trace: see `judge`."""

    seat: SeatId
    recorded: Occupant | None
    seen: Sighting | Gone | Unseen
    shell: ProcessId | None
    outcome: Outcome


class Unseen(msgspec.Struct, frozen=True):
    """The host could not be asked: nothing is known about the pane."""


class Gone(msgspec.Struct, frozen=True):
    """The host answered and has no such pane."""


def judge(
    recorded: Occupant | None, seen: Sighting | Gone | Unseen, shell: ProcessId | None
) -> Outcome:
    """Compare what is recorded with what is seen.

    ``shell`` is the pane's shell as it is now, or None where it was not or could not be probed; it is only
    used when the terminals differ (`needs_shell`).
    """
    match seen:
        case Unseen():
            return "unobservable"
        case Gone():
            return "absent" if recorded is not None else "unrecorded"
        case Sighting():
            return "unrecorded" if recorded is None else _compare(recorded, seen, shell)


def needs_shell(recorded: Occupant | None, seen: Sighting | Gone | Unseen) -> bool:
    """Would `judge` use the pane's shell? The ordinary path never does."""
    if recorded is None or not isinstance(seen, Sighting):
        return False
    return recorded.terminal_id != seen.terminal_id and not _restored(recorded, seen)


def _compare(recorded: Occupant, seen: Sighting, shell: ProcessId | None) -> Outcome:
    if recorded.terminal_id == seen.terminal_id:
        return "new-conversation" if _sessions_differ(recorded, seen) else "same"
    if _restored(recorded, seen):
        return "restored"
    if shell is None or recorded.shell is None:
        return "unobservable"
    return "handoff" if shell == recorded.shell else "replaced"


def _sessions_differ(recorded: Occupant, seen: Sighting) -> bool:
    return (
        recorded.session is not None
        and seen.session is not None
        and recorded.session != seen.session
    )


def _restored(recorded: Occupant, seen: Sighting) -> bool:
    # a restored record without a process shows its session already, and is not live
    # (herdr-protocol.md §3.4)
    return (
        recorded.session is not None
        and recorded.session == seen.session
        and seen.live
        and seen.agent is not None
        and seen.agent == recorded.session.agent
    )


def occupant_of(seen: Sighting, shell: ProcessId | None) -> Occupant:
    """What to record about who is in the pane now."""
    return Occupant(
        terminal_id=seen.terminal_id, agent=seen.agent, session=seen.session, shell=shell
    )


def refreshed(recorded: Occupant, seen: Sighting, shell: ProcessId | None) -> Occupant:
    """The record after a judgement that stands: new terminal or conversation in, known facts kept."""
    return Occupant(
        terminal_id=seen.terminal_id,
        agent=seen.agent or recorded.agent,
        session=seen.session or recorded.session,
        shell=shell or recorded.shell,
    )
