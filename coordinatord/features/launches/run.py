"""Opens a pane, gives it our environment, and starts what shall run in it."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from typing import Final

import anyio
import anyio.to_thread
import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import PaneMissing, Refused, Uncertain, Unreachable
from coordinatord.features.launches import line, table
from coordinatord.features.launches.requests import OpenPane
from coordinatord.features.panes.judgement import Gone
from coordinatord.features.panes.methods import named_pane, shown, standing_pane
from coordinatord.features.panes.records import Caller, PaneRecord
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.typing.run import Typist
from coordinatord.kinds import AgentKind
from coordinatord.store.database import Database
from coordinatord.terminals.port import Sighting

READY_WITHIN_S: Final = 12.0
"""How long a new shell may take to stand at its prompt: its start-up files run programs in front
(H#3208). Below the 15 s of silence after which clients give up."""

AGENT_WITHIN_S: Final = 13.0
"""How long the shell and the agent in it may take together, for the same reason."""

LOOK_EVERY_S: Final = 0.1


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon gives to panes: the workspace's root, `coordctl` and the search path."""

    root: str
    name: str
    coordctl: str | None
    path: str


class Launcher:
    """Opens panes. A repeated request with the same key finds the pane that the first one opened."""

    def __init__(
        self,
        database: Database,
        lookout: Lookout,
        typist: Typist,
        kinds: Mapping[str, AgentKind],
        surroundings: Surroundings,
        clock: Clock,
        source: random.Random,
    ) -> None:
        self._database = database
        self._lookout = lookout
        self._typist = typist
        self._kinds = kinds
        self._surroundings = surroundings
        self._clock = clock
        self._source = source

    async def open(self, caller: Caller, request: OpenPane) -> PaneRecord:
        """Answer `pane.open`."""
        await self._check(request)
        key = f"{caller.seat} {request.key}"
        begun = await self._database.read(table.by_key, key)
        found = await self._found(begun) if begun else None
        if found is None:
            token = self._source.randbytes(24).hex()
            await self._database.write(table.intend, caller, key, token)
            found = await self._make(caller, request, token), table.digest(token)
        seen, digest = found
        await self._database.write(table.opened, digest, seen.pane, seen.terminal_id)
        if request.label is not None:
            await self._lookout.terminal.rename(seen.pane, request.label)
        if request.command or request.agent:
            await self._start(seen, request, digest)
        fresh = await self._lookout.look(seen.pane)
        if isinstance(fresh, Gone):
            raise PaneMissing(seen.pane)
        return shown(fresh if isinstance(fresh, Sighting) else seen, None)

    async def _check(self, request: OpenPane) -> None:
        if request.agent is not None and request.agent not in self._kinds:
            raise Refused(
                "bad-params",
                f"No kind of agent is called {request.agent!r:.40}.",
                f"Known kinds: {', '.join(sorted(self._kinds))}",
            )
        if request.agent and request.command:
            raise Refused(
                "bad-params",
                "Give either an agent or a command, not both.",
                "--agent KIND, or -- CMD",
            )
        if request.cwd is not None:
            await _check_folder(request.cwd)
        line.one_line(request.label, "label")
        line.one_line(request.cwd, "folder")
        line.command_line(request.command)
        if request.split is not None:
            await standing_pane(self._lookout, request.split)

    async def _make(self, caller: Caller, request: OpenPane, token: str) -> Sighting:
        terminal, around = self._lookout.terminal, self._surroundings
        cwd = request.cwd or around.root
        env = line.pane_environment(
            root=around.root, token=token, coordctl=around.coordctl, path=around.path
        )
        if request.split is not None:
            pane = named_pane(request.split)
            made = await terminal.split(pane, request.direction, cwd=cwd, env=env)
        else:
            made = await self._make_tab(caller, request, cwd, env)
        self._lookout.sightings.note(made)
        return made

    async def _make_tab(
        self, caller: Caller, request: OpenPane, cwd: str, env: Mapping[str, str]
    ) -> Sighting:
        terminal = self._lookout.terminal
        workspace = await self._host_workspace(caller)
        if workspace is None:
            return await terminal.new_workspace(label=self._surroundings.name, cwd=cwd, env=env)
        return await terminal.new_tab(workspace, label=request.label, cwd=cwd, env=env)

    async def _host_workspace(self, caller: Caller) -> str | None:
        """The caller's own, else the one made for this project; never the one that happens to be active."""
        await self._lookout.look_around()
        sightings = self._lookout.sightings
        if caller.pane is not None and caller.proven and caller.pane in sightings.panes:
            return sightings.panes[caller.pane].workspace_id
        ours = await self._database.read(table.terminals)
        for seen in sightings.panes.values():
            if seen.terminal_id in ours:
                return seen.workspace_id
        named = [
            each.workspace_id
            for each in sightings.workspaces.values()
            if each.label == self._surroundings.name
        ]
        return named[0] if named else None

    async def _found(self, begun: Sequence[table.Launch]) -> tuple[Sighting, str] | None:
        """The pane that an earlier try opened, and its token's digest: its shell carries the token.

        Raises:
            Unreachable: the host does not show its panes, so nobody knows whether one was made.
        """
        if not await self._lookout.look_around():
            raise Unreachable(self._lookout.sightings.trouble or "it was asked for its panes")
        recorded = {each.terminal: each.token for each in begun if each.terminal}
        lost = {each.token for each in begun if each.terminal is None}
        for seen in list(self._lookout.sightings.panes.values()):
            if seen.terminal_id in recorded:
                return seen, recorded[seen.terminal_id]
        for seen in list(self._lookout.sightings.panes.values()) if lost else ():
            digest = await self._token_in(seen)
            if digest in lost:
                return seen, digest
        return None

    async def _token_in(self, seen: Sighting) -> str:
        """The digest of the launch token in a pane's shell; empty if it has none."""
        try:
            foreground = await self._lookout.terminal.foreground(seen.pane)
        except PaneMissing:
            return ""
        return table.digest(foreground.launch_token) if foreground.launch_token else ""

    async def _start(self, seen: Sighting, request: OpenPane, digest: str) -> None:
        begun = anyio.current_time()
        if not await self._prompt_stands(seen):
            raise Refused(
                "not-typed",
                f"The shell in {seen.pane} still runs its start-up files after {READY_WITHIN_S:.0f} s;"
                " the pane is open and nothing was typed.",
                f"Type it yourself once the prompt stands: coordctl pane send {seen.pane} --enter TEXT",
            )
        if not await self._database.write(table.about_to_type, digest):
            return
        if request.command:
            held = await self._typist.shell_line(seen, line.command_line(request.command))
            if held is not None:
                raise Refused(
                    "paused" if held.reason == "paused" else "not-typed",
                    f"The pane {seen.pane} is open and nothing was typed: {held.detail or held.reason}.",
                    "Start the command there yourself.",
                )
        elif request.agent:
            await self._start_agent(seen, self._kinds[request.agent], begun + AGENT_WITHIN_S)

    async def _prompt_stands(self, seen: Sighting) -> bool:
        """Only the shell is in front and it has drawn something; a bounded readiness check."""
        with anyio.move_on_after(READY_WITHIN_S):
            while True:
                foreground = await self._lookout.foreground(seen)
                if foreground and foreground.shell and foreground.group == foreground.shell.pid:
                    shown_text = await self._lookout.terminal.read(seen.pane)
                    if shown_text.text.strip():
                        return True
                await self._clock.sleep(LOOK_EVERY_S)
        return False

    async def _start_agent(self, seen: Sighting, kind: AgentKind, deadline: float) -> None:
        name = f"{kind.name}-{self._source.randbytes(3).hex()}"
        await self._lookout.terminal.start_agent(seen.pane, kind.name, name, ())
        with anyio.CancelScope(deadline=deadline):
            # nothing but a look advances a pending start for some agents (agents.md §1, fact 8)
            while True:
                now = await self._lookout.look(seen.pane)
                if isinstance(now, Gone):
                    raise PaneMissing(seen.pane)
                if isinstance(now, Sighting) and now.agent and not now.launch_pending:
                    return
                await self._clock.sleep(LOOK_EVERY_S * 5)
        raise Uncertain(
            f"{seen.pane} is open, and {kind.name} did not show itself there within"
            f" {AGENT_WITHIN_S:.0f} s"
        )


def ours(found: Sequence[Sighting], terminals: frozenset[str]) -> list[Sighting]:
    """Those panes that we opened."""
    return [seen for seen in found if seen.terminal_id in terminals]


async def _check_folder(cwd: str) -> None:
    """A host would start the pane in the home folder, without a word, where it cannot enter this one
    (recording 02), and a command would run there."""
    if not cwd.startswith("/"):
        raise Refused("bad-params", "The folder must be an absolute path.", '--cwd "$PWD"')
    if "\0" in cwd or not await anyio.to_thread.run_sync(os.access, cwd + "/.", os.X_OK):
        raise Refused("bad-params", f"There is no folder {cwd!r:.200} that can be entered.")
