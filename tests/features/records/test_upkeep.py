"""Archive, retention, backup, restore, export, and the doctor."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from coordinatord import locate
from coordinatord.daemon import restoring
from coordinatord.errors import Refused
from coordinatord.features.messages.requests import SendMessage
from coordinatord.features.panes.requests import WhoAmI
from coordinatord.features.questions.requests import AnswerQuestion
from coordinatord.features.reports.requests import FileReport
from coordinatord.features.tasks.table import TASKS
from coordinatord.features.upkeep import files, table
from coordinatord.features.upkeep.files import Premises
from coordinatord.features.upkeep.requests import ArchiveTask, BackUp, Examine, Export, Prune
from coordinatord.features.views.requests import ReadInbox, ReadRundown, ShowRecord
from coordinatord.store.database import Database
from tests.features.staff import ask, new_task, staffed
from tests.house import House, living


async def findings(house: House, *, fix: bool = False) -> list[tuple[str, str, str]]:
    found = (await house.call(Examine(fix=fix))).items
    return [(each.id, each.level, each.subject) for each in found if each.level != "good"]


async def test_archiving_refuses_what_is_owed_unless_that_is_acknowledged(tmp_path: Path) -> None:
    """§1.13: archiving ends all debts; the worker's pane has no role any more."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await house.call(SendMessage(to=f"worker:{task}", text="hello"), boss)
        with pytest.raises(Refused) as refusal:
            await house.call(ArchiveTask(task=task), boss)
        assert question in refusal.value.message
        with pytest.raises(Refused):
            await house.call(ArchiveTask(task=task, acknowledge=True), worker)
        await house.call(ArchiveTask(task=task, acknowledge=True), boss)
        assert (await house.call(ReadInbox(), boss)).items == []
        assert (await house.call(WhoAmI(), worker)).role == "developer"
        assert (await house.call(ReadRundown())).items == []
        with pytest.raises(Refused, match="archived"):
            await house.call(AnswerQuestion(question=question, text="80"), boss)
        assert (await house.call(ShowRecord(id=question)))["text"] == "Which port?"
        assert await findings(house) == []
        second = await new_task(house, boss, worker)
        assert (await house.call(WhoAmI(), worker)).id == f"worker:{second}"


async def test_retention_removes_only_what_nobody_needs(tmp_path: Path) -> None:
    """Neither a living seat nor an open debt, nor anything of another task."""
    async with living(tmp_path) as house:
        boss, worker, old = await staffed(house, boss_status="working")
        await house.call(FileReport(task=old, outcome="completed", text="did"), worker)
        await house.call(ArchiveTask(task=old, acknowledge=True), boss)
        going_on = await new_task(house, boss, worker)
        question = await ask(house, going_on, worker)
        dry = await house.call(Prune(older_than_s=0, dry_run=True), boss)
        assert (dry.tasks, dry.removed) == ([old], False)
        assert (await house.call(Prune(older_than_s=3600), boss)).tasks == []
        assert (await house.call(Prune(older_than_s=0), boss)).tasks == [old]
        with pytest.raises(Refused) as refusal:
            await house.call(ShowRecord(id=old))
        assert refusal.value.reason == "unknown-id"
        left = await house.database.read(
            lambda view: view.rows(
                "SELECT id FROM reports WHERE task = ? UNION ALL SELECT id FROM seats"
                " WHERE id = 'worker:' || ? UNION ALL SELECT id FROM journal WHERE task = ?",
                old,
                old,
                old,
            )
        )
        assert left == []
        assert [item.id for item in (await house.call(ReadInbox(), boss)).items] == [question]


async def test_the_doctor_finds_and_mends_an_index_that_disagrees(tmp_path: Path) -> None:
    """What is owed is recomputed from the records alone."""
    async with living(tmp_path) as house:
        boss, worker, task = await staffed(house, boss_status="working")
        lost = await ask(house, task, worker)
        report = await house.call(FileReport(task=task, outcome="partial", text="x"), worker)
        assert await findings(house) == []
        await house.database.write(lambda tx: tx.run("UPDATE questions SET state = 'applied'"))
        await house.database.write(lambda tx: tx.run("UPDATE reports SET state = 'verified'"))
        wrong = [("obligations", f"question:{lost}"), ("obligations", f"report:{report.id}")]
        assert [(each, subject) for each, _, subject in await findings(house)] == wrong
        with pytest.raises(Refused):
            await house.call(Examine(fix=True), worker)
        assert {level for _, level, _ in await findings(house, fix=True)} == {"fixed"}
        assert await findings(house) == []
        inbox = await house.call(ReadInbox(), boss)
        assert [item.id for item in inbox.items] == [lost, report.id]


async def test_the_doctor_names_what_needs_a_person(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        await house.database.write(
            lambda tx: tx.run("UPDATE questions SET body = x'00' WHERE id = ?", question)
        )
        await house.database.write(
            lambda tx: tx.run("UPDATE journal SET at = at + 1e9 WHERE seq = 1")
        )
        house.host.remove_pane(worker)
        (tmp_path / "coordinator.db.new").write_bytes(b"")
        (tmp_path / "coordinator.db").chmod(0o644)
        saved = (await house.call(BackUp())).path
        os.chmod(saved, 0o644)
        found = await findings(house)
        assert ("file-modes", "bad", saved) in found
        assert ("records-readable", "bad", question) in found
        assert ("seats", "bad", f"worker:{task}") in found
        assert ("clock", "bad", "1") in found
        assert ("leftovers", "bad", str(tmp_path / "coordinator.db.new")) in found
        assert ("file-modes", "bad", str(tmp_path / "coordinator.db")) in found
        house.host.stop()
        await house.until(lambda: not house.parts.sightings.connected)
        assert ("terminal-host", "bad", "Unreachable") in await findings(house, fix=True)
        assert not (tmp_path / "coordinator.db.new").exists()
        assert (tmp_path / "coordinator.db").stat().st_mode & 0o777 == 0o600
        assert os.stat(saved).st_mode & 0o777 == 0o600


async def test_export_gives_every_record_in_parts(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        _, worker, task = await staffed(house)
        made = [await ask(house, task, worker, f"q{number}") for number in range(5)]
        found, after = [], None
        while True:
            page = await house.call(Export(after=after, limit=2))
            found += [(item.table, item.id) for item in page.items]
            after = page.next
            if after is None:
                break
        assert len(found) == len(set(found))
        assert {("questions", each) for each in made} <= set(found)
        assert ("seats", "coordinator") in found
        with pytest.raises(Refused):
            await house.call(Export(after="nonsense:x"))


async def test_a_backup_is_refused_where_something_stands_or_state_lies(tmp_path: Path) -> None:
    async with living(tmp_path) as house:
        (tmp_path / "out").mkdir()
        (tmp_path / "other").write_text("x")
        for place in ("relative.db", str(tmp_path / "no" / "x.db"), str(tmp_path / "out" / "x.db")):
            with pytest.raises(Refused) as refusal:
                await house.call(BackUp(destination=place))
            assert refusal.value.reason == "bad-params"
        saved = await house.call(BackUp())
        with pytest.raises(Refused) as refusal:
            await house.call(BackUp(destination=saved.path))
        assert refusal.value.reason == "store-failed"
        assert saved.tasks == 0
        assert Path(saved.path).parent == tmp_path / "backups"
        assert not list((tmp_path / "backups").glob("*.partial"))


def made_workspace(root: Path) -> locate.Workspace:
    workspace = locate.Workspace(str(root), {"XDG_RUNTIME_DIR": str(root), "HOME": str(root)})
    locate.make(workspace)
    return workspace


async def open_database(path: Path) -> Database:
    return await Database.open(path, wall=time.time, source=random.Random())


async def test_a_backup_during_writes_is_of_one_moment(tmp_path: Path) -> None:
    """Two rows that are always written together are together in every copy."""
    async with await open_database(tmp_path / "coordinator.db") as database:
        done = anyio.Event()

        def pair(tx: Any) -> None:
            seq = tx.journal("test", "x")
            tx.run("INSERT INTO meta VALUES (?, 'x')", f"n{seq}")

        async def write() -> None:
            while not done.is_set():
                await database.write(pair)

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(write)
            paths = [
                await anyio.to_thread.run_sync(
                    files.back_up, Premises(folder=tmp_path), f"{tmp_path}-{n}.db", 0.0
                )
                for n in range(5)
            ]
            done.set()
    sizes = []
    for path in paths:
        with sqlite3.connect(path) as connection:
            lines = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
            rows = connection.execute("SELECT count(*) FROM meta").fetchone()[0]
        connection.close()
        assert lines == rows
        sizes.append(lines)
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


async def test_a_restored_workspace_has_all_records_and_nobody_sits_in_it(tmp_path: Path) -> None:
    """C-9, §8.4: what was told after the backup is not known, so nothing is told by itself."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    async with living(old) as house:
        _, worker, task = await staffed(house, boss_status="working")
        question = await ask(house, task, worker)
        saved = await house.call(BackUp(destination=str(tmp_path / "b.db")))
        host = house.host
    workspace = await anyio.to_thread.run_sync(made_workspace, new)
    target = await restoring.restore(workspace, saved.path)
    with pytest.raises(Refused) as refusal:
        await restoring.restore(workspace, saved.path)
    assert refusal.value.reason == "wrong-state"
    async with living(target.parent, host) as house:
        await house.until(lambda: house.parts.sightings.connected)
        for pane in host.panes:
            assert (await house.call(WhoAmI(), pane)).role == "developer"
            host.set_status(pane, "idle")
        await house.rest()
        assert [house.prompts(pane) for pane in host.panes] == [[], []]
        inbox = await house.call(ReadInbox())
        assert [item.id for item in inbox.items] == [question]
        tasks = await house.database.read(TASKS.select)
        assert [each.id for each in tasks.items] == [task]


async def test_a_restore_that_is_ended_early_leaves_no_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-47: killed before the seats were given up, nothing may be typed in the old seats' names."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    async with living(old, run=False) as house:
        saved = await house.call(BackUp(destination=str(tmp_path / "b.db")))
    workspace = await anyio.to_thread.run_sync(made_workspace, new)

    def end(tx: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restoring, "forget_the_world", end)
        with pytest.raises(KeyboardInterrupt):
            await restoring.restore(workspace, saved.path)
    state = anyio.Path(workspace.file(""))
    assert [path.name async for path in state.glob("*.db*")] == []
    assert (await restoring.restore(workspace, saved.path)).name == "coordinator.db"
    assert [path.name async for path in state.glob("*.db*")] == ["coordinator.db"]


async def test_backups_of_one_second_do_not_stand_in_each_others_way(tmp_path: Path) -> None:
    async with living(tmp_path, run=False) as house:
        paths: list[str] = []

        async def back_up() -> None:
            paths.append((await house.call(BackUp())).path)

        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(back_up)
        assert len(set(paths)) == 6


async def test_a_backup_goes_where_no_links_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As onto a memory stick; what stands there is not replaced all the same."""

    def no_links(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    async with living(tmp_path, run=False) as house:
        saved = await house.call(BackUp())
        assert os.stat(saved.path).st_mode & 0o777 == 0o600
        with pytest.raises(Refused):
            await house.call(BackUp(destination=saved.path))


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[20_000:30_000] = b"\xff" * 10_000
    path.write_bytes(content)


async def test_a_damaged_backup_is_not_restored(tmp_path: Path) -> None:
    workspace = await anyio.to_thread.run_sync(made_workspace, tmp_path)
    async with await open_database(tmp_path / "coordinator.db") as database:
        await database.write(lambda tx: [tx.journal("x", "y" * 400) for _ in range(200)])
    backup = Path(f"{tmp_path}.db")
    await anyio.to_thread.run_sync(files.back_up, Premises(folder=tmp_path), str(backup), 0.0)
    await anyio.to_thread.run_sync(damage, backup)
    with pytest.raises(Refused) as refusal:
        await restoring.restore(workspace, str(backup))
    assert refusal.value.reason == "store-corrupt"
    assert not await anyio.Path(workspace.file("coordinator.db")).exists()


async def test_the_records_of_every_kind_have_an_id_that_can_be_exported(tmp_path: Path) -> None:
    """Every record table of the database is among those that doctor and export read."""
    async with await open_database(tmp_path / "coordinator.db") as database:
        rows = await database.read(
            lambda view: view.rows(
                "SELECT name FROM sqlite_schema WHERE sql LIKE '%body BLOB NOT NULL%'"
            )
        )
    tables = {str(row[0]) for row in rows}
    assert tables == {each.name for each in table.EVERY}
