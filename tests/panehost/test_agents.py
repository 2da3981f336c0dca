"""The agent of a pane: what process, hooks and screen say, and what follows. Time is a number."""

from __future__ import annotations

import pytest

from coordinatord.panehost.agents import Agent, Change, Counter
from coordinatord.panehost.records import AgentSession
from coordinatord.panehost.reports import Report, session_of


def agent() -> Agent:
    return Agent(Counter(), floor=3.0)


def ready(name: str | None = "rev") -> Agent:
    """A codex that was started at 0 and became ready at 3."""
    one = agent()
    if name is not None:
        one.begin(name, "codex", 0.0, 30.0)
    one.detect("codex", 0.1, shows=False)
    one.see(None, 3.2, shows=False)
    return one


def codex(value: str) -> AgentSession:
    return AgentSession("herdr:codex", "codex", "id", value)


def test_for_three_seconds_the_status_is_unknown_whatever_the_screen_shows() -> None:
    one = agent()
    assert Change.DETECTED in one.detect("codex", 1.0, shows=True)
    one.see("working", 3.9, shows=True)
    assert one.status == "unknown"
    one.see("working", 4.0, shows=True)
    assert one.status == "working"


def test_a_start_is_pending_until_idle_after_its_floor() -> None:
    one = agent()
    one.begin("rev", "codex", 0.0, 30.0)
    one.detect("codex", 0.1, shows=False)
    one.see(None, 2.9, shows=False)
    assert one.launch is not None
    one.see(None, 3.2, shows=False)
    assert one.launch is None
    assert one.ready
    assert one.status == "idle"


def test_a_dialog_at_the_start_keeps_it_pending() -> None:
    one = agent()
    one.begin("rev", "codex", 0.0, 30.0)
    one.detect("codex", 0.1, shows=False)
    one.see("blocked", 3.2, shows=False)
    assert one.launch is not None
    one.see("idle", 5.0, shows=False)
    assert one.ready


def test_another_kind_than_the_started_one_drops_the_name() -> None:
    one = agent()
    one.begin("rev", "codex", 0.0, 30.0)
    assert Change.RECORD in one.detect("claude", 0.5, shows=False)
    assert one.name is None


def test_only_a_look_by_agent_get_drops_a_start_that_ran_out_of_time() -> None:
    one = agent()
    one.begin("ghost", "claude", 0.0, 3.5)
    one.detect(None, 9.0, shows=False)
    assert one.name == "ghost"
    assert Change.RECORD in one.advance(9.0, shows=False)
    assert one.name is None


def test_work_that_ends_unseen_is_done_and_shown_it_is_idle() -> None:
    """T-14: done and idle mean the same settled state."""
    one = ready()
    one.see("working", 4.0, shows=False)
    for look in (5.0, 5.1, 5.2):
        one.see(None, look, shows=False)
    assert one.status == "done"
    assert one.show() == Change.STATUS
    assert one.status == "idle"


def test_working_becomes_idle_only_after_looks_that_agree() -> None:
    one = ready()
    one.see("working", 4.0, shows=True)
    one.see(None, 5.0, shows=True)
    one.see(None, 5.1, shows=True)
    assert one.status == "working"
    assert one.wants_another_look()
    one.see(None, 5.2, shows=True)
    assert one.status == "idle"


def test_a_hook_of_another_source_overrides_the_screen_but_no_visible_dialog() -> None:
    one = ready()
    one.report(Report("demo:hook", "codex", "working"), None, 4.0, shows=True)
    assert one.status == "working"
    one.see("blocked", 4.1, shows=True)
    assert one.status == "blocked"


def test_a_full_authority_switches_the_screen_off() -> None:
    one = agent()
    one.detect("pi", 0.0, shows=True)
    one.report(Report("herdr:pi", "pi", "working"), None, 0.2, shows=True)
    assert one.screen_skipped
    one.see("blocked", 0.3, shows=True)
    assert one.status == "working"


def test_the_state_of_a_screen_only_source_is_dropped() -> None:
    """T-15: ``ok`` does not mean applied."""
    one = ready()
    assert not one.report(Report("herdr:codex", "codex", "working"), None, 4.0, shows=True)
    assert one.status == "idle"


def test_a_report_of_another_kind_than_the_process_is_ignored() -> None:
    one = ready()
    one.report(Report("demo", "claude", "working"), None, 4.0, shows=True)
    assert one.kind == "codex"
    assert one.status == "idle"


def test_a_custom_kind_makes_an_agent_of_a_shell_until_it_is_released() -> None:
    one = agent()
    assert Change.DETECTED in one.report(
        Report("demo", "docs-bot", "working"), None, 0.0, shows=True
    )
    assert (one.kind, one.status, one.detected) == ("docs-bot", "working", None)
    assert Change.RELEASED in one.release("demo", None, 1.0, shows=True)
    assert (one.kind, one.status) == (None, "unknown")


def test_numbers_must_grow_and_may_not_be_left_out_later() -> None:
    """T-16: restarting seq, or mixing with and without, is silently ignored."""
    one = ready()
    one.report(Report("demo", "codex", "working"), 5, 4.0, shows=True)
    one.report(Report("demo", "codex", "blocked"), 5, 4.0, shows=True)
    one.report(Report("demo", "codex", "blocked"), None, 4.0, shows=True)
    assert one.status == "working"


def test_a_session_changes_only_by_a_start_that_may_change_it() -> None:
    one = ready()
    one.converse(codex("a"), "startup", 1000)
    for value, start, seq in (("b", None, 1001), ("c", "clear", 900), ("d", "clear", None)):
        one.converse(codex(value), start, seq)
    one.converse(AgentSession("demo:hook", "codex", "id", "e"), "clear", None)
    assert one.session == codex("a")
    one.converse(codex("f"), "clear", 1002)
    assert one.session == codex("f")
    assert one.name == "rev"


def test_a_name_given_by_hand_does_not_survive_another_session() -> None:
    one = ready()
    one.converse(codex("a"), "startup", 1)
    one.rename("reviewer")
    assert one.ready
    one.rename(None)
    one.rename("rev")
    assert not one.ready
    assert Change.RECORD in one.converse(codex("b"), "clear", 2)
    assert one.name is None


def test_an_exit_clears_name_session_and_status_and_keeps_the_count_going() -> None:
    one = ready()
    one.converse(codex("a"), "startup", 1)
    before = one.state_change_seq
    change = one.detect(None, 9.0, shows=True)
    assert Change.RELEASED in change
    assert Change.RECORD in change
    assert (one.kind, one.name, one.session, one.status) == (None, None, None, "unknown")
    assert one.state_change_seq == before + 1


def test_a_restored_agent_looks_ready_before_it_has_a_process() -> None:
    one = agent()
    one.restore(codex("a"), "rev")
    assert (one.kind, one.status, one.ready, one.detected) == ("codex", "idle", True, None)
    assert not one.detect("codex", 5.0, shows=True) & Change.DETECTED
    assert (one.status, one.state_change_seq) == ("unknown", 1)


@pytest.mark.parametrize(
    ("session_id", "path", "kind"),
    [("abc", None, "id"), (None, "/x/y", "path"), ("x" * 513, None, None), (None, "rel", None),
     ("a\nb", None, None), (None, None, None)],
)  # fmt: skip
def test_only_short_clean_sessions_are_kept(
    session_id: str | None, path: str | None, kind: str | None
) -> None:
    session = session_of("herdr:pi", "pi", session_id, path)
    assert (session.kind if session else None) == kind
