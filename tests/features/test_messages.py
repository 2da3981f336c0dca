"""Messages between seats (interfaces.md, Messages)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from coordinatord.daemon.settings import Settings
from coordinatord.daemon.sweep import _expire
from coordinatord.errors import PaneMissing, Refused
from coordinatord.features.attention.requests import ListAttention, SeeAttention
from coordinatord.features.messages.requests import AckMessage, SendMessage
from coordinatord.features.messages.table import MESSAGES
from coordinatord.features.panes.requests import BindSeat
from coordinatord.features.views.requests import ReadInbox, ShowRecord
from coordinatord.ids import PaneId
from tests.features.staff import new_task, next_idle, staffed, until_held, why
from tests.house import House, living


async def refused(house: House, request: SendMessage | AckMessage, pane: PaneId | None) -> str:
    with pytest.raises(Refused) as refusal:
        await house.call(request, pane)
    assert refusal.value.reason == "queue-full" or refusal.value.hint or "expired" in str(refusal)
    return refusal.value.reason


async def inbox(house: House, pane: PaneId | None) -> list[str]:
    return [item.id for item in (await house.call(ReadInbox(), pane)).items]


async def told_of(house: House, pane: PaneId, record: str) -> bool:
    """Did a notice name it? Alerts about idle workers come between: they are dealt with meanwhile."""
    for alert in (await house.call(ListAttention())).items:
        await house.call(SeeAttention(alert=alert.id))
    house.host.set_status(pane, "idle")
    return any(record in notice for notice in house.prompts(pane))


async def test_a_message_is_announced_by_id_and_owed_until_it_is_acknowledged(
    tmp_path: Path,
) -> None:
    """Between every kind of seat: coordinator, worker, peer, and by the operator."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        peer = house.host.add_agent()
        await house.until(lambda: peer in house.parts.sightings.panes)
        seats = {boss: "coordinator", worker: f"worker:{task}", peer: peer}
        for sender, receiver in (
            (worker, boss),
            (boss, worker),
            (boss, peer),
            (peer, boss),
            (None, worker),
        ):
            sent = await house.call(SendMessage(to=seats[receiver], text="my secret"), sender)
            await house.until(lambda r=receiver, s=sent: told_of(house, r, s.id))
            assert "secret" not in "".join(house.prompts(receiver))
            assert sent.id in await inbox(house, receiver)
            shown = await house.call(ShowRecord(id=sent.id), receiver)
            assert shown["text"] == "my secret"
            done = await house.call(AckMessage(message=sent.id), receiver)
            assert done == await house.call(AckMessage(message=sent.id), receiver)
            assert sent.id not in await inbox(house, receiver)
            assert (await why(house, sent.id)).state == "acknowledged"
            await next_idle(house, receiver)
            assert sum(sent.id in notice for notice in house.prompts(receiver)) == 1


async def test_only_the_recipient_or_the_operator_acknowledges(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, _, task = await staffed(house)
        sent = await house.call(SendMessage(to=f"worker:{task}", text="hello"), boss)
        assert await refused(house, AckMessage(message=sent.id), boss) == "not-allowed"
        assert (await house.call(AckMessage(message=sent.id))).state.by == "operator"  # type: ignore[union-attr]


async def test_a_pane_keeps_one_seat_for_its_occupant(tmp_path: Path) -> None:
    """Addressed by pane or by terminal it is the same peer; a new occupant is another one."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        pane = house.host.add_agent(status="working")
        terminal = house.host.panes[pane].terminal_id
        first = await house.call(SendMessage(to=pane, text="one"), boss)
        second = await house.call(SendMessage(to=f"peer:{terminal}", text="two"), boss)
        assert first.to == second.to == f"peer:{terminal}"
        house.host.recycle(pane)
        house.host.add_agent(pane)
        third = await house.call(SendMessage(to=pane, text="three"), boss)
        assert third.to == f"peer:{house.host.panes[pane].terminal_id}"
        assert third.to != first.to
        await until_held(house, first.id, "replaced")
        await house.until(lambda: house.prompts(pane))
        assert third.id in house.prompts(pane)[-1]
        assert first.id not in house.prompts(pane)[-1]


async def test_a_peer_that_becomes_a_worker_still_gets_and_acknowledges_its_messages(
    tmp_path: Path,
) -> None:
    """The messages of a pane are its occupant's, whatever seat it has got since."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        pane = house.host.add_agent(status="working")
        sent = await house.call(SendMessage(to=pane, text="one"), boss)
        task = await new_task(house, boss)
        await house.call(BindSeat(task=task, worker_pane=pane), boss)
        house.host.set_status(pane, "idle")
        await house.until(lambda: house.prompts(pane))
        assert await inbox(house, pane) == [sent.id]
        await house.call(AckMessage(message=sent.id), pane)
        assert await inbox(house, pane) == []


async def test_nobody_is_told_what_is_past_its_time(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        house.host.set_status(worker, "working")
        request = SendMessage(to=f"worker:{task}", text="now or never", expires_s=2)
        sent = await house.call(request, boss)
        await until_held(house, sent.id, "busy")

        async def over() -> bool:
            return await inbox(house, worker) == []

        await house.until(over)
        assert await refused(house, AckMessage(message=sent.id), worker) == "wrong-state"
        house.host.set_status(worker, "idle")
        await house.rest()
        assert house.prompts(worker) == []
        await house.database.write(_expire)
        assert (await house.call(ShowRecord(id=sent.id)))["state"]["kind"] == "expired"
        assert await refused(house, AckMessage(message=sent.id), worker) == "wrong-state"


async def test_a_full_queue_takes_no_more_until_something_is_done_with(tmp_path: Path) -> None:
    settings = Settings(backstop_s=15)
    delivery = msgspec.structs.replace(settings.delivery, queue_limit=2)
    settings = msgspec.structs.replace(settings, delivery=delivery)
    async with living(tmp_path, settings=settings) as house:
        boss, worker, task = await staffed(house)
        house.host.set_status(worker, "working")
        to = f"worker:{task}"
        first = await house.call(SendMessage(to=to, text="one"), boss)
        await house.call(SendMessage(to=to, text="two", expires_s=1), boss)
        assert await refused(house, SendMessage(to=to, text="three"), boss) == "queue-full"
        await house.call(SendMessage(to="coordinator", text="another seat"), worker)

        async def expired() -> bool:
            return await inbox(house, worker) == [first.id]

        await house.until(expired)
        await house.call(SendMessage(to=to, text="three"), boss)
        assert await refused(house, SendMessage(to=to, text="four"), boss) == "queue-full"
        await house.call(AckMessage(message=first.id), worker)
        await house.call(SendMessage(to=to, text="four"), boss)


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("operator", "unknown-seat"),
        ("nobody", "unknown-seat"),
        ("peer:term_ffff", "unknown-seat"),
        ("worker:t-00000000", "unknown-id"),
        ("worker:one", "bad-id"),
        ("pane 1", "unknown-seat"),
        ("", "unknown-seat"),
    ],
)
async def test_nobody_is_addressed_who_is_not_there(tmp_path: Path, to: str, reason: str) -> None:
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        assert await refused(house, SendMessage(to=to, text="hello"), boss) == reason
        assert (await house.database.read(MESSAGES.select)).items == []


async def test_a_pane_without_an_agent_can_not_be_told(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        shell = house.host.add_pane()
        assert await refused(house, SendMessage(to=shell, text="hello"), boss) == "not-agent"
        with pytest.raises(PaneMissing):
            await house.call(SendMessage(to="w9:p9", text="hello"), boss)
