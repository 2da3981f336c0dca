"""A pane's address may be another terminal's a moment later; its shell is not the old one's then."""

from __future__ import annotations

from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.sightings import Sightings
from coordinatord.ids import PaneId
from coordinatord.terminals.fake import FakeTerminal
from coordinatord.terminals.fake_host import FakeHost
from coordinatord.terminals.port import Foreground, Sighting
from tests.house import FastClock


class SlowToTell(FakeTerminal):
    """Between a look at a pane and the answer about its processes the pane is closed, and its address given
    to a new one."""

    recycled = False

    async def foreground(self, pane: PaneId) -> Foreground:
        if not self.recycled:
            self.recycled = True
            self._host.recycle(pane)
        return await super().foreground(pane)


def watched() -> tuple[FakeHost, PaneId, Lookout]:
    clock = FastClock()
    host = FakeHost(clock.awake)
    pane = host.add_agent()
    return host, pane, Lookout(SlowToTell(host), Sightings(clock), clock)


async def test_a_new_panes_shell_is_not_learned_for_the_old_terminal() -> None:
    """C-25: or the new pane would pass for the old one's occupant after a hand-off."""
    host, pane, lookout = watched()
    before = await lookout.look(pane)
    assert isinstance(before, Sighting)
    assert await lookout.foreground(before) is None
    assert lookout.sightings.shell(before.terminal_id) is None
    now = await lookout.look(pane)
    assert isinstance(now, Sighting)
    found = await lookout.foreground(now)
    assert found is not None
    assert lookout.sightings.shell(now.terminal_id) == host.panes[pane].shell == found.shell


async def test_nor_by_looking_around() -> None:
    """What a snapshot shows and what was probed after it belong together only if it is still so."""
    host, pane, lookout = watched()
    old = host.panes[pane].terminal_id
    assert await lookout.look_around()
    assert lookout.sightings.shell(old) is None
    assert lookout.sightings.panes[pane].terminal_id != old
    assert await lookout.look_around()
    assert lookout.sightings.shell(host.panes[pane].terminal_id) == host.panes[pane].shell


async def test_a_terminal_whose_shell_is_known_is_asked_once() -> None:
    """The ordinary way costs no second look."""
    clock = FastClock()
    host = FakeHost(clock.awake)
    pane = host.add_agent()
    lookout = Lookout(FakeTerminal(host), Sightings(clock), clock)
    assert await lookout.look_around()
    calls = len(host.calls)
    assert await lookout.foreground(lookout.sightings.panes[pane]) is not None
    assert [call.method for call in host.calls[calls:]] == ["foreground"]
