"""One function on its way to a database thread and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

import anyio

Post: TypeAlias = Callable[[Callable[[], object]], object]
"""Run a function on the event loop's thread, soon; may be called from any thread."""

SLICE_MS: Final = 100
"""How long SQLite waits for another program's lock before the deadlines are looked at again."""

_ACT: Final[ContextVar[str]] = ContextVar("act", default="")


@contextmanager
def done_for(act: str) -> Iterator[None]:
    """What is written meanwhile stands in the journal as done for this request."""
    before = _ACT.set(act)
    try:
        yield
    finally:
        _ACT.reset(before)


class Call:
    """A function to be run in a transaction, and what came of it.

    ``deadline`` is monotonic seconds: until then it may wait for another program's lock.
    """

    __slots__ = ("act", "args", "deadline", "done", "error", "fn", "kwargs", "result")

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        deadline: float,
    ) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.deadline = deadline
        self.act = _ACT.get()
        self.done = anyio.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def outcome(self) -> Any:
        """The result, or the exception raised."""
        if self.error is not None:
            try:
                raise self.error
            finally:
                self.error = None  # the traceback holds this frame
        return self.result


def poster() -> Post:
    """How other threads reach the event loop that runs now."""
    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        import trio

        return trio.lowlevel.current_trio_token().run_sync_soon


def deliver(post: Post, calls: list[Call], then: Callable[[], None] | None = None) -> None:
    """Wake the callers, in one hop. A loop that is gone waits for nothing."""

    def on_loop() -> None:
        for call in calls:
            call.done.set()
        if then is not None:
            then()

    try:
        post(on_loop)
    except RuntimeError:
        return  # asyncio's closed loop and trio's RunFinishedError
