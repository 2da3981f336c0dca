"""Who is there when a story begins."""

from __future__ import annotations

from coordinatord.features.delivery.requests import InitSeat
from coordinatord.features.questions.requests import AskQuestion
from coordinatord.features.tasks.requests import NewTask
from coordinatord.features.views.records import Why
from coordinatord.features.views.requests import ExplainRecord
from coordinatord.ids import PaneId
from coordinatord.terminals.port import Status
from tests.house import House


async def staffed(house: House, *, boss_status: Status = "idle") -> tuple[PaneId, PaneId, str]:
    """A coordinator, a worker and a task."""
    boss = house.host.add_agent(status=boss_status)
    worker = house.host.add_agent()
    await house.until(lambda: {boss, worker} <= house.parts.sightings.panes.keys())
    await house.call(InitSeat(), boss)
    return boss, worker, await new_task(house, boss, worker)


async def new_task(house: House, boss: PaneId, worker: PaneId | None = None) -> str:
    """A further task."""
    return (await house.call(NewTask(title="one", worker_pane=worker), boss)).id


async def ask(house: House, task: str, pane: PaneId, text: str = "Which port?") -> str:
    """A question of the one in ``pane``; its id."""
    return (await house.call(AskQuestion(task=task, text=text), pane)).id


async def why(house: House, record: str) -> Why:
    """What `coordctl why` says."""
    return await house.call(ExplainRecord(id=record))


async def until_held(house: House, record: str, reason: str) -> None:
    """Wait until what is owed on a record waits for this reason."""

    async def held() -> bool:
        return (await why(house, record)).held == reason

    await house.until(held)


async def next_idle(house: House, pane: PaneId) -> None:
    """The agent works a while and is idle again, and whoever is due is told."""
    house.host.set_status(pane, "working")
    await house.rest()
    house.host.set_status(pane, "idle")
    await house.rest()
