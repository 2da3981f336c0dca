"""Where the parts that decide tell what they saw and what they decided, while somebody records it.

Nobody decides anything on what is told here: it is for `coordctl trace` only, and costs nothing while nobody
listens (docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Listener: TypeAlias = Callable[[object], None]


class Trace:
    """A place to tell facts, whoever listens. Used on the event loop's thread only."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    @property
    def on(self) -> bool:
        """Does somebody listen? What is dear to put together need not be, else."""
        return bool(self._listeners)

    def tell(self, fact: object) -> None:
        """Give this to everybody who listens. A listener must not block and must not raise."""
        for listener in self._listeners:
            listener(fact)

    def listen(self, listener: Listener) -> None:
        """Tell it from now on."""
        self._listeners = [*self._listeners, listener]

    def leave(self, listener: Listener) -> None:
        """Tell it no more."""
        self._listeners = [each for each in self._listeners if each != listener]
