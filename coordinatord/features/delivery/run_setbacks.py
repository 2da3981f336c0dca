"""Keeps what fails for one recipient from stopping the others.

The one place of this feature that catches every exception (docs/decisions/0006): what nobody expected is
told once with its trace, and whom it concerns rests alone, longer each time.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import Refused
from coordinatord.store.database import PASSING

PAUSES_S: Final = (2.0, 8.0, 30.0, 120.0)
"""Seconds of rest after the first, second … failure in a row; the last one repeats."""

T = TypeVar("T")

Tell: TypeAlias = Callable[[str, str, str], object]
"""Is given whom it concerns, the kind of error and its trace: places in our source and no words, since an
exception's words may hold a text of somebody."""


class Setback(msgspec.Struct, frozen=True):
    """A failure that nobody expected: how many in a row, its kind, and until when (awake seconds)."""

    times: int
    kind: str
    until: float


class Setbacks:
    """Who failed, and rests. ``failing`` is what `coordctl status` shows as degraded."""

    def __init__(self, what: str, clock: Clock, failing: dict[str, str], tell: Tell) -> None:
        """``what`` fails: words such as ``delivery to``, before the name of whom it concerns."""
        self._what = what
        self._clock = clock
        self._failing = failing
        self._tell = tell
        self._known: dict[str, Setback] = {}

    def resting(self, name: str) -> Setback | None:
        """The failure for which this one rests now."""
        known = self._known.get(name)
        return known if known is not None and known.until > self._clock.awake() else None

    async def isolate(self, name: str, act: Callable[[], Awaitable[T]]) -> T | Setback:
        """Do it; a failure concerns only this one.

        Raises:
            Refused: the store takes nothing now.
        """
        try:
            result = await act()
        except Exception as error:  # docs/decisions/0006
            if isinstance(error, Refused) and error.reason in PASSING:
                raise
            return self._note(name, error)
        if self._known.pop(name, None) is not None:
            self._failing.pop(f"{self._what} {name}", None)
        return result

    def keep(self, names: frozenset[str]) -> None:
        """Forget all but these: nothing is to be done for the others any more."""
        for name in self._known.keys() - names:
            del self._known[name]
            self._failing.pop(f"{self._what} {name}", None)

    def _note(self, name: str, error: BaseException) -> Setback:
        cause = _first(error)
        kind, before = type(cause).__name__, self._known.get(name)
        times = before.times + 1 if before else 1
        pause = PAUSES_S[min(times, len(PAUSES_S)) - 1]
        found = self._known[name] = Setback(times, kind, self._clock.awake() + pause)
        if before is None or before.kind != kind:
            self._tell(
                f"{self._what} {name}", kind, "".join(traceback.format_tb(cause.__traceback__))
            )
        self._failing[f"{self._what} {name}"] = kind
        return found


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
