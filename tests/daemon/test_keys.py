"""A request that comes again with its key: the same answer, one effect (D-40, C-19)."""

from __future__ import annotations

import posix
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from coordinatord import catalogue
from coordinatord.daemon.requests import StopDaemon
from coordinatord.errors import Refused, Uncertain, Unreachable
from coordinatord.features.launches import table
from coordinatord.features.launches.requests import OpenPane
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.questions.table import QUESTIONS
from coordinatord.features.typing.requests import SendToPane
from coordinatord.ids import PaneId
from coordinatord.sockets.bind import BoundSocket
from coordinatord.store import keys
from coordinatord.store.database import Transaction
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.wire.requests import Mutation, method_of
from tests.daemon.answering import UNPLAYED, Scene, scene
from tests.features.staff import new_task, staffed
from tests.house import FastClock, House, living

MUTATING = tuple(
    method_of(request)
    for request in catalogue.REQUESTS
    if issubclass(request, Mutation) and method_of(request) not in UNPLAYED
)

OTHER: dict[str, dict[str, Any]] = {
    "seat.init": {"role": None},
    "seat.bind": {"worker_pane": "free"},
    "task.new": {"title": "three"},
    "question.resolve": {"question": "open"},
    "report.file": {"outcome": "failed"},
    "verification.record": {"candidate": "v2"},
    "message.ack": {"message": "m-00000000"},
    "delivery.notice": {"seat": "task"},
    "pane.open": {"label": "other"},
    "pane.close": {"pane": "free"},
    "daemon.stop": {"panes": True},
    "handoff.file": {"outcome": "failed"},
    "publication.observe": {"number": 8},
    "brief.regenerate": {"policy": "other words"},
    "message.withdraw": {"message": "m-00000000"},
    "tool.cancel": {"run": "x-00000000"},
    "tool.result": {"tail_lines": 3},
    "task.archive": {"acknowledge": False},
    "upkeep.backup": {"destination": "/tmp/elsewhere.db"},
    "upkeep.prune": {"older_than_s": 7200.0},
}
"""Another body of the same method; by default other words."""

BODILESS = {
    "delivery.disable",
    "delivery.enable",
    "delivery.shadow-on",
    "delivery.shadow-off",
    "delivery.pump",
    "typing.pause",
    "typing.resume",
}
"""Nothing is asked but the method itself: there is no other body."""

REPEATABLE = {"upkeep.doctor"}
"""Taking it twice changes nothing, so its key decides nothing."""


def other(stage: Scene, method: str, params: dict[str, Any]) -> dict[str, Any]:
    changes = OTHER.get(method, {"text": "other words"})
    return {**params, **{key: stage.names.get(value, value) for key, value in changes.items()}}


@pytest.mark.parametrize("method", MUTATING)
async def test_again_with_the_same_words_is_answered_and_done_once(
    method: str, tmp_path: Path, bound: BoundSocket
) -> None:
    """D-40, C-19."""
    async with scene(tmp_path, bound) as stage:
        who, params = stage.good[method]
        params = {**params, "key": "k-1"}
        first = await stage.call(method, params)
        assert "result" in first, first
        stored, typed = await stage.stored(), stage.typed()
        again = await stage.call(method, params, who)
        assert again["result"] == first["result"]
        assert (await stage.stored(), stage.typed()) == (stored, typed)


@pytest.mark.parametrize("method", sorted(set(MUTATING) - BODILESS - REPEATABLE))
async def test_again_with_other_words_is_refused(
    method: str, tmp_path: Path, bound: BoundSocket
) -> None:
    """C-19: the record stays as it is."""
    async with scene(tmp_path, bound) as stage:
        params = {**stage.good[method][1], "key": "k-1"}
        await stage.call(method, params)
        stored, typed = await stage.stored(), stage.typed()
        answer = await stage.call(method, other(stage, method, params))
        assert answer["error"]["data"]["reason"] == "key-conflict"
        assert answer["error"]["data"]["hint"]
        assert (await stage.stored(), stage.typed()) == (stored, typed)


@pytest.mark.parametrize("method", MUTATING)
async def test_a_refusal_does_not_use_the_key_up(
    method: str, tmp_path: Path, bound: BoundSocket
) -> None:
    """Only answers of successes are kept: what was wrong can be mended under the same key."""
    async with scene(tmp_path, bound) as stage:
        params = {**stage.good[method][1], "key": "k-1"}
        refused = await stage.call(method, {**params, "surprise": 1})
        assert "error" in refused
        assert "result" in await stage.call(method, params)


async def test_a_key_belongs_to_its_scope(tmp_path: Path) -> None:
    """C-19: a question's key counts in its task, so two workers may use the same one."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        second = house.host.add_agent()
        other_task = await new_task(house, boss, second)
        request = AskQuestion(task=task, text="Which?", key="k")
        one = await house.call(request, worker)
        two = await house.call(msgspec.structs.replace(request, task=other_task), second)
        assert one.id != two.id
        # the same question, captured by the coordinator under the same key, is the same record
        assert (await house.call(request, boss)).id == one.id


async def test_without_a_key_every_request_is_a_new_one(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house)
        request = AskQuestion(task=task, text="Which?")
        first, second = [await house.call(request, worker) for _ in range(2)]
        assert first.id != second.id


async def test_the_same_request_twice_at_once_is_done_once(tmp_path: Path) -> None:
    """D-40: also while the first is still under way."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house)
        asked: list[Any] = []
        opened: list[Any] = []
        before = len(house.host.panes)

        async def ask() -> None:
            asked.append(await house.call(AskQuestion(task=task, text="?", key="k"), worker))

        async def open_pane() -> None:
            opened.append(await house.call(OpenPane(label="tests", key="k"), boss))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(ask)
                group.start_soon(open_pane)
        assert asked == [asked[0]] * 4
        assert opened == [opened[0]] * 4
        assert len(house.host.panes) == before + 1
        assert len((await house.database.read(QUESTIONS.select)).items) == 1


class VanishingStore(FakeHost):
    """The database is removed at the moment in which a text is typed."""

    database: Path

    def type_text(self, pane: PaneId, text: str, keys: Sequence[str]) -> None:
        posix.unlink(self.database)  # the alarm for blocking calls watches the one of os
        super().type_text(pane, text, keys)


async def test_what_was_done_is_answered_so_when_its_answer_cannot_be_kept(tmp_path: Path) -> None:
    """Nobody may type again what was typed, because the store was lost behind it."""
    clock = FastClock()
    host = VanishingStore(clock.awake)
    host.database = tmp_path / "coordinator.db"
    async with living(tmp_path, host, clock=clock) as house:
        pane = host.add_pane()
        request = SendToPane(pane=pane, text="make", enter=True, key="k")
        for _ in range(2):
            assert (await house.call(request)).done
        assert [each.text for each in host.typed] == ["make"]
        assert (await house.call(StopDaemon(key="k"))).done


OPEN = OpenPane(label="tests", command=("true",), key="k-open")


async def cut_off(house: House, boss: Any, request: OpenPane = OPEN) -> None:
    """The call that the daemon does not live to answer."""
    with pytest.raises((Refused, Unreachable, Uncertain)):
        await house.call(request, boss)


def before_intent(host: FakeHost) -> None:
    host.fail("snapshot", "unreachable")
    host.fail("new_tab", "unreachable")


def after_intent(host: FakeHost) -> None:
    host.fail("new_tab", "unreachable")


def made_or_not(host: FakeHost) -> None:
    host.fail("new_tab", "uncertain-lost")


def made_and_not_recorded(host: FakeHost) -> None:
    host.fail("new_tab", "uncertain-done")


def recorded(host: FakeHost) -> None:
    host.fail("rename", "unreachable")


def before_typing(host: FakeHost) -> None:
    host.fail("rename", "uncertain-done")


@pytest.mark.parametrize(
    "crash",
    [
        before_intent,
        after_intent,
        made_or_not,
        made_and_not_recorded,
        recorded,
        before_typing,
    ],
)
async def test_an_end_at_any_point_of_opening_a_pane_makes_one_pane(
    tmp_path: Path, crash: Callable[[FakeHost], None]
) -> None:
    """D-40: the next daemon, asked again with the same key, has one pane and types once."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, _, _ = await staffed(house)
        before = set(host.panes)
        await house.rest()
        crash(host)
        await cut_off(house, boss)
    async with living(tmp_path, host, clock=clock) as house:
        answer = await house.call(OPEN, boss)
        assert set(host.panes) - before == {answer.id}
        assert answer.label == "tests"
    async with living(tmp_path, host, clock=clock) as house:
        assert (await house.call(OPEN, boss)) == answer
        assert set(host.panes) - before == {answer.id}
        typed = [each for each in host.typed if each.pane == answer.id]
        assert [(each.text, each.keys) for each in typed] == [("true", ("enter",))]


async def test_two_ends_in_a_row_still_make_one_pane(tmp_path: Path) -> None:
    """D-40: the first end left an intent and no pane, the second a pane that nobody recorded."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, _, _ = await staffed(house)
        before = set(host.panes)
    for crash in (after_intent, after_intent, made_and_not_recorded, recorded):
        async with living(tmp_path, host, clock=clock) as house:
            await house.rest()
            crash(host)
            await cut_off(house, boss)
    async with living(tmp_path, host, clock=clock) as house:
        answer = await house.call(OPEN, boss)
        assert set(host.panes) - before == {answer.id}


async def test_a_host_that_does_not_show_its_panes_gets_no_second_one(tmp_path: Path) -> None:
    """D-40: nobody knows whether the first was made, so none is made."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, _, _ = await staffed(house)
        await house.rest()
        made_and_not_recorded(host)
        await cut_off(house, boss)
        count = len(host.panes)
        host.fail("snapshot", "unreachable")
        await cut_off(house, boss)
        assert len(host.panes) == count
        assert (await house.call(OPEN, boss)).id in host.panes
        assert len(host.panes) == count


async def test_a_command_that_may_have_been_typed_is_not_typed_again(tmp_path: Path) -> None:
    """D-40: an end right after the intent to type."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    async with living(tmp_path, host, clock=clock) as house:
        boss, _, _ = await staffed(house)
        await house.rest()
        host.fail("send", "uncertain-done")
        await cut_off(house, boss)
    async with living(tmp_path, host, clock=clock) as house:
        answer = await house.call(OPEN, boss)
        assert [each.text for each in host.typed if each.pane == answer.id] == ["true"]


async def test_another_callers_key_finds_no_pane_of_mine(tmp_path: Path) -> None:
    """The key of `pane.open` counts for the seat that used it, also before an answer is kept."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        await house.rest()
        recorded(house.host)
        await cut_off(house, boss)
        count = len(house.host.panes)
        theirs = await house.call(OPEN)
        assert len(house.host.panes) == count + 1
        assert (await house.call(OPEN, boss)).id != theirs.id
        assert len(house.host.panes) == count + 1


async def test_a_launch_token_proves_its_pane(tmp_path: Path) -> None:
    """Only the token's digest is stored."""
    async with living(tmp_path) as house:
        boss, _, _ = await staffed(house)
        answer = await house.call(OPEN, boss)
        token = house.host.panes[answer.id].env["COORDINATORD_TOKEN"]
        found = await house.database.read(table.terminal_of, token)
        assert found == answer.terminal_id
        assert await house.database.read(table.terminal_of, token[:-1]) is None
        rows = await house.database.read(lambda view: view.rows("SELECT * FROM launches"))
        assert token not in str(rows)


def test_every_mutating_method_has_an_other_body() -> None:
    for method in set(MUTATING) - BODILESS - REPEATABLE - OTHER.keys():
        fields = msgspec.structs.fields(catalogue.BY_METHOD[method])
        assert "text" in {field.name for field in fields}, method


async def test_the_keys_table_is_emptied_after_a_week(tmp_path: Path) -> None:
    """Answers are kept for seven days and no longer."""
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house)
        request = AskQuestion(task=task, text="Which?", key="k")
        first = await house.call(request, worker)

        def expire(tx: Transaction, days: float) -> int:
            return keys.expire(tx, tx.now + days * 24 * 3600)

        assert await house.database.write(expire, 6.9) == 0
        assert (await house.call(request, worker)).id == first.id
        assert await house.database.write(expire, 7.1) > 0
        assert (await house.call(request, worker)).id != first.id
