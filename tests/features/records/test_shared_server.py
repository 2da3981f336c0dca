"""A background server of an agent works for several panes: nothing below it proves anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.features.panes.proof import SHARED_SERVER, Evidence, caller_of, place
from coordinatord.features.panes.records import Seat
from coordinatord.features.panes.requests import WhoAmI
from coordinatord.features.panes.table import SEATS
from coordinatord.features.questions.requests import AnswerQuestion, AskQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.ids import PaneId, ProcessId
from coordinatord.kinds import is_shared_server
from coordinatord.terminals.port import AgentSession
from tests.features.made import PANE, SHELL, seat, sighting
from tests.features.staff import ask, staffed
from tests.house import KINDS, FakeLink, House, living

SERVER = ProcessId("boot", 777, 7)


@pytest.mark.parametrize(
    "argv",
    [
        ("codex", "app-server"),
        ("/usr/bin/codex", "app-server", "--listen", "unix:///x"),
        ("node", "/opt/lib/@openai/codex/bin/codex.js", "app-server"),
    ],
)
def test_it_is_known_by_its_command_line(argv: tuple[str, ...]) -> None:
    assert is_shared_server(KINDS, argv)


@pytest.mark.parametrize(
    "argv", [(), ("codex",), ("codex", "app-servers"), ("vim", "codex", "x", "y", "app-server")]
)
def test_others_are_not(argv: tuple[str, ...]) -> None:
    assert not is_shared_server(KINDS, argv)


@pytest.mark.parametrize(
    "evidence",
    [
        {"token_terminal": "term_1"},
        {"ancestry": (SERVER, SHELL)},
        {"claimed_pane": PANE},
    ],
)
def test_token_ancestry_and_environment_prove_nothing_below_it(evidence: dict[str, object]) -> None:
    """agents.md §4.3: the server was started in one pane and works for another."""
    below = Evidence(shared_server=True, **evidence)  # type: ignore[arg-type]
    placed = place(
        below,
        {PANE: sighting()},
        {SHELL: PANE},
    )
    assert placed is not None
    assert placed.proof == "claim"
    found = caller_of(placed, [seat()], {"term_1": SHELL}.get, below)
    assert (found.proof, found.doubt, found.proven) == ("claim", SHARED_SERVER, False)


def test_without_any_pane_it_is_not_the_operator() -> None:
    found = caller_of(None, [], {}.get, Evidence(ancestry=(SERVER,), shared_server=True))
    assert (found.seat, found.proof) == ("pane:unknown", "claim")


def below_server(house: House, pane: PaneId | None) -> FakeLink:
    """A caller that a shared server started; the server is a child of the pane's shell."""
    shells = () if pane is None else (house.host.panes[pane].shell,)
    link = FakeLink((ProcessId("boot", 999_999, 1), SERVER, *shells))
    shape = ((), ("codex", "app-server"), *(() for _ in shells))
    link.peer.__dict__["arguments"] = tuple(shape)
    return link


async def test_it_may_read_and_not_act(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        for pane in (boss, None):
            link = below_server(house, pane)
            assert (await house.call(WhoAmI(), link=link)).proof == "claim"
            with pytest.raises(Refused) as refusal:
                await house.call(AnswerQuestion(question=question, text="80"), link=link)
            assert refusal.value.reason == "not-proven"
            assert "background server" in str(refusal.value.hint)


async def test_a_pane_inside_of_what_a_server_started_is_proven(tmp_path: Path) -> None:
    """Above the pane's shell the server is an ancestor of the terminal host: that is no matter."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        link = FakeLink((ProcessId("boot", 999_999, 1), house.host.panes[boss].shell, SERVER))
        link.peer.__dict__["arguments"] = ((), (), ("codex", "app-server"))
        assert (await house.call(WhoAmI(), link=link)).proof == "ancestry"


async def test_what_a_proof_has_shown_is_recorded_with_the_next_act(tmp_path: Path) -> None:
    """§1.3: a conversation that began after the seat was taken is what a restart restores."""

    async def recorded(house: House, name: str) -> Seat:
        found = await house.database.read(SEATS.get, name)
        assert found is not None
        return found

    async with living(tmp_path, run=False) as house:
        worker = house.host.add_agent()
        await house.parts.lookout.look_around()
        task = (await house.call(NewTask(title="t", worker_pane=worker))).id
        name = f"worker:{task}"
        before = await recorded(house, name)
        session = AgentSession("herdr:codex", "codex", "id", "later")
        house.host.agent(worker).session = session
        await house.parts.lookout.look_around()
        assert (await house.call(WhoAmI(), worker)).id == name
        assert (await recorded(house, name)).occupant == before.occupant
        await house.call(AskQuestion(task=task, text="Which port?"), worker)
        after = await recorded(house, name)
        assert after.occupant is not None
        assert after.occupant.session == session
        assert after.binding == before.binding


async def test_a_shell_that_changed_unsettles_who_was_proven_by_the_old_one(tmp_path: Path) -> None:
    """A proof is kept for a connection until the pane's shell changes."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        link = house.link(boss)
        assert (await house.call(WhoAmI(), link=link)).id == "coordinator"
        terminal = house.host.panes[boss].terminal_id
        house.parts.sightings.learn_shell(terminal, ProcessId("boot", 4242, 1))
        assert (await house.call(WhoAmI(), link=link)).id != "coordinator"
