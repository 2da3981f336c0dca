"""The threads that read, each on a connection of its own that cannot write."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from coordinatord.store import faults
from coordinatord.store.call import SLICE_MS, Call, Post, deliver
from coordinatord.store.connection import open_reader
from coordinatord.store.transaction import View


class Readers:
    """Takes calls from one queue; each runs in a read transaction, so it sees one moment."""

    def __init__(
        self, path: Path, *, post: Post, monotonic: Callable[[], float], threads: int
    ) -> None:
        self._path = path
        self._post = post
        self._monotonic = monotonic
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._main, name=f"store-reader-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, call: Call) -> None:
        """Queue a call."""
        self._queue.put(call)

    def finish(self) -> None:
        """Carry out what is queued, close, and return when the threads have ended."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _main(self) -> None:
        connection: sqlite3.Connection | None = None
        while (call := self._queue.get()) is not None:
            try:
                connection = connection or open_reader(self._path, SLICE_MS)
                self._run_in_time(connection, call)
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                call.error = self._told(error)
            deliver(self._post, [call])
        if connection is not None:
            connection.close()

    def _run_in_time(self, connection: sqlite3.Connection, call: Call) -> None:
        while True:
            try:
                return self._run(connection, call)
            except sqlite3.Error as error:
                if not faults.is_busy(error) or self._monotonic() >= call.deadline:
                    raise

    def _run(self, connection: sqlite3.Connection, call: Call) -> None:
        connection.execute("BEGIN")
        try:
            call.result = call.fn(View(connection), *call.args, **call.kwargs)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _told(self, error: BaseException) -> BaseException:
        if isinstance(error, sqlite3.Error):
            return faults.refusal_of(error, self._path) or error
        return error
