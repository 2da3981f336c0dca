"""Answers `task.…`."""

from __future__ import annotations

from coordinatord.errors import Refused
from coordinatord.features.panes.methods import occupant_in
from coordinatord.features.panes.records import Caller, Present
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.tasks import table
from coordinatord.features.tasks.records import LaunchSpecification, Task
from coordinatord.features.tasks.requests import ListTasks, NewTask
from coordinatord.features.tasks.run_bind import seat_worker
from coordinatord.prose import accept, is_line
from coordinatord.store.database import Transaction, View
from coordinatord.wire.requests import Listing

TITLE_BYTES = 400
"""Longest title in bytes of UTF-8: it stands in lists."""


class TaskMethods:
    """Routes of this feature; what must be seen is seen before the transaction."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout = lookout

    async def look(self, caller: Caller, request: NewTask) -> Present | None:
        """Who is in the worker's pane, if one is named."""
        if request.worker_pane is None:
            return None
        return await occupant_in(self._lookout, request.worker_pane)


def new(tx: Transaction, caller: Caller, request: NewTask, found: Present | None) -> Task:
    """Record the task, and its worker's seat."""
    accept(request.title, "the title", TITLE_BYTES)
    if not is_line(request.title):
        raise Refused(
            "bad-params", "The title must be one printable line.", "Put the rest into --brief."
        )
    if request.brief is not None:
        accept(request.brief, "the brief")
    task = table.add(tx, caller, request.title, request.brief, _launch(request))
    if found is not None:
        seat_worker(tx, caller, task, found)
    return task


def listed(view: View, caller: Caller, request: ListTasks) -> Listing[Task]:
    """The tasks, oldest first."""
    found = table.listed(view, request.archived)
    return Listing(items=found.items, incomplete=bool(found.unreadable))


def _launch(request: NewTask) -> LaunchSpecification | None:
    given = {
        name: value
        for name in ("agent", "model", "reasoning")
        if (value := getattr(request, name)) is not None
    }
    if not given:
        return None
    if request.agent is None:
        raise Refused(
            "bad-params",
            "A model or an effort is asked of a kind of agent, and none is named.",
            "Add --agent KIND, for example codex.",
        )
    return LaunchSpecification(
        agent=request.agent,
        model=request.model,
        reasoning=request.reasoning,
        sources=dict.fromkeys(given, "request"),
    )
