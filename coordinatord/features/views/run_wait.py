"""Waits for a seat or an answer, in pieces that a client repeats: a restart of the daemon ends no wait."""

from __future__ import annotations

from functools import partial
from typing import Final

from coordinatord import ids
from coordinatord.clock import Clock
from coordinatord.errors import Refused
from coordinatord.features.attention.table import open_kinds
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.table import seat_or_none, unknown_seat
from coordinatord.features.questions import table as questions
from coordinatord.features.questions.records import Open
from coordinatord.features.views import waiting
from coordinatord.features.views.requests import WaitFor
from coordinatord.features.views.waiting import Scene, Waited
from coordinatord.ids import SeatId
from coordinatord.store.changes import wait_for_news
from coordinatord.store.database import Database, View

LOOK_AGAIN_S: Final = 5.0
"""A wait looks afresh this often, whatever events say: one that was lost must not make it hang."""


class Waits:
    """Answers `seat.wait`."""

    def __init__(self, database: Database, lookout: Lookout, clock: Clock) -> None:
        self._database = database
        self._lookout = lookout
        self._clock = clock

    async def wait(self, caller: Caller, request: WaitFor) -> Waited:
        """Until it is over or ``limit_s`` has passed."""
        ends = self._clock.awake() + request.limit_s
        while True:
            panes, records = self._lookout.sightings.changes, self._database.changes
            since = panes.from_now(), records.from_now()
            found = await self._look(request)
            left = ends - self._clock.awake()
            if found.over or left <= 0:
                return found
            pause = min(left, LOOK_AGAIN_S)
            await wait_for_news(*since, pause=partial(self._clock.sleep, pause))

    async def _look(self, request: WaitFor) -> Waited:
        if ids.kind_of(request.target) == "question":
            _check(request, "answered")
            question = await self._database.read(questions.question_named, request.target)
            state = str(question.state.__struct_config__.tag)
            return waiting.of_question(question.id, request.until, state)
        if request.until == "answered":
            raise Refused(
                "bad-params",
                "Only a question can be answered.",
                "coordctl wait QUESTION --until answered",
            )
        seat, asks = await self._database.read(_seat, SeatId(request.target))
        judged = await self._lookout.judge(seat)
        scene = Scene(seen=judged.seen, outcome=judged.outcome, asks=asks)
        return waiting.of_seat(seat.id, request.until, scene)


def _check(request: WaitFor, wanted: str) -> None:
    if request.until != wanted:
        raise Refused(
            "bad-params",
            f"A question is not {request.until}; one waits until it is answered.",
            f"coordctl wait {request.target} --until answered",
        )


def _seat(view: View, name: SeatId) -> tuple[Seat, bool]:
    """The seat, and whether it asks for somebody."""
    seat = seat_or_none(view, name)
    if seat is None:
        raise unknown_seat(name)
    if seat.task is None:
        return seat, False
    asked = [
        each for each in questions.of_task(view, seat.task).items if isinstance(each.state, Open)
    ]
    return seat, bool(asked) or bool(open_kinds(view, seat.task))
