"""One pane: a pseudo-terminal, the screen that shows it, and the queue of what is to be typed.

Invariant: `write` never blocks and keeps its order; what the queue took is typed or the pane has
ended. A flood of output in one pane gives the loop back after every millisecond, so that the
others stay responsive. What was read is drawn before more is read, except for a flood of short
lines: that waits a moment for more, since most of it will never have to be drawn.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

from coordinatord.panehost.foreground import ForegroundFacts, foreground_of, session_members
from coordinatord.panehost.pty import Pty
from coordinatord.panehost.screen import NARROWEST, PIECE, Screen

QUEUE_LIMIT: Final = 1024
"""Writes that may wait, as in Herdr (herdr-protocol.md §2.4)."""
TURN_S: Final = 0.0007
"""Seconds that a pane may read or draw before the loop gets its turn: a request takes several."""
_STEP: Final = PIECE // 2
"""Bytes drawn between two looks at the time: of the shortest lines that is a turn."""
_LEAST: Final = 64
"""The same for output that is made to take long, such as nothing but resets of the terminal."""
MOST_UNDRAWN: Final = 128 << 10
"""Bytes that are read ahead of drawing; over it the application has to wait."""
LATE_S: Final = 0.1
"""How long a flood may stay undrawn while more of it comes."""
GATHER_S: Final = 0.001
"""Between two reads of such a flood. Its terminal gives more the less often it is interrupted, and
its buffer takes longer to fill."""
PATIENCE_S: Final = 0.25
"""How long a closing pane's processes get after each signal."""
_LOOK_S: Final = 0.01

PASTE_BEGIN: Final = b"\x1b[200~"
PASTE_END: Final = b"\x1b[201~"


class PaneClosed(Exception):
    """The pane's shell has ended; nothing can be typed there."""


class QueueFull(Exception):
    """The pane takes no input and too many writes wait already."""


class Pane:
    """A shell in a terminal. Make it with `spawn`, then keep `run` going."""

    def __init__(
        self,
        pty: Pty,
        screen: Screen,
        on_output: Callable[[], None],
        on_exit: Callable[[int | None], None],
    ) -> None:
        self.shell_pid = pty.pid
        self.screen = screen
        self._pty = pty
        self._on_output = on_output
        self._on_exit = on_exit
        self._queue: deque[bytes] = deque()
        self._queued = anyio.Event()
        self._sinks: list[Callable[[bytes], None]] = []
        self._running = False
        self._over = False
        self._undrawn = b""
        self._step = _STEP

    @classmethod
    def spawn(
        cls,
        *,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        columns: int,
        rows: int,
        on_output: Callable[[], None],
        on_exit: Callable[[int | None], None],
        scrollback: int = 5000,
    ) -> Pane:
        """Start ``argv`` in a new terminal; a ``cwd`` that does not exist becomes the home folder.

        ``on_output`` is called in the loop after each batch of output, ``on_exit`` once at the end,
        with the exit status (negative for a signal, None if unknown). Raises `OSError` if nothing
        could be started.
        """
        columns, rows = max(NARROWEST, columns), max(1, rows)
        pty = Pty.spawn(argv, cwd, env, columns, rows)
        return cls(pty, Screen(columns, rows, scrollback), on_output, on_exit)

    async def run(self) -> None:
        """Show what the pane writes and type what is queued, until its shell has ended."""
        self._running = True
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read)
                tasks.start_soon(self._type)
                await self._pty.wait_exit()
                tasks.cancel_scope.cancel()
            await self._drain()
        finally:
            self._over = True
            self._pty.close()
        self._on_exit(self._pty.status)

    def write(self, data: bytes) -> None:
        """Queue bytes for the application. Raises `PaneClosed` or `QueueFull`: nothing is typed."""
        if self._over:
            raise PaneClosed
        if len(self._queue) >= QUEUE_LIMIT:
            raise QueueFull
        if data:
            self._queue.append(data)
            self._queued.set()

    def paste(self, text: str) -> bytes:
        """``text`` as bytes for `write`, wrapped iff the application has bracketed paste on now.

        Nothing is taken out of the text: a paste end in it ends the paste, as in Herdr.
        """
        encoded = text.encode("utf-8", "replace")
        return PASTE_BEGIN + encoded + PASTE_END if self.screen.bracketed_paste else encoded

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of terminal and screen, at least 2 by 1."""
        columns, rows = max(NARROWEST, columns), max(1, rows)
        self.screen.resize(columns, rows)
        self._pty.resize(columns, rows)

    def foreground(self) -> ForegroundFacts:
        """What runs in front now. Reads the process table: call it in a worker thread."""
        facts = foreground_of(self._pty.descriptor, self.shell_pid)
        # the number of a closed descriptor may be another terminal's by now
        return ForegroundFacts(self.shell_pid) if self._pty.closed else facts

    async def close(self) -> None:
        """End all processes of the pane's session: HUP, TERM, KILL, as long as something lives.

        Once the shell has ended by itself this does nothing: its pid, which is the session's, may
        name somebody else's session by then.
        """
        if self._over:
            return
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            living = await self._living()
            if not living:
                break
            _signal(living, number)
            with anyio.move_on_after(PATIENCE_S):
                while await self._living():  # noqa: ASYNC110 - others' processes send no event
                    await anyio.sleep(_LOOK_S)
        if not self._running:
            self._over = True
            self._pty.reap()
            self._pty.close()

    def redraw(self) -> bytes:
        """Bytes that repaint the screen, its cursor and its modes for somebody who attaches."""
        return self.screen.redraw()

    def tap(self, sink: Callable[[bytes], None]) -> Callable[[], None]:
        """Give all further output to ``sink`` as it comes; returns what takes it off again."""
        self._sinks.append(sink)

        def remove() -> None:
            if sink in self._sinks:
                self._sinks.remove(sink)

        return remove

    async def _read(self) -> None:
        late = 0.0
        while True:
            more = self._fetch()
            if more and time.perf_counter() < late and self.screen.floods(self._undrawn):
                await anyio.sleep(GATHER_S if self._pty.drained else 0)
            elif self._undrawn:
                await self._draw()
                late = time.perf_counter() + LATE_S
            elif self._pty.at_end:
                return
            else:
                await self._pty.wait_readable()

    def _fetch(self) -> int:
        """Read what is there behind what waits, up to a limit; how many bytes that were.

        Who is attached gets all of it, the screen only what leaves a trace there.
        """
        pieces = [self._undrawn]
        size = waited = len(self._undrawn)
        ends = time.perf_counter() + TURN_S
        while (
            size < MOST_UNDRAWN
            and time.perf_counter() < ends
            and (piece := self._pty.read_nowait())
        ):
            pieces.append(piece)
            size += len(piece)
        output = b"".join(pieces)
        self._undrawn = self.screen.worth_drawing(output)
        self._pass_on(output[: size - len(self._undrawn)])
        return size - waited

    async def _draw(self) -> None:
        """Draw what was read, in turns."""
        while self._undrawn:
            ends = time.perf_counter() + TURN_S
            self._draw_piece()
            while self._undrawn and time.perf_counter() < ends:
                self._draw_piece()
            self._on_output()
            await anyio.lowlevel.checkpoint()

    def _draw_piece(self) -> None:
        """Draw the first piece of what was read."""
        piece, self._undrawn = self._undrawn[: self._step], self._undrawn[self._step :]
        began = time.perf_counter()
        answers = self.screen.feed(piece)
        self._pace(time.perf_counter() - began)
        if answers and not self._over and len(self._queue) < QUEUE_LIMIT:
            self._queue.append(answers)
            self._queued.set()
        self._pass_on(piece)

    def _pace(self, took: float) -> None:
        """What is drawn between two looks at the time shall not take longer than a turn."""
        if took > TURN_S:
            self._step = max(_LEAST, self._step // 2)
        elif took < TURN_S / 4:
            self._step = min(_STEP, self._step * 2)

    def _pass_on(self, piece: bytes) -> None:
        """In step with the screen: a repaint shows what was passed on before it, and no more."""
        if piece:
            for sink in tuple(self._sinks):
                sink(piece)

    async def _drain(self) -> None:
        """What the shell wrote last; a child that it left behind is not waited for."""
        self._over = True
        await self._draw()
        left = MOST_UNDRAWN  # more than fits into a terminal
        while left > 0 and (fetched := self._fetch()):
            left -= fetched
            await self._draw()
        self._on_output()

    async def _type(self) -> None:
        while True:
            await self._queued.wait()
            self._queued = anyio.Event()
            while self._queue:
                await self._type_one()

    async def _type_one(self) -> None:
        """The first of the queue; it stays there until all of it was taken."""
        rest = self._queue[0]
        while rest:
            try:
                taken = self._pty.write_nowait(rest)
            except OSError:  # the terminal is gone; `run` is about to see that the shell is too
                self._queue.clear()
                return
            rest = rest[taken:]
            if rest:
                await self._pty.wait_writable()
        self._queue.popleft()

    async def _living(self) -> list[int]:
        return await anyio.to_thread.run_sync(session_members, self.shell_pid)


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
