"""Answers `publication.observe`: one bounded look through `gh`, or what a person states."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

import anyio
import anyio.to_thread

from coordinatord.errors import Refused
from coordinatord.features.panes.records import Caller
from coordinatord.features.reports import github, table
from coordinatord.features.reports.records import (
    Observation,
    Observed,
    Publication,
    Unobserved,
)
from coordinatord.features.reports.requests import ObservePublication
from coordinatord.features.tasks.table import active_task
from coordinatord.ids import PublicationId
from coordinatord.store.database import Database, Transaction, View

LOOK_S: Final = 20.0
OUTPUT_LIMIT: Final = 1 << 20


class PublicationMethods:
    """The route. ``environ`` is what `gh` is started with, in the folder ``root``."""

    def __init__(self, database: Database, root: str, environ: Mapping[str, str]) -> None:
        self._database = database
        self._root = root
        self._environ = dict(environ)

    async def observe(self, caller: Caller, request: ObservePublication) -> Publication:
        """Look and record; nothing is written if the request does not fit the task."""
        await self._database.read(_check, request)
        if request.state is not None:
            seen: Observation = Observed(
                state=request.state, url=request.url, head_sha=request.head_sha
            )
        else:
            seen = await self._look(request)
        return await self._database.write(_record, caller, request, seen)

    async def _look(self, request: ObservePublication) -> Observation:
        path = self._environ.get("PATH")
        program = await anyio.to_thread.run_sync(lambda: shutil.which("gh", path=path))
        if program is None:
            return Unobserved(why="no-program")
        command = [program, *github.command(request.number, request.repository)]
        try:
            with anyio.fail_after(LOOK_S):
                ended = await anyio.run_process(
                    command,
                    stdin=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    check=False,
                    cwd=self._root,
                    env=self._environ,
                    start_new_session=True,
                )
        except TimeoutError:
            return Unobserved(why="time-limit")
        except OSError:
            return Unobserved(why="failed")
        if ended.returncode != 0:
            return Unobserved(why="failed")
        if len(ended.stdout) > OUTPUT_LIMIT:
            return Unobserved(why="unreadable")
        return github.observed(ended.stdout)


def _check(view: View, request: ObservePublication) -> None:
    task = active_task(view, request.task)
    last = table.last_publication(view, task.id)
    if last is None or request.replace:
        return
    named = {last.repository, request.repository} - {None}
    if last.number != request.number or len(named) > 1:
        where = f" of {last.repository}" if last.repository else ""
        raise Refused(
            "wrong-state",
            f"{task.id} has the pull request {last.number}{where} already.",
            "If another one is meant now: --replace",
        )


def _record(
    tx: Transaction, caller: Caller, request: ObservePublication, seen: Observation
) -> Publication:
    _check(tx, request)
    task = active_task(tx, request.task)
    made = PublicationId(tx.mint("publication"))
    return table.add_publication(
        tx,
        Publication(
            id=made,
            seq=table.journal(tx, caller, "publication", made, task.id, task.parent),
            at=tx.now,
            task=task.id,
            by=caller.seat,
            source="github" if request.state is None else "hand",
            number=request.number,
            repository=request.repository,
            observation=seen,
        ),
    )
