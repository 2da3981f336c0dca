"""The layout on disk and its return: same pane ids, new terminals, sessions taken up again."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
import pytest

from coordinatord.panehost import methods_layout, requests, saved
from coordinatord.panehost.host import Host
from coordinatord.panehost.records import AgentSession
from tests.panehost.in_process import hosting

SESSION = AgentSession("herdr:codex", "codex", "id", "0aaa-1111")


async def saved_with(path: Path, *, session: AgentSession | None = None) -> dict[str, str]:
    """Save a host with a split and a label; returns its pane ids with their terminal ids."""
    async with hosting() as host:
        await methods_layout.create_workspace(host, requests.WorkspaceCreate(label="api"))
        await methods_layout.split_pane(host, requests.PaneSplit(direction="down"))
        second = host.pane("w1:p2")
        second.label = "reviewer"
        second.tokens.report({"role": "review"}, None, 0.0)
        second.agent.session, second.agent.name, second.agent.managed = session, "rev", True
        await anyio.Path(path).write_bytes(saved.taken(host))
        return {pane.pane_id: pane.terminal_id for pane in host.panes()}


async def restored(host: Host, path: Path) -> None:
    kept = await anyio.to_thread.run_sync(saved.load, path)
    assert kept is not None
    saved.restore(host, kept)


async def test_panes_come_back_with_ids_and_labels_and_without_tokens(tmp_path: Path) -> None:
    """T-12, T-17: terminal ids are new, tokens are gone."""
    path = tmp_path / "panehost.json"
    before = await saved_with(path)
    async with hosting() as host:
        host._new_terminal_id = lambda: f"new_{len(host._panes)}"
        await restored(host, path)
        assert [pane.pane_id for pane in host.panes()] == list(before)
        assert not {pane.terminal_id for pane in host.panes()} & set(before.values())
        second = host.pane("w1:p2")
        assert (second.label, second.tokens.values()) == ("reviewer", {})
        assert (second.agent.name, second.agent.present) == (None, False)
        assert second.terminal is not None
        assert host.layout.workspaces[0].new_pane_id() == "w1:p3"


async def test_a_session_is_shown_at_once_and_taken_up_later(tmp_path: Path) -> None:
    path = tmp_path / "panehost.json"
    await saved_with(path, session=SESSION)
    async with hosting(resume_delay=0.01) as host:
        await restored(host, path)
        second = host.pane("w1:p2")
        assert second.terminal is None
        assert (second.agent.name, second.agent.kind, second.agent.status) == (
            "rev",
            "codex",
            "idle",
        )
        with anyio.fail_after(10):
            while second.terminal is None:
                await anyio.lowlevel.checkpoint()
            while (
                "codex resume 0aaa-1111" not in second.terminal.screen.text("visible", 9, False)[0]
            ):
                await host.hub.next_touch(second.terminal_id).wait()


async def test_two_panes_with_one_session_take_it_up_once(tmp_path: Path) -> None:
    path = tmp_path / "panehost.json"
    await saved_with(path, session=SESSION)
    kept = await anyio.to_thread.run_sync(saved.load, path)
    assert kept is not None
    kept.panes["w1:p1"] = msgspec.structs.replace(kept.panes["w1:p1"], session=SESSION)
    async with hosting(resume_delay=60.0) as host:
        saved.restore(host, kept)
        assert [pane.terminal is None for pane in host.panes()] == [True, False]


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"version":99,"workspaces":[],"active":null,"panes":{}}', b"\xff"]
)
def test_a_file_that_cannot_be_read_is_put_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "panehost.json"
    path.write_bytes(content)
    assert saved.load(path) is None
    assert (tmp_path / "panehost.json.broken").read_bytes() == content


def test_no_file_is_no_layout(tmp_path: Path) -> None:
    assert saved.load(tmp_path / "panehost.json") is None
    assert list(tmp_path.iterdir()) == []
