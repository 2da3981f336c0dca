"""The one thread that writes: many calls share a commit, each can fail alone."""

from __future__ import annotations

import inspect
import os
import queue
import random
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from coordinatord.errors import Refused
from coordinatord.store import faults
from coordinatord.store.call import SLICE_MS, Call, Post, deliver
from coordinatord.store.connection import open_writer
from coordinatord.store.transaction import Transaction

_BATCH: Final = 256
"""Calls in one commit at most, so that none waits long for the others."""


class Writer:
    """Takes calls in order, runs as many as wait in one transaction, commits, then reports.

    Args:
        path: the database.
        identity: what stood there when it was found good; nothing else is written into.
        post: how the event loop is reached.
        committed: called on the event loop after a commit that appended to the journal.
        wall: wall seconds, asked once per call on the writer's thread.
        monotonic: the clock of the calls' deadlines.
        source: randomness for ids; used on the writer's thread only.
    """

    def __init__(
        self,
        path: Path,
        identity: os.stat_result,
        *,
        post: Post,
        committed: Callable[[], None],
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        source: random.Random,
    ) -> None:
        self._path = path
        self._identity = identity
        self._post = post
        self._committed = committed
        self._wall = wall
        self._monotonic = monotonic
        self._source = source
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._ending = False
        self._thread = threading.Thread(target=self._main, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, call: Call) -> None:
        """Queue a call."""
        self._queue.put(call)

    def finish(self) -> None:
        """Carry out what is queued, close, and return when the thread has ended."""
        self._queue.put(None)
        self._thread.join()

    def _main(self) -> None:
        connection: sqlite3.Connection | None = None
        waiting: list[Call] = []
        while waiting or not self._ending:
            self._take(waiting)
            try:
                connection = connection or open_writer(self._path, SLICE_MS)
                waiting = self._turn(connection, waiting)
            except BaseException as error:  # noqa: BLE001 - no caller may be left waiting
                waiting = self._fail(waiting, error)
        if connection is not None:
            connection.close()

    def _take(self, waiting: list[Call]) -> None:
        """Add the queued calls; blocks only if there is nothing to do."""
        try:
            while not self._ending and len(waiting) < _BATCH:
                call = self._queue.get(block=not waiting)
                if call is None:
                    self._ending = True
                else:
                    waiting.append(call)
        except queue.Empty:
            return

    def _turn(self, connection: sqlite3.Connection, waiting: list[Call]) -> list[Call]:
        """One commit of all that waits; returns what must wait on for another program's lock."""
        if not waiting:
            return waiting
        self._check_present()
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if not faults.is_busy(error):
                raise
            return self._refuse_late(waiting)
        try:
            journaled = self._run_all(connection, waiting)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        deliver(self._post, waiting, self._committed if journaled else None)
        return []

    def _check_present(self) -> None:
        """SQLite would go on writing into a file that nobody can find any more."""
        try:
            same = os.path.samestat(self._path.stat(), self._identity)
        except FileNotFoundError:
            same = False
        if not same:
            raise faults.vanished(self._path)

    def _run_all(self, connection: sqlite3.Connection, calls: list[Call]) -> bool:
        journaled = False
        for call in calls:
            tx = Transaction(connection, self._wall(), self._source, call.act)
            connection.execute("SAVEPOINT call")
            try:
                call.result = _plain(call.fn(tx, *call.args, **call.kwargs))
            except BaseException as error:
                if not connection.in_transaction:
                    raise  # SQLite has undone everything, the other calls too
                call.error = self._told(error)  # it undoes only itself
                connection.execute("ROLLBACK TO call")
            else:
                journaled = journaled or tx.journaled
            connection.execute("RELEASE call")
        return journaled

    def _refuse_late(self, waiting: list[Call]) -> list[Call]:
        now = self._monotonic()
        late = [call for call in waiting if call.deadline <= now]
        self._fail(late, faults.busy(self._path))
        return [call for call in waiting if call.deadline > now]

    def _fail(self, calls: list[Call], error: BaseException) -> list[Call]:
        """Report to each caller that nothing of it was written."""
        for call in calls:
            call.result = None
            call.error = call.error or _copy(self._told(error))
        if calls:
            deliver(self._post, calls)
        return []

    def _told(self, error: BaseException) -> BaseException:
        if isinstance(error, sqlite3.Error):
            return faults.refusal_of(error, self._path) or error
        return error


def _plain(result: Any) -> Any:
    """Refuse what would run after the transaction has ended."""
    if inspect.iscoroutine(result):
        result.close()
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("a transaction is a plain function: it cannot await or yield")
    return result


def _copy(error: BaseException) -> BaseException:
    """One exception for each caller: raising adds to the traceback."""
    if isinstance(error, Refused):
        return Refused(error.reason, error.message, error.hint)
    return error
