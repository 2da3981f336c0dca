"""`coordctl send --inline`: what is typed, its receipt, its end; withdrawal, expiry, the queue's bound."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from coordinatord.daemon.settings import Delivery, Settings
from coordinatord.errors import Refused
from coordinatord.features.delivery.requests import InitSeat, NoticeSeat
from coordinatord.features.messages.records import Message
from coordinatord.features.messages.requests import AckMessage, SendMessage, WithdrawMessage
from coordinatord.features.views.requests import ExplainRecord, ReadInbox, ReadStatus, ShowRecord
from coordinatord.ids import PaneId
from tests.features.staff import ask, next_idle, staffed, until_held, why
from tests.house import House, living


async def told(house: House, message: Message) -> dict[str, object]:
    """The message's state once it was delivered."""

    async def delivered() -> bool:
        record = await house.call(ShowRecord(id=message.id))
        return bool(record["state"]["kind"] == "delivered")

    await house.until(delivered)
    state = (await house.call(ShowRecord(id=message.id)))["state"]
    assert isinstance(state, dict)
    return state


async def send(house: House, to: str, text: str, **facts: object) -> Message:
    return await house.call(SendMessage(to=to, text=text, inline=True, **facts))  # type: ignore[arg-type]


def letter(path: str) -> tuple[str, int]:
    """What the file says, and who may read it."""
    return Path(path).read_text(encoding="utf-8"), Path(path).stat().st_mode & 0o777


async def agent_in(house: House) -> PaneId:
    """An agent without a role, to which nothing else is owed."""
    pane = house.host.add_agent()
    await house.until(lambda: pane in house.parts.sightings.panes)
    return pane


async def test_the_text_is_typed_once_and_the_receipt_holds_its_hash(tmp_path: Path) -> None:
    """interfaces.md, Typed text: a prefix with the id, the body, an end mark."""
    async with living(tmp_path) as house:
        boss = await agent_in(house)
        message = await send(house, boss, "please also run the linter")
        state = await told(house, message)
        assert house.prompts(boss) == [f"[msg {message.id}] please also run the linter [/msg]"]
        assert state["sha256"] == hashlib.sha256(house.prompts(boss)[0].encode()).hexdigest()
        assert (await house.call(ReadInbox(seat=message.to))).items == []
        await next_idle(house, boss)
        assert len(house.prompts(boss)) == 1


async def test_controls_are_taken_out_and_named_and_cannot_end_the_paste(tmp_path: Path) -> None:
    """G-10: end-of-paste, ESC, NUL, C1; line ends and tabs become plain."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        body = "a\r\nb\tc\x1b[201~\rrm -rf x\x00\x85"
        state = await told(house, await send(house, boss, body))
        (typed,) = house.prompts(boss)
        assert "\x1b" not in typed
        assert "a\nb    c\nrm -rf x" in typed
        assert state["removed"] == ["paste-end", "CR", "NUL", "U+0085"]


@pytest.mark.parametrize("text", ["", " \r\n ", "\x00\x1b"])
async def test_what_has_no_text_is_refused(tmp_path: Path, text: str) -> None:
    """G-10: empty ones are refused at once; nothing is recorded."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        with pytest.raises(Refused) as refusal:
            await send(house, boss, text)
        assert refusal.value.reason == "empty"
        await house.rest()
        assert house.prompts(boss) == []


@pytest.mark.parametrize("text", ["/help", "!ls", "# note", "@README", "-rf", "see @README", "a\\"])
async def test_no_text_becomes_a_command_a_completion_or_a_continuation(
    tmp_path: Path, text: str
) -> None:
    """agents.md §1.1: the input matrix; the head and the end mark make every body plain text."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        message = await send(house, boss, text)
        await told(house, message)
        assert house.prompts(boss) == [f"[msg {message.id}] {text} [/msg]"]


async def test_a_long_text_goes_by_a_file_that_is_named(tmp_path: Path) -> None:
    """Over 8 KiB the typed line names a file of ours, whose text is the cleaned body."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        body = "é" * 5000 + "\x00"
        state = await told(house, await send(house, boss, body))
        (typed,) = house.prompts(boss)
        assert isinstance(state["file"], str)
        assert state["file"] in typed
        assert typed.startswith("[msg m-")
        assert typed.endswith("[/msg]")
        assert letter(state["file"]) == ("é" * 5000, 0o600)
        assert state["removed"] == ["NUL"]


async def test_a_folder_that_leads_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    """A hostile `.coordinatord/` of a cloned repository: nothing is typed, nothing is written there."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "messages").symlink_to(tmp_path / "elsewhere")
    async with living(tmp_path) as house:
        boss = await agent_in(house)
        message = await send(house, boss, "x" * 9000)
        await until_held(house, message.id, "stalled")
        assert house.prompts(boss) == []
        assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_kind_that_wraps_several_lines_gets_them_by_file(tmp_path: Path) -> None:
    """agents.md §1.1: Claude Code wraps what has several lines."""
    async with living(tmp_path) as house:
        pane = house.host.add_agent(kind="claude")
        rule = "─" * 40
        house.host.panes[pane].shown = f"{rule}\n❯\xa0\x1b[7m \x1b[0m\n{rule}\n  ? for shortcuts\n"
        await house.until(lambda: pane in house.parts.sightings.panes)
        await house.call(SendMessage(to=pane, text="one\ntwo", inline=True))
        await house.until(lambda: house.prompts(pane))
        assert "\n" not in house.prompts(pane)[0]
        assert "messages/m-" in house.prompts(pane)[0]


async def test_a_worker_may_not_type_to_others(tmp_path: Path) -> None:
    """Inline is for the operator and the coordinator; announced by id for everybody."""
    async with living(tmp_path) as house:
        boss, worker, _ = await staffed(house)
        with pytest.raises(Refused) as refusal:
            await house.call(SendMessage(to="coordinator", text="x", inline=True), worker)
        assert refusal.value.reason == "not-allowed"
        await house.call(SendMessage(to=worker, text="x", inline=True), boss)
        await house.until(lambda: house.prompts(worker))


async def test_an_inline_message_goes_alone_beside_a_notice(tmp_path: Path) -> None:
    """A text of its own is an attempt of its own: nothing is coalesced with it, nothing is lost."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        message = await send(house, boss, "hello")
        house.host.set_status(worker, "working")  # else it is noticed as idle without a report
        await until_held(house, message.id, "busy")
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        await house.rest()
        await next_idle(house, boss)
        first, second = house.prompts(boss)
        assert question in first
        assert message.id not in first
        assert second == f"[msg {message.id}] hello [/msg]"


async def test_init_lists_what_is_announced_and_leaves_inline_texts_to_be_typed(
    tmp_path: Path,
) -> None:
    """`init` shows no texts: an inline message that it counted as told would be lost."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        message = await send(house, boss, "hello")
        listed = await house.call(InitSeat(), boss)
        assert [item.id for item in listed.owed] == [question]
        house.host.set_status(boss, "idle")
        await house.until(lambda: house.prompts(boss))
        assert house.prompts(boss) == [f"[msg {message.id}] hello [/msg]"]


async def test_what_may_have_been_typed_stays_visible_and_out_of_the_count(tmp_path: Path) -> None:
    """C-6 for a text of its own: uncertain, not repeated by a machine, repeated once when asked."""
    settings = Settings(delivery=Delivery(queue_limit=1))
    async with living(tmp_path, settings=settings) as house:
        boss = await agent_in(house)
        house.host.fail("prompt", "uncertain-lost")
        message = await send(house, boss, "hello")
        await until_held(house, message.id, "uncertain")
        await next_idle(house, boss)
        assert house.prompts(boss) == []
        inbox = await house.call(ReadInbox(seat=message.to))
        assert [item.id for item in inbox.items] == [message.id]
        assert (await house.call(ReadStatus())).owed == 0
        other = await send(house, boss, "next")
        await told(house, other)
        await next_idle(house, boss)
        await house.call(NoticeSeat(seat=message.to))
        await told(house, message)
        assert len(house.prompts(boss)) == 2


async def test_a_message_is_withdrawn_before_it_is_typed_and_not_after(tmp_path: Path) -> None:
    """Withdrawal: its sender and whoever coordinates, as long as it is not too late."""
    async with living(tmp_path) as house:
        boss, worker, _ = await staffed(house, boss_status="working")
        house.host.set_status(worker, "working")
        message = await send(house, boss, "hello")
        with pytest.raises(Refused) as refusal:
            await house.call(WithdrawMessage(message=message.id), worker)
        assert refusal.value.reason == "not-allowed"
        taken = await house.call(WithdrawMessage(message=message.id))
        assert taken.state.__struct_config__.tag == "withdrawn"
        await next_idle(house, boss)
        assert house.prompts(boss) == []
        other = await send(house, boss, "again")
        await told(house, other)
        with pytest.raises(Refused) as late:
            await house.call(WithdrawMessage(message=other.id))
        assert late.value.reason == "wrong-state"


async def test_the_sender_is_told_that_its_message_expired(tmp_path: Path) -> None:
    """An expiry is owed to the sender until that one says that it knows."""
    async with living(tmp_path) as house:
        boss, worker, _ = await staffed(house, boss_status="working")
        sent = await house.call(SendMessage(to=boss, text="soon", expires_s=3), worker)
        await house.until(lambda: house.prompts(worker))
        assert f"message {sent.id} expired" in house.prompts(worker)[0]
        await next_idle(house, boss)
        assert not [text for text in house.prompts(boss) if sent.id in text]
        assert [item.kind for item in (await house.call(ReadInbox(), worker)).items] == ["expiry"]
        await house.call(AckMessage(message=sent.id), worker)
        assert (await house.call(ReadInbox(), worker)).items == []


async def test_a_full_queue_is_refused_with_a_reason(tmp_path: Path) -> None:
    """Queues are bounded: what is over the limit is refused, nothing that was accepted is dropped."""
    settings = Settings(delivery=Delivery(queue_limit=2))
    async with living(tmp_path, settings=settings) as house:
        boss, _, _ = await staffed(house, boss_status="working")
        kept = [await send(house, boss, str(n)) for n in range(2)]
        with pytest.raises(Refused) as refusal:
            await send(house, boss, "one too many")
        assert refusal.value.reason == "queue-full"
        for number, message in enumerate(kept):
            await next_idle(house, boss)
            await told(house, message)
            assert len(house.prompts(boss)) == number + 1


async def test_why_tells_the_receipt(tmp_path: Path) -> None:
    """One sentence; with more asked for, the pane as it was seen last."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        message = await send(house, boss, "hello")
        await told(house, message)
        explained = await why(house, message.id)
        assert "delivered" in explained.sentence
        assert explained.evidence is None
        whole = await house.call(ExplainRecord(id=message.id, verbose=True))
        assert whole.evidence is not None
        assert whole.evidence.seen is not None
        assert whole.evidence.seen.pane == boss
        (attempt,) = explained.attempts
        assert [step.stage for step in attempt.trail][:2] == ["claimed", "typed"]
        assert attempt.sha256 == hashlib.sha256(house.prompts(PaneId(boss))[0].encode()).hexdigest()
