"""From a connection to a proven seat: gathers the facts, `features/panes/proof.py` decides."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import anyio
import msgspec

from coordinatord.daemon.requests import Hello
from coordinatord.features.launches import table as launches
from coordinatord.features.panes import proof
from coordinatord.features.panes.records import Caller, Seat
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.table import all_seats
from coordinatord.ids import PaneId
from coordinatord.kinds import AgentKind, is_shared_server
from coordinatord.server.dispatch import Link
from coordinatord.store.database import Database, View

REFRESH_WITHIN_S = 1.0
"""How long a caller in no known pane waits for a fresh list of panes; a hung host must not stop people."""


class Known(msgspec.Struct, frozen=True):
    """A caller that was proven on this connection, and what that rested on."""

    caller: Caller
    sightings: int
    records: int


class Standing:
    """What is kept with a connection. One look at the host after it came is enough for its whole life:
    whoever is its ancestor was there before it. The greeting and the request behind it share that look."""

    def __init__(self) -> None:
        self.known: Known | None = None
        self.looked = False
        self.looking = anyio.Lock()


class Callers:
    """Proves who calls. Results are kept per connection until panes or records change."""

    def __init__(
        self,
        database: Database,
        lookout: Lookout,
        host_socket: Callable[[], str],
        kinds: Mapping[str, AgentKind],
    ) -> None:
        self._database = database
        self._lookout = lookout
        self._host_socket = host_socket
        self._kinds = kinds

    async def of(self, link: Link) -> Caller:
        """The caller on this connection."""
        if not isinstance(link.caller, Standing):
            link.caller = Standing()
        standing, known = link.caller, link.caller.known
        counts = (self._lookout.sightings.changes.count, self._database.changes.count)
        if known is not None and (known.sightings, known.records) == counts:
            return known.caller
        caller = await self._prove(link, standing)
        standing.known = Known(caller, *counts)
        return caller

    async def _prove(self, link: Link, standing: Standing) -> Caller:
        hello = link.greeting if isinstance(link.greeting, Hello) else None
        claimed = await self._claim(link, hello)
        terminal, seats = await self._database.read(_known, hello.token if hello else None)
        evidence = proof.Evidence(
            ancestry=link.peer.ancestry,
            claimed_pane=claimed,
            token_terminal=terminal,
            shared_server=self._under_shared_server(link),
        )
        placed = self._place(evidence)
        if placed is None or placed.proof == "claim":
            await self._refresh(standing)
            placed = self._place(evidence)
        return proof.caller_of(placed, seats, self._lookout.sightings.shell, evidence)

    def _under_shared_server(self, link: Link) -> bool:
        """Looked for up to the nearest pane's shell: above it, it is the terminal host that is served."""
        shells = self._lookout.sightings.shells()
        for process, argv in zip(link.peer.ancestry, link.peer.arguments, strict=True):
            if process in shells:
                return False
            if is_shared_server(self._kinds, argv):
                return True
        return False

    def _place(self, evidence: proof.Evidence) -> proof.Placed | None:
        sightings = self._lookout.sightings
        return proof.place(evidence, sightings.panes, sightings.shells())

    async def _refresh(self, standing: Standing) -> None:
        """A pane may be too new to be known: look once before calling anybody the operator."""
        async with standing.looking:
            if self._lookout.sightings.connected and not standing.looked:
                with anyio.move_on_after(REFRESH_WITHIN_S):
                    standing.looked = await self._lookout.look_around()

    async def _claim(self, link: Link, hello: Hello | None) -> PaneId | None:
        """The pane that the caller says it is in, if it means this daemon's host."""
        if hello is not None and hello.pane_id:
            pane, socket = hello.pane_id, hello.terminal_socket
        else:
            environ = link.peer.environment
            pane, socket = environ.get("HERDR_PANE_ID", ""), environ.get("HERDR_SOCKET_PATH")
        if not pane:
            return None
        # a host names both; whoever has the pane alone was given it on the way, and means this host
        if not socket or await anyio.to_thread.run_sync(_same_place, socket, self._host_socket()):
            return PaneId(pane)
        return None


def _same_place(one: str, other: str) -> bool:
    """Also through links: a claim that is not recognized would make its caller the operator."""
    return os.path.realpath(one) == os.path.realpath(other)


def _known(view: View, token: str | None) -> tuple[str | None, list[Seat]]:
    return launches.terminal_of(view, token) if token else None, all_seats(view)
