"""The table of coordination.md §2.3, row by row."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from coordinatord.features.panes.judgement import (
    RECLAIMABLE,
    STANDS,
    Gone,
    Unseen,
    judge,
    needs_shell,
    occupant_of,
    refreshed,
)
from coordinatord.features.panes.records import Outcome
from coordinatord.ids import ProcessId
from coordinatord.terminals.port import Occupant, Sighting
from tests.features.made import OTHER_SHELL, OTHER_TALK, SHELL, TALK, occupant, sighting

LATER_START = msgspec.structs.replace(SHELL, start_ticks=SHELL.start_ticks + 1000)
OTHER_BOOT = msgspec.structs.replace(SHELL, boot_id="next")

ROWS: list[tuple[str, Occupant | None, Sighting | Gone | Unseen, ProcessId | None, Outcome]] = [
    ("host silent", occupant(), Unseen(), None, "unobservable"),
    ("host silent, nothing recorded", None, Unseen(), None, "unobservable"),
    ("pane gone", occupant(), Gone(), None, "absent"),
    ("pane gone, nothing recorded", None, Gone(), None, "unrecorded"),
    ("nothing recorded", None, sighting(), SHELL, "unrecorded"),
    ("same terminal", occupant(), sighting(), None, "same"),
    ("same terminal, same talk", occupant(session=TALK), sighting(session=TALK), None, "same"),
    ("talk not seen now", occupant(session=TALK), sighting(), None, "same"),
    ("talk was not recorded", occupant(), sighting(session=TALK), None, "same"),
    (
        "another talk",
        occupant(session=TALK),
        sighting(session=OTHER_TALK),
        None,
        "new-conversation",
    ),
    ("other terminal, same shell", occupant(), sighting(terminal="term_2"), SHELL, "handoff"),
    (
        "other terminal, same talk",
        occupant(session=TALK),
        sighting(terminal="term_2", session=TALK),
        OTHER_SHELL,
        "restored",
    ),
    (
        "other terminal and shell",
        occupant(),
        sighting(terminal="term_2"),
        OTHER_SHELL,
        "replaced",
    ),
    (
        "other talk, other shell",
        occupant(session=TALK),
        sighting(terminal="term_2", session=OTHER_TALK),
        OTHER_SHELL,
        "replaced",
    ),
    ("shell not seen", occupant(), sighting(terminal="term_2"), None, "unobservable"),
    (
        "shell was not recorded",
        occupant(shell=None),
        sighting(terminal="term_2"),
        SHELL,
        "unobservable",
    ),
    (
        "restored to look at, no process yet",
        occupant(session=TALK),
        sighting(terminal="term_2", session=TALK, live=False),
        OTHER_SHELL,
        "replaced",
    ),
    (
        "the same talk under another kind of agent",
        occupant(session=TALK),
        sighting(terminal="term_2", session=TALK, agent="claude"),
        OTHER_SHELL,
        "replaced",
    ),
]


@pytest.mark.parametrize(
    ("recorded", "seen", "shell", "outcome"),
    [row[1:] for row in ROWS],
    ids=[row[0] for row in ROWS],
)
def test_every_row(
    recorded: Occupant | None,
    seen: Sighting | Gone | Unseen,
    shell: ProcessId | None,
    outcome: Outcome,
) -> None:
    """C-21 to C-24 rest on this table."""
    assert judge(recorded, seen, shell) == outcome


@pytest.mark.parametrize(
    "shell", [LATER_START, OTHER_BOOT], ids=["other start time", "other boot of the machine"]
)
def test_an_equal_pid_alone_proves_nothing(shell: ProcessId) -> None:
    """C-23: a pid is handed out again; a later start or another boot is another process."""
    assert judge(occupant(), sighting(terminal="term_2"), shell) == "replaced"


def test_an_equal_pane_address_alone_proves_nothing() -> None:
    """C-21: the address came back, with another terminal and shell in it."""
    assert judge(occupant(), sighting(terminal="term_9"), OTHER_SHELL) == "replaced"


def test_an_equal_socket_path_is_no_argument_at_all() -> None:
    """What an occupant records has no socket path in it, so it cannot prove anything."""
    fields = {*Occupant.__struct_fields__, *Sighting.__struct_fields__}
    assert [name for name in fields if "socket" in name] == []


def test_the_shell_is_only_probed_where_it_decides() -> None:
    """The ordinary path costs no probe (§2.3)."""
    for _, recorded, seen, _, _ in ROWS:
        answers = {judge(recorded, seen, shell) for shell in (None, SHELL, OTHER_SHELL)}
        assert needs_shell(recorded, seen) or len(answers) == 1


def test_what_stands_can_not_be_reclaimed() -> None:
    assert not STANDS & RECLAIMABLE
    assert {"same", "new-conversation", "handoff", "restored"} == STANDS
    assert {"replaced", "absent"} == RECLAIMABLE


def test_a_refreshed_record_takes_what_is_seen_and_keeps_what_is_not() -> None:
    """C-22, C-23: new terminal, shell or conversation in; what is not shown now stays."""
    recorded = occupant(session=TALK)
    seen = sighting(terminal="term_2", agent=None)
    assert refreshed(recorded, seen, None) == Occupant(
        terminal_id="term_2", agent="codex", session=TALK, shell=SHELL
    )
    seen = sighting(terminal="term_2", session=OTHER_TALK, agent="claude")
    assert refreshed(recorded, seen, OTHER_SHELL) == occupant_of(seen, OTHER_SHELL)


def test_a_refreshed_record_is_judged_the_same_afterwards() -> None:
    """Adopting a judgement that stands settles it: the next look is `same`."""
    shells, talks = (SHELL, OTHER_SHELL, None), (TALK, OTHER_TALK, None)
    for shell, before, after, terminal in itertools.product(
        shells, talks, talks, ("term_1", "term_2")
    ):
        recorded, seen = occupant(session=before), sighting(terminal=terminal, session=after)
        if judge(recorded, seen, shell) in STANDS:
            assert judge(refreshed(recorded, seen, shell), seen, shell) == "same"
