"""From *typed* to *seen* and *closed*, and what settles an uncertain attempt."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from coordinatord.features.delivery.evidence import standing, turn_started
from coordinatord.features.delivery.records import may_follow
from coordinatord.features.delivery.requests import PumpNow
from coordinatord.features.messages.requests import AckMessage, SendMessage
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.views.requests import ShowRecord
from coordinatord.ids import PaneId
from coordinatord.kinds import read_screen
from tests.features.made import sighting
from tests.features.staff import ask, next_idle, staffed, until_held, why
from tests.features.typing.test_transcripts_read import SESSION, claude_file, claude_line, write
from tests.house import KINDS, House, living

RULE = "─" * 40
EMPTY = f"{RULE}\n❯\xa0\x1b[7m \x1b[0m\n{RULE}\n  ? for shortcuts\n"


def claude_in(house: House) -> PaneId:
    """A claude whose conversation is known and has begun."""
    pane = house.host.add_agent(kind="claude", session=SESSION)
    house.host.panes[pane].shown = EMPTY
    return pane


def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def told_at(house: House, message: str) -> list[str]:
    """The steps of the message's last attempt."""
    found = (await why(house, message)).attempts
    return [step.stage for step in found[-1].trail] if found else []


async def until_stage(house: House, message: str, stage: str) -> None:
    async def reached() -> bool:
        return (await told_at(house, message))[-1:] == [stage]

    await house.until(reached)


async def send(house: House, pane: PaneId) -> str:
    await house.until(lambda: pane in house.parts.sightings.panes)
    return (await house.call(SendMessage(to=pane, text="hello"))).id


async def test_a_message_in_the_agents_own_transcript_is_seen(tmp_path: Path) -> None:
    """The best proof of all, and it comes after the first one (graded receipts)."""
    async with living(tmp_path) as house:
        pane = claude_in(house)
        path = write(claude_file(home(tmp_path)), claude_line("earlier"))
        message = await send(house, pane)
        await house.until(lambda: house.host.submitted)
        write(path, claude_line(house.host.submitted[0].text))
        await until_stage(house, message, "seen")
        steps = await told_at(house, message)
        assert steps[:2] == ["claimed", "typed"]
        assert len(house.prompts(pane)) == 1


async def test_what_is_dealt_with_is_closed(tmp_path: Path) -> None:
    """The last stage: everything that the attempt told is over."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        question = await ask(house, task, worker)
        await house.until(lambda: house.prompts(boss))
        await until_stage(house, question, "turn-started")
        (attempt,) = (await why(house, question)).attempts
        await house.call(AnswerQuestion(question=question, text="80"), boss)

        async def closed() -> bool:
            record = await house.call(ShowRecord(id=attempt.id))
            return bool(record["trail"][-1]["stage"] == "closed")

        await house.until(closed)


@pytest.mark.parametrize("restart", [False, True])
async def test_uncertain_is_settled_by_the_transcript(tmp_path: Path, restart: bool) -> None:
    """C-6, C-9, §3.8.4, §3.8.17: a prompt that timed out had arrived; nothing is typed again."""
    async with living(tmp_path) as house:
        pane = claude_in(house)
        path = write(claude_file(home(tmp_path)), claude_line("earlier"))
        house.host.fail("prompt", "uncertain-done")
        message = await send(house, pane)
        await until_held(house, message, "uncertain")
        if not restart:
            write(path, claude_line(house.prompts(pane)[0]))
            house.host.set_status(pane, "idle")
            await until_stage(house, message, "seen")
        host, clock = house.host, house.clock
    if restart:
        write(path, claude_line(host.typed[0].text))
        async with living(tmp_path, host, clock=clock) as house:
            await until_stage(house, message, "seen")
            await next_idle(house, pane)
    assert len([each for each in host.typed if each.how == "prompt"]) == 1


async def test_uncertain_is_settled_by_a_transcript_without_it(tmp_path: Path) -> None:
    """A resting agent whose own transcript has nothing of ours was not told: it is told now."""
    async with living(tmp_path) as house:
        pane = claude_in(house)
        write(claude_file(home(tmp_path)), claude_line("earlier"))
        house.host.fail("prompt", "uncertain-lost")
        message = await send(house, pane)
        await house.until(lambda: house.prompts(pane))
        assert len(house.prompts(pane)) == 1
        first, *_ = (await why(house, message)).attempts
        assert [step.stage for step in first.trail] == ["claimed", "uncertain", "not-delivered"]


async def test_without_any_transcript_uncertain_stays_so(tmp_path: Path) -> None:
    """C-6: absence of a file proves nothing."""
    async with living(tmp_path) as house:
        pane = claude_in(house)
        house.host.fail("prompt", "uncertain-lost")
        message = await send(house, pane)
        await until_held(house, message, "uncertain")
        await house.clock.sleep(30)
        await house.rest()
        assert house.prompts(pane) == []
        assert (await why(house, message)).held == "uncertain"


async def test_a_stalled_prompt_is_uncertain(tmp_path: Path) -> None:
    """agents.md §1, fact 6: the host's *stalled* says nothing about the text."""
    async with living(tmp_path) as house:
        _boss, worker, task = await staffed(house)
        house.host.refuse("prompt", "agent_prompt_stalled")
        question = await ask(house, task, worker)
        await until_held(house, question, "uncertain")


async def test_two_texts_to_one_pane_keep_their_distance(tmp_path: Path) -> None:
    """T-19: the host's Enter comes 300 ms after the text; nothing may come between."""
    async with living(tmp_path) as house:
        pane = house.host.add_agent()
        await house.until(lambda: pane in house.parts.sightings.panes)
        for number in range(3):
            await house.call(SendMessage(to=pane, text=str(number), inline=True))
        for number in range(1, 4):
            await house.until(lambda wanted=number: len(house.prompts(pane)) == wanted)
            await house.until(lambda wanted=number: len(house.host.submitted) == wanted)
            house.host.set_status(pane, "idle")
        times = [each.at for each in house.host.typed]
        assert all(after - before >= 0.4 for before, after in itertools.pairwise(times))
        assert len(house.host.submitted) == 3


async def test_whoever_asked_may_go_away(tmp_path: Path) -> None:
    """An explicit pass that is cut off leaves no attempt in hand."""
    import anyio

    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await until_held(house, question, "busy")
        house.host.agent(boss).status = "idle"  # without an event
        async with anyio.create_task_group() as group:
            group.start_soon(house.call, PumpNow())
            await house.until(lambda: house.prompts(boss))
            group.cancel_scope.cancel()
        await until_stage(house, question, "turn-started")


async def test_an_acknowledged_message_is_over(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        pane = house.host.add_agent()
        message = await send(house, pane)
        await house.until(lambda: house.prompts(pane))
        await house.call(AckMessage(message=message))

        async def closed() -> bool:
            return [each.stage for each in await house.attempts()] == ["closed"]

        await house.until(closed)


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("typed", "seen", True),
        ("seen", "turn-started", False),
        ("turn-started", "seen", True),
        ("seen", "uncertain", False),
        ("seen", "closed", True),
        ("closed", "seen", False),
        ("uncertain", "seen", True),
        ("uncertain", "not-delivered", True),
        ("not-delivered", "seen", True),
        ("not-delivered", "uncertain", False),
        ("claimed", "not-delivered", True),
        ("typed", "typed", False),
    ],
)
def test_proof_is_only_ever_added(before: str, after: str, allowed: bool) -> None:
    assert may_follow(before, after) == allowed  # type: ignore[arg-type]


def test_a_dialog_that_opened_is_no_sign_of_our_turn() -> None:
    """agents.md §1, fact 3: somebody else's turn may have asked for something."""
    assert turn_started(sighting(), sighting(status="blocked", state_change_seq=2)) is None
    assert turn_started(sighting(), sighting(status="working", state_change_seq=2)) is not None
    assert turn_started(sighting(), sighting(status="done", state_change_seq=3)) is not None
    assert turn_started(sighting(), sighting()) is None


TEXT = "[coord d-00000001: message m-00000001 is here. Read it: coordctl inbox]"


@pytest.mark.parametrize(
    ("above", "inside", "expected"),
    [
        ("", TEXT, "stands"),
        ("", f"{TEXT} and more", "unclear"),
        (f"> {TEXT}", "", "left"),
        ("", "", "unclear"),
    ],
)
def test_where_the_text_is_by_the_screen(above: str, inside: str, expected: str) -> None:
    """Never a blind key, and nothing is *submitted* that is nowhere to be seen (G-3)."""
    rule = "─" * 100
    screen = f"{above}\n{rule}\n❯ {inside}\n{rule}\n  ? for shortcuts\n"
    kind = KINDS["generic"]
    assert standing(kind, read_screen(kind, screen), screen, TEXT, "d-00000001") == expected
