"""The daemon's life: settings, lock, store, terminal host, parts, socket; and the way down again.

The only place that builds things. `parts.py` puts the features together, `routes.py` frames them.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog
from anyio.abc import SocketListener, TaskStatus

from coordinatord import __version__, kinds, lineage, locate
from coordinatord.clock import Clock, SystemClock
from coordinatord.daemon import hosts, instance, logs, settings_files
from coordinatord.daemon.ground import Ground
from coordinatord.daemon.host_id import host_id, state_folders
from coordinatord.daemon.parts import Parts
from coordinatord.daemon.settings import Resolved, without_ours
from coordinatord.daemon.supervision import Supervisor
from coordinatord.daemon.sweep import sweep
from coordinatord.daemon.systemd import Notifier, without_manager
from coordinatord.errors import WorldFailed
from coordinatord.features.delivery.run_switch import first_start_of
from coordinatord.features.launches import table as launches
from coordinatord.features.launches.run import Surroundings
from coordinatord.features.panes.run_host import name_host
from coordinatord.features.tool_runs.files import Place
from coordinatord.features.upkeep.files import Premises
from coordinatord.features.views.methods import Running
from coordinatord.ids import make
from coordinatord.server.listener import serve
from coordinatord.store.database import Database
from coordinatord.terminals.choice import Choice
from coordinatord.terminals.herdr.backend import HerdrTerminal

HOST_CALL_S: Final = 5.0
"""Longest that one call to the terminal host may take (coordination.md §3.1)."""

STOP_WITHIN_S: Final = 4.5
"""A stop ends within 5 seconds, whatever is in hand (case G-11)."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line and the environment say."""

    workspace: locate.Workspace
    environ: Mapping[str, str]
    flags: Mapping[str, str] = {}
    socket: str | None = None


async def run(start: Start) -> None:
    """Be the daemon of a workspace until SIGTERM, SIGINT or `daemon.stop`.

    Raises:
        Refused: what stands in the way, with a sentence; nothing was started then.
    """
    workspace, environ = start.workspace, start.environ
    resolved = settings_files.load(
        start.flags, environ, Path(workspace.file("config.toml")), _user_file(environ)
    )
    clock = SystemClock()
    kept = logs.start(
        level=resolved.settings.log_level,
        file=Path(workspace.file("daemon.log")),
        console=logs.console_for(2, environ),
        clock=clock.awake,
        wall=lambda: f"{clock.wall():.3f}",
    )
    handed_on = without_manager(without_ours(environ))
    taking = dict(environ)
    path = Path(start.socket) if start.socket else None
    held = instance.begin(workspace, taking, os.getpid(), path)
    # children and panes must not see whose pane or which workspace we were started in
    os.environ.clear()
    os.environ.update(handed_on)
    daemon = Daemon(start, resolved, handed_on, held, clock, kept)
    try:
        await daemon.live()
    finally:
        daemon.held.end()
        kept.close()


class Daemon:
    """One life of the daemon, from the lock to its release."""

    def __init__(
        self,
        start: Start,
        resolved: Resolved,
        handed_on: Mapping[str, str],
        held: instance.Instance,
        clock: Clock,
        logs_kept: logs.Logs,
    ) -> None:
        self.held = held
        self._logs = logs_kept
        self._start = start
        self._settings = resolved.settings
        self._explained = resolved.explain()
        self._handed_on = handed_on
        self._clock = clock
        self._source = random.SystemRandom()
        self._notifier = Notifier(start.environ, os.getpid())
        self._stopping = anyio.Event()
        self._silent = anyio.Event()
        self._with_panes = False
        self._log = structlog.get_logger()

    async def live(self) -> None:
        """Open the store, find the host, serve, and end in order."""
        workspace = self._start.workspace
        database = await Database.open(
            Path(workspace.file("coordinator.db")), wall=self._clock.wall, source=self._source
        )
        async with database:
            left = await database.write(name_host, self._host())
            if left:
                self._log.warning("seats-of-another-machine", given_up=left)
            choice = await hosts.find(
                workspace,
                self._settings,
                self._host_environ(),
                database,
                self._clock,
                deliberate="terminal" in self._start.flags,
            )
            parts = Parts(self._ground(database, choice))
            await parts.learn_launches()
            self._log.info("started", pid=os.getpid(), terminal=choice.kind, version=__version__)
            await self._announce(database)
            await self._serve(parts, choice)
            if self._with_panes:
                await self._end_panes(parts, choice)
        self._log.info("stopped", pid=os.getpid())

    async def _announce(self, database: Database) -> None:
        """The first start of a version says whether agents are told by themselves (coordination.md §4.2)."""
        on = self._settings.delivery.events
        if await database.write(first_start_of, __version__, on):
            self._log.info("delivery-by-events", on=on, switch="coordctl delivery enable|disable")

    def _host(self) -> str:
        folder = Path(self._start.workspace.file("lock")).parent
        return host_id(state_folders(self._start.environ, folder), self._source)

    def _host_environ(self) -> dict[str, str]:
        """For finding a host HERDR_* is read; what is handed on has none of it."""
        named = {
            name: value
            for name, value in self._start.environ.items()
            if name in ("HERDR_SOCKET_PATH", "HERDR_SESSION")
        }
        return {**self._handed_on, **named}

    def _ground(self, database: Database, choice: Choice) -> Ground:
        workspace = self._start.workspace
        user = _user_file(self._start.environ)
        return Ground(
            database=database,
            terminal=HerdrTerminal(
                choice.socket, deadline=HOST_CALL_S, source=self._source, clock=self._clock
            ),
            kinds=kinds.load(user.parent / "kinds" if user else None),
            clock=self._clock,
            source=self._source,
            settings=self._settings,
            surroundings=Surroundings(
                root=workspace.root,
                name=os.path.basename(workspace.root) or "root",
                coordctl=find_coordctl(self._handed_on),
                path=self._handed_on.get("PATH", os.defpath),
            ),
            letters=Path(workspace.file("messages")),
            environment=_environment,
            running=Running(
                pid=os.getpid(),
                version=__version__,
                workspace=workspace.root,
                socket=str(self.held.path),
                started_at=self._clock.wall(),
            ),
            config=Path(workspace.file("config.toml")),
            host_socket=choice.socket,
            host_kind=choice.kind,
            environ=self._handed_on,
            explained=self._explained,
            premises=Premises(folder=Path(workspace.file("lock")).parent, socket=self.held.path),
            in_repository=os.path.exists(os.path.join(workspace.root, ".git")),
            stop=self._ask_to_stop,
            tell_setback=self._tell_setback,
            tools=self._tools(),
        )

    def _tools(self) -> Place:
        workspace = self._start.workspace
        client = importlib.util.find_spec("coordctl")
        package = client.submodule_search_locations if client else None
        return Place(
            runs=workspace.file("runs"),
            launcher=os.path.join(self.held.path.parent, os.path.basename(workspace.launcher)),
            python=sys.executable,
            package=os.path.dirname(package[0]) if package else "",
            socket=str(self.held.path),
            published=workspace.file("socket"),
        )

    def _ask_to_stop(self, with_panes: bool) -> None:
        self._with_panes = self._with_panes or with_panes
        self._stopping.set()

    async def _serve(self, parts: Parts, choice: Choice) -> None:
        keep = Supervisor(self._clock, self._log, parts.pulse, parts.failing).keep
        if self._notifier.watchdog_s is not None:
            parts.pulse.every_s = self._notifier.watchdog_s / 6
        async with anyio.create_task_group() as group:
            group.start_soon(self._hear_signals)
            group.start_soon(self._tell_counts)
            await group.start(keep, "watches", parts.watches.run)
            await group.start(keep, "recorder", parts.recorder.run)
            await group.start(keep, "intake", parts.intake.run)
            await group.start(keep, "pump", parts.pump.run)
            await group.start(keep, "settler", parts.settler.run)
            await group.start(keep, "attendant", parts.attendant.run)
            await group.start(keep, "ager", parts.ager.run)
            await group.start(keep, "tool_runs", parts.tool_runs.run)
            group.start_soon(self._greet, parts)
            if choice.kind == "embedded":
                group.start_soon(self._keep_host, parts)
            await group.start(keep, "sweep", partial(sweep, parts, self._log))
            await group.start(self._listen, parts)
            group.start_soon(self._notifier.watchdog, parts.pulse.progress)
            self._notifier.ready()
            await self._stopping.wait()
            self._notifier.stopping()
            parts.tool_runs.stop()
            with anyio.move_on_after(STOP_WITHIN_S):
                # callers get the answers in hand, attempts their outcome; then everything ends
                await parts.pump.stop()
                await self._silent.wait()
            group.cancel_scope.cancel()

    async def _listen(self, parts: Parts, *, task_status: TaskStatus[None]) -> None:
        """Serve the socket, and bind it again when its file vanished."""
        routes = parts.routes()
        while not self._stopping.is_set():
            listener = await SocketListener.from_socket(self.held.api)
            async with listener, anyio.create_task_group() as group:
                gone = anyio.Event()
                group.start_soon(self._until_out_of_place, gone)
                await serve(
                    listener,
                    routes,
                    allowed_uid=os.getuid(),
                    log=self._log,
                    new_log_id=lambda: make("host", self._source)[2:],
                    stop=_either(group, gone, self._stopping),
                    task_status=task_status,
                )
                group.cancel_scope.cancel()
            task_status = anyio.TASK_STATUS_IGNORED
            if not self._stopping.is_set():
                self.held = await anyio.to_thread.run_sync(self.held.bind_again)
                self._log.warning("bound-again", socket=str(self.held.path))
        self._silent.set()

    async def _until_out_of_place(self, gone: anyio.Event) -> None:
        while self.held.in_place:
            await self._clock.sleep(self._settings.backstop_s)
        gone.set()

    async def _greet(self, parts: Parts) -> None:
        """Learn the host's version, again after every gap."""
        while True:
            count = parts.sightings.changes.count
            if parts.sightings.connected:
                try:
                    parts.host_facts = await parts.ground.terminal.greet()
                except WorldFailed as error:
                    self._log.warning("host-silent", why=type(error).__name__)
            while parts.sightings.connected:
                await parts.sightings.changes.wait_past(count)
                count = parts.sightings.changes.count
            await parts.sightings.changes.wait_past(count)

    async def _keep_host(self, parts: Parts) -> None:
        """The embedded host is ours: gone, it is started again and opens its saved panes."""
        sightings, workspace = parts.sightings, self._start.workspace
        while True:
            count = sightings.changes.count
            if sightings.connected:
                await sightings.changes.wait_past(count)
                continue
            await self._clock.sleep(hosts.GONE_FOR_S)
            if not sightings.connected:
                await hosts.start_again(
                    workspace, parts.ground.host_socket, self._handed_on, self._clock, self._log
                )

    def _tell_setback(self, name: str, kind: str, trace: str) -> None:
        self._log.error("one-failed", part=name, kind=kind, trace=trace)

    async def _tell_counts(self) -> None:
        """Folded lines of the log are written out in time, also where no further line comes."""
        while True:
            await self._clock.sleep(self._settings.backstop_s)
            self._logs.tell_counts()

    async def _hear_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                self._stopping.set()

    async def _end_panes(self, parts: Parts, choice: Choice) -> None:
        """``down --panes``: our host ends; of a Herdr only the panes that we opened.

        What tool panes start goes too: nobody is left who could still start it.
        """
        await anyio.Path(parts.ground.tools.launcher).unlink(missing_ok=True)
        if choice.kind == "embedded":
            await hosts.end_embedded(choice.socket)
            return
        ours = await parts.ground.database.read(launches.terminals)
        for seen in list(parts.sightings.panes.values()):
            if seen.terminal_id in ours:
                try:
                    await parts.ground.terminal.close(seen.pane)
                except WorldFailed as error:
                    self._log.warning("close-failed", pane=seen.pane, why=type(error).__name__)


def _either(group: anyio.abc.TaskGroup, first: anyio.Event, second: anyio.Event) -> anyio.Event:
    """An event that is set when one of two is."""
    both = anyio.Event()

    async def pass_on(event: anyio.Event) -> None:
        await event.wait()
        both.set()

    group.start_soon(pass_on, first)
    group.start_soon(pass_on, second)
    return both


def _environment(pid: int | None) -> Mapping[str, str]:
    """Of an agent's process; where it is not ours to read, our own."""
    return (lineage.environment(pid) if pid is not None else {}) or os.environ


def find_coordctl(environ: Mapping[str, str]) -> str | None:
    """Our own `coordctl` by absolute path: beside this Python first, then on the search path."""
    beside = os.path.join(os.path.dirname(sys.executable), "coordctl")
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("coordctl", path=environ.get("PATH"))
    return os.path.abspath(found) if found else None


def _user_file(environ: Mapping[str, str]) -> Path | None:
    found = locate.user_config(environ)
    return Path(found) if found else None
