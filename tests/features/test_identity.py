"""Seats and their occupants, against a host that restarts, hands over and recycles (§11, 21-27)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from coordinatord.daemon.requests import Hello
from coordinatord.errors import Refused, Unreachable
from coordinatord.features.delivery.records import Initiated
from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.launches import table as launches
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes.records import Caller, Identity
from coordinatord.features.panes.requests import BindSeat, ListPanes, WhoAmI
from coordinatord.features.panes.table import seat_or_none
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.ids import COORDINATOR, PaneId, SeatId, reviewer_of
from coordinatord.terminals.port import AgentSession
from tests.features.staff import ask, new_task, staffed, until_held
from tests.house import CALLER, FakeLink, House, living

RECLAIM = InitSeat(role="coordinator", reclaim=True)


async def refused(house: House, request: InitSeat, pane: PaneId | None) -> str:
    with pytest.raises(Refused) as refusal:
        await house.call(request, pane)
    assert refusal.value.hint
    return refusal.value.reason


async def records(house: House) -> list[tuple[object, ...]]:
    """Every row that a refusal must not change."""
    return await house.database.read(
        lambda view: [
            *view.rows("SELECT seq, kind, id FROM journal"),
            *view.rows("SELECT id, body FROM seats"),
            *view.rows("SELECT id, body FROM attempts"),
        ]
    )


async def test_ten_panes_at_once_make_one_coordinator(tmp_path: Path) -> None:
    """C-26."""
    async with living(tmp_path) as house:
        panes = [house.host.add_agent() for _ in range(10)]
        await house.until(lambda: set(panes) <= house.parts.sightings.panes.keys())
        answers: list[Initiated] = []

        async def init(pane: PaneId) -> None:
            answers.append(await house.call(InitSeat(), pane))

        async with anyio.create_task_group() as group:
            for pane in panes:
                group.start_soon(init, pane)
        roles = sorted(answer.role for answer in answers)
        assert roles == ["coordinator", *["developer"] * 9]
        seated = next(answer for answer in answers if answer.role == "coordinator")
        assert (await house.call(WhoAmI(), seated.pane)).id == COORDINATOR


async def test_an_address_that_came_back_has_no_role_until_it_reclaims(tmp_path: Path) -> None:
    """C-21: the owner is unchanged and nothing is told; then the seat is taken deliberately."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        house.host.recycle(boss)
        house.host.add_agent(boss)
        question = await ask(house, task, worker)
        await until_held(house, question, "replaced")
        answer = await house.call(InitSeat(), boss)
        assert (answer.role, answer.owed) == ("developer", [])
        known = await house.call(WhoAmI(), boss)
        assert known.role == "developer"
        assert "replaced" in (known.doubt or "")
        assert await refused(house, InitSeat(role="coordinator"), boss) == "seat-taken"
        assert house.prompts(boss) == []
        taken = await house.call(RECLAIM, boss)
        assert (taken.role, taken.claimed) == ("coordinator", True)
        assert [item.id for item in taken.owed] == [question]
        await house.rest()
        assert house.prompts(boss) == []  # it was listed in the answer of init


async def test_a_gone_coordinator_can_be_replaced_and_a_living_one_can_not(tmp_path: Path) -> None:
    """C-21, C-24."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        other = house.host.add_agent()
        await house.until(lambda: other in house.parts.sightings.panes)
        before = await records(house)
        assert await refused(house, RECLAIM, other) == "seat-taken"
        house.host.fail("look", "unreachable")
        with pytest.raises((Refused, Unreachable)):
            await house.call(RECLAIM, other)
        assert await records(house) == before
        house.host.remove_pane(boss)
        assert (await house.call(RECLAIM, other)).role == "coordinator"


async def test_a_hand_over_of_the_host_keeps_the_roles(tmp_path: Path) -> None:
    """C-22: and records the new terminals."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        before = house.host.panes[boss].terminal_id
        house.host.stop()
        house.host.start(keep_processes=True)
        await house.until(lambda: house.parts.sightings.connected)
        after = house.host.panes[boss].terminal_id
        assert after != before

        async def recorded() -> bool:
            seat = await house.database.read(seat_or_none, COORDINATOR)
            assert seat is not None
            assert seat.occupant is not None
            return (seat.occupant.terminal_id, seat.binding) == (after, 1)

        await house.until(recorded)
        answer = await house.call(InitSeat(), boss)
        assert (answer.role, answer.claimed, answer.outcome) == ("coordinator", False, "same")
        assert (await house.call(WhoAmI(), worker)).id == f"worker:{task}"


async def test_a_hand_over_moves_every_seat_of_the_pane_and_its_launch_token(
    tmp_path: Path,
) -> None:
    """C-22: an occupant may review too, and a detached process of it has its token alone."""
    async with living(tmp_path) as house:
        boss, _, task = await staffed(house)
        await house.call(BindSeat(task=task, reviewer_pane=boss), boss)
        before = house.host.panes[boss].terminal_id
        who = await house.call(WhoAmI(), boss)
        await house.database.write(launches.intend, Caller(**_facts(who)), "k", "token")
        await house.database.write(launches.opened, launches.digest("token"), boss, before)
        house.host.stop()
        house.host.start(keep_processes=True)
        await house.until(lambda: house.parts.sightings.connected)
        await house.call(SendMessage(to="coordinator", text="hello"), boss)
        for name in (COORDINATOR, reviewer_of(task)):
            seat = await house.database.read(seat_or_none, name)
            assert seat is not None
            assert seat.occupant is not None
            assert seat.occupant.terminal_id == house.host.panes[boss].terminal_id
        link = FakeLink((CALLER,))
        await house.call(Hello(client="t", version="0", token="token"), link=link)
        assert (await house.call(WhoAmI(), link=link)).proof == "token"


def _facts(who: Identity) -> dict[str, Any]:
    return {"seat": who.id, "role": who.role, "proof": who.proof}


async def test_the_same_conversation_keeps_its_role_after_a_restart(tmp_path: Path) -> None:
    """C-23: once its process is there; another conversation is somebody else."""
    async with living(tmp_path) as house:
        boss = house.host.add_agent(session="one")
        await house.until(lambda: boss in house.parts.sightings.panes)
        await house.call(InitSeat(), boss)
        house.host.stop()
        house.host.start()
        await house.until(lambda: house.parts.sightings.connected)
        house.host.resume(boss)
        await house.parts.lookout.look_around()
        answer = await house.call(InitSeat(), boss)
        assert answer.role == "coordinator"
        assert answer.outcome in ("restored", "same")  # who looked first has adopted it
        agent = house.host.agent(boss)
        agent.session = AgentSession("herdr:codex", "codex", "id", "two")
        answer = await house.call(InitSeat(), boss)
        assert (answer.role, answer.outcome) == ("coordinator", "new-conversation")


async def test_with_the_host_out_of_sight_nobody_gets_a_role(tmp_path: Path) -> None:
    """C-24: init and reclaim are refused and write nothing."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        other = house.host.add_agent()
        assert (await house.call(WhoAmI(), other)).role == "developer"
        house.host.stop()
        await house.rest()
        before = await records(house)
        for pane, request in ((boss, InitSeat()), (other, InitSeat()), (other, RECLAIM)):
            with pytest.raises(Unreachable):
                await house.call(request, pane)
        assert await records(house) == before


async def test_init_needs_a_pane_and_a_proof(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        assert await refused(house, InitSeat(), None) == "no-pane"
        claim = await house.claim_link(boss)
        with pytest.raises(Refused) as refusal:
            await house.call(InitSeat(), link=claim)
        assert refusal.value.reason == "not-proven"


async def test_a_pane_that_is_newer_than_the_last_list_is_no_operators(tmp_path: Path) -> None:
    """Nobody is called the operator before one look that is newer than the connection."""
    async with living(tmp_path) as house:
        await staffed(house)
        house.host.mute = True
        for _ in range(3):
            stranger = house.host.add_pane()
            terminal = house.host.panes[stranger].terminal_id
            assert (await house.call(WhoAmI(), stranger)).id == f"peer:{terminal}"


async def test_one_look_proves_a_person_for_the_whole_connection(tmp_path: Path) -> None:
    """Whoever is an ancestor was there before the connection came."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        link = house.link(None)
        assert (await house.call(WhoAmI(), link=link)).id == "operator"
        await new_task(house, boss)  # what was proven is proven again
        looks = len([each for each in house.host.calls if each.method == "snapshot"])
        assert (await house.call(WhoAmI(), link=link)).id == "operator"
        assert len([each for each in house.host.calls if each.method == "snapshot"]) == looks


async def test_a_pane_is_bound_to_one_task_and_never_the_coordinators(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        other = await new_task(house, boss)
        for pane in (boss, worker):
            with pytest.raises(Refused) as refusal:
                await house.call(BindSeat(task=other, worker_pane=pane), boss)
            assert refusal.value.reason == "seat-taken"
        again = await house.call(BindSeat(task=task, worker_pane=worker), boss)
        assert again.binding == 2


async def test_a_new_binding_is_told_afresh(tmp_path: Path) -> None:
    """C-11, C-25: what was tried towards an earlier worker does not count for the next one."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.call(AnswerQuestion(question=question, text="80"), boss)
        await house.until(lambda: house.prompts(worker))
        await house.rest()
        fresh = house.host.add_agent()
        await house.call(BindSeat(task=task, worker_pane=fresh), boss)
        await house.until(lambda: house.prompts(fresh))
        await house.rest()
        assert (len(house.prompts(worker)), len(house.prompts(fresh))) == (1, 1)


async def test_a_recycled_pane_gets_its_new_tasks_seat(tmp_path: Path) -> None:
    """C-25: an earlier task's worker sat at this address; that hides nobody."""
    async with living(tmp_path) as house:
        boss, worker, _ = await staffed(house)
        house.host.recycle(worker)
        house.host.add_agent(worker)
        task = (await house.call(NewTask(title="two", worker_pane=worker), boss)).id
        assert (await house.call(WhoAmI(), worker)).id == f"worker:{task}"
        assert (await house.call(InitSeat(), worker)).task == task


async def test_the_list_of_panes_shows_the_seats(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        idle = house.host.add_agent()
        await house.call(SendMessage(to=idle, text="hello"), boss)
        listed = (await house.call(ListPanes())).items
        terminal = house.host.panes[idle].terminal_id
        assert {each.pane_id: each.seat for each in listed} == {
            boss: COORDINATOR,
            worker: f"worker:{task}",
            idle: SeatId(f"peer:{terminal}"),
        }


async def test_a_claim_through_a_link_is_a_claim(tmp_path: Path) -> None:
    """Not recognized, it would make its caller a person outside every pane."""
    async with living(tmp_path) as house:
        pane = house.host.add_agent()
        for spelled in ("//run/test/panes.sock", "/run/./test/../test/panes.sock"):
            hello = Hello(client="t", version="0", pane_id=pane, terminal_socket=spelled)
            assert (await house.call(hello, link=FakeLink((CALLER,)))).proof == "claim"
