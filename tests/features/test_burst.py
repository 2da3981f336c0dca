"""Many events at once, some of them lost: the view is true again within one backstop interval."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from coordinatord.daemon.settings import Settings
from coordinatord.terminals.port import Status
from tests.house import FastClock, living

PANES = 30
EVENTS = 600
LOST = 0.25
BACKSTOP_S = 15.0


async def test_a_burst_of_events_of_which_a_quarter_is_lost(tmp_path: Path) -> None:
    """C-33: 600 changes in a second; no snapshot and no look per event, no reconnect, no lie left."""
    chance = random.Random(4)
    states: tuple[Status, ...] = ("idle", "working", "blocked", "done")
    clock = FastClock()
    async with living(tmp_path, clock=clock, settings=Settings(backstop_s=BACKSTOP_S)) as house:
        panes = [house.host.add_agent() for _ in range(PANES)]
        await house.until(lambda: set(panes) <= house.parts.sightings.panes.keys())
        # every pane is watched: the events are those of status changes
        stream = house.host._streams[0]
        stream.watching = frozenset(panes)
        before, ups = len(house.host.calls), stream.ups
        began = clock.awake()
        for number in range(EVENTS):
            house.host.mute = chance.random() < LOST
            house.host.set_status(chance.choice(panes), chance.choice(states))
            if number % 20 == 19:
                await clock.sleep(1 / 30)
        house.host.mute = False

        def true() -> bool:
            seen = house.parts.sightings.panes
            return all(seen[pane].status == house.host.agent(pane).status for pane in panes)

        await house.until(true)
        passed = clock.awake() - began
        calls = Counter(call.method for call in house.host.calls[before:])
        # one look or snapshot a moment of calm at most, however many events came in it
        assert calls["snapshot"] <= passed / BACKSTOP_S + EVENTS / 20 + 1
        assert calls["look"] + calls["snapshot"] < EVENTS / 3
        assert stream.ups == ups
        # what a muted event would have told was found by a look at everything, not by luck
        assert house.parts.sightings.last_snapshot is not None


async def test_a_steady_trickle_of_events_does_not_put_off_the_backstop(tmp_path: Path) -> None:
    """C-33, T-7: what was lost about one pane is found in time while another one never rests."""
    states: tuple[Status, ...] = ("working", "idle")
    clock = FastClock()
    async with living(tmp_path, clock=clock, settings=Settings(backstop_s=BACKSTOP_S)) as house:
        busy, lost = house.host.add_agent(), house.host.add_agent()
        await house.until(lambda: {busy, lost} <= house.parts.sightings.panes.keys())
        house.host._streams[0].watching = frozenset({busy, lost})
        house.host.mute = True
        house.host.set_status(lost, "blocked")
        house.host.mute = False
        began = clock.awake()
        while house.parts.sightings.panes[lost].status != "blocked":
            for status in states:
                house.host.set_status(busy, status)
                await clock.sleep(0.5)
                await house.rest()
            assert clock.awake() - began < 2 * BACKSTOP_S
        assert house.parts.ground.terminal.health().gaps_found == 1
