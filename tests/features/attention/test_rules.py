"""When somebody should look, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.features.attention import excerpt
from coordinatord.features.attention.records import Kind
from coordinatord.features.attention.rules import Verdict, Watched, decide
from coordinatord.features.panes.judgement import Gone, Unseen
from coordinatord.ids import PaneId
from coordinatord.terminals.port import Sighting, Status


def seen(status: Status = "idle", agent: str | None = "codex", live: bool = True) -> Sighting:
    return Sighting(
        pane=PaneId("w1:p1"), terminal_id="t", workspace_id="w1", tab_id="w1:t1",
        status=status, agent=agent, live=live,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("watched", "kind"),
    [
        (Watched(seen=seen("blocked"), had_agent=True), "blocked"),
        (Watched(seen=seen("blocked"), had_agent=True, owed=True), "blocked"),
        (Watched(seen=seen("idle"), had_agent=True), "idle-without-report"),
        (Watched(seen=seen("done"), had_agent=True), "idle-without-report"),
        (Watched(seen=seen("idle"), had_agent=True, owed=True), None),
        (Watched(seen=seen("idle"), had_agent=True, spoke=True), None),
        (Watched(seen=seen("idle"), had_agent=True, just_told=True), None),
        (Watched(seen=seen("working"), had_agent=True), None),
        (Watched(seen=seen("unknown"), had_agent=True), None),
        (Watched(seen=seen("idle", live=False), had_agent=True), None),
        (Watched(seen=seen("unknown", agent=None), had_agent=True), "exited"),
        (Watched(seen=seen("unknown", agent=None), had_agent=False), None),
        (Watched(seen=Gone(), had_agent=True, owed=True), "closed"),
        (Watched(seen=Unseen(), had_agent=True), None),
    ],
)
def test_what_a_look_says(watched: Watched, kind: Kind | None) -> None:
    """C-28, C-30: what is owed silences only the idle alert; a pane out of sight says nothing."""
    assert decide(watched).create == kind


@pytest.mark.parametrize("kind", ["blocked", "idle-without-report", "exited", "closed"])
def test_a_second_one_of_a_kind_is_no_news(kind: Kind) -> None:
    """C-28: a duplicate edge adds nothing."""
    scenes: dict[Kind, Watched] = {
        "blocked": Watched(seen=seen("blocked"), had_agent=True, open=frozenset({"blocked"})),
        "idle-without-report": Watched(
            seen=seen(), had_agent=True, open=frozenset({"idle-without-report"})
        ),
        "exited": Watched(seen=seen(agent=None), had_agent=True, open=frozenset({"exited"})),
        "closed": Watched(seen=Gone(), had_agent=True, open=frozenset({"closed"})),
    }
    assert decide(scenes[kind]) == Verdict()


def test_what_closes_an_alert() -> None:
    """C-29: working closes both passing kinds, idle only the dialog; exited and closed stay."""
    every: frozenset[Kind] = frozenset({"blocked", "idle-without-report", "exited", "closed"})
    assert dict(decide(Watched(seen=seen("working"), had_agent=True, open=every)).close) == {
        "blocked": "resumed",
        "idle-without-report": "resumed",
    }
    assert dict(decide(Watched(seen=seen("idle"), had_agent=True, open=every)).close) == {
        "blocked": "cleared"
    }
    assert decide(Watched(seen=seen("blocked"), had_agent=True, open=every)).close == ()


SECRETS = [
    "export API_KEY=abcd1234efgh",
    "Authorization: Bearer abcdef0123456789",
    'password = "hunter2 and more"',
    "postgres://me:secret@db/x",
    "sk-ant-REDACTED",
    "ghp_0123456789abcdefghij",
    "AKIAABCDEFGHIJKLMNOP",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("line", SECRETS)
def test_what_looks_like_a_credential_is_not_kept(line: str) -> None:
    """An excerpt is redacted when it is written, and says how often."""
    text, count = excerpt.cut(f"before\n{line}\nafter")
    assert count == 1
    assert text.startswith("before\n")
    assert text.endswith("\nafter")
    for secret in (
        "abcd1234",
        "abcdef01",
        "hunter2",
        "me:secret",
        "api03",
        "ghp_0",
        "AKIAA",
        "MIIE",
    ):
        assert secret not in text


@given(st.text(max_size=9000))
def test_an_excerpt_is_bounded_and_printable(text: str) -> None:
    """C-28: at most 40 lines and 4,000 characters, whatever the screen shows."""
    kept, _ = excerpt.cut(text)
    assert len(kept) <= excerpt.CHARACTERS
    assert len(kept.split("\n")) <= excerpt.LINES
    assert all(sign.isprintable() or sign == "\n" for sign in kept)
