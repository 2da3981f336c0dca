"""A wake-up is never missed, and says nothing."""

from __future__ import annotations

from functools import partial

import anyio
import anyio.lowlevel

from coordinatord.store import journal
from coordinatord.store.changes import Changes, wait_for_news
from coordinatord.store.database import Database, Transaction


async def test_a_change_after_the_look_ends_the_wait() -> None:
    changes = Changes()
    seen = changes.count
    changes.wake()
    with anyio.fail_after(5):
        await changes.wait_past(seen)


async def test_a_wait_that_is_over_already_still_lets_others_run() -> None:
    """A loop that is always behind must not keep the event loop, nor escape being cancelled."""
    changes = Changes()
    changes.wake()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await changes.wait_past(0)
    assert scope.cancelled_caught


async def test_all_waiters_are_woken() -> None:
    changes = Changes()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(changes.wait_past, 0)
            await anyio.wait_all_tasks_blocked()
            changes.wake()


async def test_a_waiter_who_is_ahead_waits_on() -> None:
    changes = Changes()
    changes.wake()
    with anyio.move_on_after(0.01) as scope:
        await changes.wait_past(1)
    assert scope.cancelled_caught


async def test_news_of_either_ends_a_wait_for_both() -> None:
    """And nobody is left listening afterwards."""
    store, panes = Changes(), Changes()
    for source in (store, panes):
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(wait_for_news, store.from_now(), panes.from_now()))
                await anyio.wait_all_tasks_blocked()
                source.wake()
    assert (store._waiting, panes._waiting) == (set(), set())


async def test_a_pause_ends_a_wait_without_news() -> None:
    """What is known to come is waited for in the same place."""
    changes = Changes()
    with anyio.fail_after(5):
        await wait_for_news(changes.from_now(), pause=anyio.lowlevel.checkpoint)
    assert changes._waiting == set()


async def test_news_that_is_there_already_begins_no_pause() -> None:
    changes = Changes()
    since = changes.from_now()
    changes.wake()
    with anyio.fail_after(5):
        await wait_for_news(since, pause=anyio.sleep_forever)


async def test_a_wait_that_is_broken_off_leaves_nothing() -> None:
    """A caller that goes away while it waits costs nothing from then on."""
    changes = Changes()
    with anyio.move_on_after(0.01):
        await wait_for_news(changes.from_now(), pause=anyio.sleep_forever)
    assert changes._waiting == set()


async def test_followers_miss_nothing(database: Database) -> None:
    """Architecture, rule 6: whoever looks, then waits, sees every line in the end."""
    writers, each = 5, 20
    followed: list[list[int]] = []

    async def write_some(writer: int) -> None:
        for number in range(each):
            await database.write(lambda tx, n=number: tx.journal("question", f"q-{writer}-{n}"))

    async def follow() -> None:
        lines: list[int] = []
        while len(lines) < writers * each:
            seen = database.changes.count
            found = await database.read(journal.since, lines[-1] if lines else 0, 7)
            lines += [line.seq for line in found]
            if not found:
                await database.changes.wait_past(seen)
        followed.append(lines)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(follow)
            for writer in range(writers):
                tasks.start_soon(write_some, writer)
    assert followed == [list(range(1, writers * each + 1))] * 8


async def test_a_write_without_a_journal_line_wakes_nobody(database: Database) -> None:
    def note(tx: Transaction) -> int:
        return tx.run("INSERT INTO meta VALUES ('a', 'b')")

    assert await database.write(note) == 1
    assert database.changes.count == 0
