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
        self.lost = 0
        """Facts that a listener could not take."""

    @property
    def on(self) -> bool:
        """Does somebody listen? What is dear to put together need not be, else."""
        return bool(self._listeners)

    def tell(self, fact: object) -> None:
        """Give this to everybody who listens. A listener must not block; one that fails loses this fact, and
        whoever decides goes on (docs/decisions/0008)."""
        for listener in self._listeners:
            try:
                listener(fact)
            except Exception:  # noqa: BLE001 - who listens must not stop who decides
                self.lost += 1

    def listen(self, listener: Listener) -> None:
        """Tell it from now on."""
        self._listeners = [*self._listeners, listener]

    def leave(self, listener: Listener) -> None:
        """Tell it no more."""
        self._listeners = [each for each in self._listeners if each != listener]
