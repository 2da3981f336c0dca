"""Answers `task.archive` and `upkeep.…`."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.to_thread

from coordinatord.errors import WorldFailed
from coordinatord.features.obligations.table import Sources
from coordinatord.features.panes import authority
from coordinatord.features.panes.records import Caller, Outcome, Seat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.table import all_seats
from coordinatord.features.tasks.records import Task
from coordinatord.features.upkeep import files, findings, table
from coordinatord.features.upkeep.files import Premises
from coordinatord.features.upkeep.records import Finding, Page, Pruned, Saved
from coordinatord.features.upkeep.requests import ArchiveTask, BackUp, Examine, Export, Prune
from coordinatord.features.upkeep.run_archive import archive
from coordinatord.features.upkeep.run_retention import Retention
from coordinatord.store.database import Database, Transaction, View
from coordinatord.wire.requests import Access, Listing


class UpkeepMethods:
    """Routes of this feature."""

    def __init__(
        self,
        database: Database,
        lookout: Lookout,
        sources: Sources,
        premises: Premises,
        wall: Callable[[], float],
    ) -> None:
        self._database = database
        self._lookout = lookout
        self._sources = sources
        self._premises = premises
        self._wall = wall

    def archive(self, tx: Transaction, caller: Caller, request: ArchiveTask) -> Task:
        """End a task."""
        return archive(tx, caller, request.task, request.acknowledge, self._sources)

    async def prune(self, caller: Caller, request: Prune) -> Pruned:
        """Remove what is old."""
        retention = Retention(
            self._database, self._lookout.sightings, self._sources, self._premises
        )
        before = self._wall() - request.older_than_s
        return await retention.apply(before, dry_run=request.dry_run, caller=caller)

    def export(self, view: View, caller: Caller, request: Export) -> Page:
        """A part of all records."""
        return table.export(view, request.after, request.limit)

    async def back_up(self, caller: Caller, request: BackUp) -> Saved:
        """Copy, read again, say what is in it."""
        now = self._wall()
        path = await anyio.to_thread.run_sync(
            files.back_up, self._premises, request.destination, now
        )
        await self._database.write(_journal_backup, caller)
        seq, tasks = await anyio.to_thread.run_sync(files.contents, path)
        size = (await anyio.Path(path).stat()).st_size
        return Saved(path=str(path), bytes=size, seq=seq, at=now, tasks=tasks)

    async def examine(self, caller: Caller, request: Examine) -> Listing[Finding]:
        """Look at everything; with ``fix`` repair what is safe."""
        if request.fix:
            authority.check(Access.COORDINATION, caller)
        found = [*await self._store(caller, request.fix), *await self._files(request.fix)]
        found += [await self._host(), *await self._seats()]
        odd = await self._database.read(
            table.clock_oddities, self._wall(), findings.CLOCK_TOLERANCE_S
        )
        return Listing(items=[*found, *findings.of_clock(odd)])

    async def _store(self, caller: Caller, fix: bool) -> list[Finding]:
        said = await self._database.read(table.is_sound)
        found = [findings.of_integrity(said, str(self._premises.backups))]
        found += findings.of_records(await self._database.read(table.unreadable))
        missing, invented = await self._database.read(table.differing, self._wall())
        if fix and (missing or invented):
            await self._database.write(table.put_right, caller, sorted(missing), sorted(invented))
        found += findings.of_debts(sorted(missing), sorted(invented), fixed=fix)
        return found

    async def _files(self, fix: bool) -> list[Finding]:
        def look(premises: Premises) -> list[Finding]:
            return [*files.modes(premises, fix=fix), *files.leftovers(premises, fix=fix)]

        return await anyio.to_thread.run_sync(look, self._premises)

    async def _host(self) -> Finding:
        try:
            facts = await self._lookout.terminal.greet()
        except WorldFailed as error:
            return Finding(
                id="terminal-host",
                level="bad",
                reason="unreachable",
                subject=type(error).__name__,
                remedy="nothing is typed until it answers: coordctl status",
            )
        subject = f"{facts.kind} {facts.version}, protocol {facts.protocol}"
        if not facts.may_type:
            remedy = "reads only; use a known version"
            return Finding(
                id="terminal-host",
                level="bad",
                subject=subject,
                reason="unknown-protocol",
                remedy=remedy,
            )
        return findings.good("terminal-host", subject)

    async def _seats(self) -> list[Finding]:
        seats = await self._database.read(all_seats)
        await self._lookout.look_around()
        judged: list[tuple[Seat, Outcome]] = [
            (seat, (await self._lookout.judge(seat)).outcome)
            for seat in seats
            if seat.role != "developer"
        ]
        return findings.of_seats(judged)


def _journal_backup(tx: Transaction, caller: Caller) -> None:
    tx.journal("backup", "database", actor=caller.seat, proof=caller.proof)
