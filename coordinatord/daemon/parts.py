"""The parts of a running daemon, built in one place from the bottom up, and their routes."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from coordinatord import __version__, catalogue, lineage
from coordinatord.clock import Pulse
from coordinatord.daemon import parts_records
from coordinatord.daemon.callers import Callers
from coordinatord.daemon.ground import Ground
from coordinatord.daemon.requests import (
    Discover,
    Explained,
    Hello,
    ReadConfig,
    StopDaemon,
    Welcome,
)
from coordinatord.daemon.routes import Frame
from coordinatord.features.attention import methods as attention
from coordinatord.features.attention.requests import ListAttention, SeeAttention
from coordinatord.features.delivery import notice
from coordinatord.features.delivery import requests as delivery
from coordinatord.features.delivery.methods import DeliveryMethods
from coordinatord.features.delivery.run import Pump
from coordinatord.features.delivery.run_ageing import Ager
from coordinatord.features.delivery.run_attempt import Deliverer, Letters
from coordinatord.features.delivery.run_evidence import Witness
from coordinatord.features.delivery.run_setbacks import Setbacks
from coordinatord.features.delivery.run_settle import Settler
from coordinatord.features.delivery.run_shadow import Shadower
from coordinatord.features.delivery.run_wake import WakeMethods
from coordinatord.features.delivery.switch import Switch
from coordinatord.features.intake.methods import EventMethods
from coordinatord.features.intake.run import Intake
from coordinatord.features.intake.run_attention import Attendant
from coordinatord.features.launches import table as launch_table
from coordinatord.features.launches.requests import OpenPane
from coordinatord.features.launches.run import Launcher
from coordinatord.features.messages import methods as messages
from coordinatord.features.messages.requests import AckMessage, SendMessage, WithdrawMessage
from coordinatord.features.obligations.run_alerts import Alerts
from coordinatord.features.obligations.source import Source
from coordinatord.features.obligations.table import Communication, Sources
from coordinatord.features.panes import methods as panes
from coordinatord.features.panes import requests as pane_requests
from coordinatord.features.panes.records import Caller
from coordinatord.features.panes.run_look import Lookout
from coordinatord.features.panes.sightings import Sightings
from coordinatord.features.tool_runs import requests as tool_requests
from coordinatord.features.tool_runs.methods import ToolMethods
from coordinatord.features.tool_runs.run import ToolRuns
from coordinatord.features.tool_runs.run_place import Placer
from coordinatord.features.tool_runs.run_runner import RunnerMethods
from coordinatord.features.tool_runs.table import ToolRunDebts
from coordinatord.features.trace.records import Recording
from coordinatord.features.trace.requests import RecordTrace
from coordinatord.features.trace.run import Recorder
from coordinatord.features.trace.run_terminal import told_of
from coordinatord.features.typing.methods import TypingMethods
from coordinatord.features.typing.requests import PauseTyping, ResumeTyping, SendToPane
from coordinatord.features.typing.run import Typist
from coordinatord.features.views import requests as view_requests
from coordinatord.features.views.methods import ViewMethods
from coordinatord.features.views.records import Connection
from coordinatord.features.views.run import Watches
from coordinatord.features.views.run_overview import Overview
from coordinatord.features.views.run_wait import Waits
from coordinatord.ids import ProcessId
from coordinatord.server.dispatch import Link, Route
from coordinatord.terminals.port import HostFacts, backstop_interval
from coordinatord.tracing import Trace
from coordinatord.wire.openrpc import document
from coordinatord.wire.requests import Listing


class Parts:
    """Everything that runs, and the table of routes."""

    def __init__(self, ground: Ground, more_sources: Sequence[Source] = ()) -> None:
        self.ground = ground
        database, clock = ground.database, ground.clock
        self.pulse = Pulse()
        self.failing: dict[str, str] = {}
        self.sightings = Sightings(clock)
        self.trace = Trace()
        terminal = told_of(ground.terminal, self.trace, clock)
        self.lookout = Lookout(terminal, self.sightings, clock, self.trace)
        self.host_facts: HostFacts | None = None
        self.typist = Typist(
            terminal, self.lookout, ground.kinds, clock, self._host_may_be_typed_to
        )
        self.sources = Sources([Communication(), Alerts(), ToolRunDebts(), *more_sources])
        self.switch = Switch(ground.settings.delivery.events)
        witness = Witness(ground.kinds, clock, ground.environment)
        self.shadower = Shadower(database, self.lookout, self.typist, self.switch, clock)
        self.deliverer = Deliverer(
            database,
            self.lookout,
            self.typist,
            self.sources,
            ground.kinds,
            clock,
            self._spelling,
            witness,
            Letters(ground.letters, ground.settings.typing.inline_limit_bytes),
            self.shadower,
        )
        self.settler = Settler(
            database,
            self.sightings,
            self.typist,
            self.sources,
            witness,
            ground.kinds,
            clock,
            self.deliverer.has_in_hand,
            ground.settings.backstop_s,
            self._setbacks("settling"),
        )
        backstop_s = ground.settings.backstop_s
        self.pump = Pump(
            database,
            self.sightings,
            self.sources,
            self.deliverer,
            clock,
            backstop_s,
            self.switch,
            self.pulse,
            self._setbacks("delivery to"),
            self.trace,
        )
        self.attendant = Attendant(
            database,
            self.lookout,
            self.sources,
            self.switch,
            clock,
            self._setbacks("attention to"),
        )
        self.intake = Intake(
            database,
            terminal,
            self.lookout,
            clock,
            lambda count: backstop_interval(count, backstop_s),
            self.pulse,
        )
        self.watches = Watches(database)
        self.recorder = Recorder(database, ground.kinds, clock, ground.source, self.trace)
        self.ager = Ager(
            database, ground.terminal, self.sources, clock, ground.settings.alerts.after_s
        )
        self.launcher = Launcher(
            database,
            self.lookout,
            self.typist,
            ground.kinds,
            ground.surroundings,
            clock,
            ground.source,
        )
        self.callers = Callers(database, self.lookout, lambda: ground.host_socket, ground.kinds)
        placer = Placer(database, self.lookout, self.typist, self.launcher, clock, ground.tools)
        self.tool_runs = ToolRuns(
            database, ground.terminal, placer, clock, _lives, lineage.stopped_children
        )
        self._ours: frozenset[str] = frozenset()

    async def learn_launches(self) -> None:
        """Which panes we opened: only in those is `coordctl` known to be found."""
        self._ours = await self.ground.database.read(launch_table.terminals)

    def routes(self) -> list[Route]:
        """One route for every request of the catalogue."""
        ground = self.ground
        frame = Frame(ground.database, self.callers, ground.source)
        pane = panes.PaneMethods(ground.database, self.lookout)
        message = messages.MessageMethods(self.lookout, ground.settings.delivery.queue_limit)
        told = DeliveryMethods(ground.database, self.lookout, self.pump, self.sources, self.switch)
        tool = ToolMethods(ground.database, self.lookout, self.tool_runs, ground.clock)
        runner = RunnerMethods(ground.database, self.tool_runs)
        typing = TypingMethods(ground.database, self.lookout, self.typist)
        wake = WakeMethods(self.sources)
        events = EventMethods(
            ground.database,
            self.sources,
            self.switch,
            self.attendant,
            ground.config,
            ground.clock.wall,
            self.failing,
        )
        overview = Overview(self.sources, ground.clock.wall)
        view = ViewMethods(
            self.sources,
            ground.clock.wall,
            ground.running,
            self.connection,
            self.sightings,
            self.failing,
            self.switch,
        )
        return [
            Route(Hello, self._hello),
            frame.answering(pane_requests.WhoAmI, panes.whoami),
            *parts_records.routes(self.ground, self.lookout, frame),
            *parts_records.upkeep(self.ground, self.lookout, self.sources, frame),
            frame.asking(pane_requests.ListPanes, pane.list),
            frame.asking(pane_requests.ReadPane, pane.read),
            frame.acting(pane_requests.ClosePane, pane.close),
            frame.acting(OpenPane, self._open),
            frame.acting(SendToPane, typing.send),
            frame.acting(PauseTyping, typing.pause),
            frame.acting(ResumeTyping, typing.resume),
            frame.looking(SendMessage, message.look, message.send),
            frame.writing(AckMessage, messages.acknowledge),
            frame.writing(WithdrawMessage, messages.withdraw),
            frame.looking(delivery.InitSeat, told.look, told.init),
            frame.acting(delivery.NoticeSeat, told.notice),
            frame.acting(delivery.PumpNow, told.pump),
            frame.reading(delivery.ShowWake, wake.show),
            frame.writing(delivery.ConsumeWake, wake.consume),
            frame.acting(delivery.EnableDelivery, events.enable),
            frame.acting(delivery.DisableDelivery, events.disable),
            frame.reading(delivery.ReadDelivery, events.status),
            frame.acting(delivery.EnterShadow, self.shadower.enter),
            frame.acting(delivery.LeaveShadow, self.shadower.leave),
            frame.reading(delivery.ReadShadow, self.shadower.report),
            frame.reading(ListAttention, attention.listed),
            frame.writing(SeeAttention, attention.seen),
            frame.reading(view_requests.ReadInbox, view.inbox),
            frame.reading(view_requests.ReadRundown, overview.rundown),
            frame.reading(view_requests.ReadContext, overview.context),
            frame.reading(view_requests.ReadLog, overview.log),
            frame.reading(view_requests.ShowRecord, view.show),
            frame.reading(view_requests.ExplainRecord, view.why),
            frame.reading(view_requests.ReadStatus, view.status),
            frame.following(view_requests.SubscribeWatch, self.watches.subscribe),
            frame.following(RecordTrace, self._record),
            frame.asking(
                view_requests.WaitFor, Waits(ground.database, self.lookout, ground.clock).wait
            ),
            frame.following(tool_requests.RunTool, tool.run),
            frame.reading(tool_requests.ListRuns, tool.list),
            frame.taking(tool_requests.TakeResult, tool.result),
            frame.following(tool_requests.ReadOutput, tool.tail),
            frame.acting(tool_requests.CancelRun, tool.cancel),
            frame.acting(tool_requests.CloseTool, tool.close),
            frame.following(tool_requests.ClaimRun, runner.claim),
            frame.following(tool_requests.FinishRun, runner.done),
            frame.answering(ReadConfig, self._config),
            frame.acting(StopDaemon, self._stop),
            Route(Discover, _discover),
        ]

    def connection(self) -> Connection:
        """The terminal host as `status` shows it."""
        health, facts = self.ground.terminal.health(), self.host_facts
        return Connection(
            kind=self.ground.host_kind,
            socket=self.ground.host_socket,
            protocol=facts.protocol if facts else None,
            version=facts.version if facts else None,
            connected=self.sightings.connected,
            events_seen=health.events_seen,
            gaps_found=health.gaps_found,
            last_snapshot=self.sightings.last_snapshot,
            trouble=self.sightings.trouble or health.trouble or _unknown_protocol(facts),
        )

    def _setbacks(self, what: str) -> Setbacks:
        return Setbacks(what, self.ground.clock, self.failing, self.ground.tell_setback)

    def _host_may_be_typed_to(self) -> bool:
        return self.host_facts is None or self.host_facts.may_type

    def _spelling(self, terminal_id: str) -> str:
        return notice.spelling(self.ground.surroundings.coordctl, terminal_id in self._ours)

    async def _record(self, link: Link, caller: Caller, request: RecordTrace) -> Recording:
        return await self.recorder.record(link, self.host_facts)

    async def _open(self, caller: Caller, request: OpenPane) -> object:
        opened = await self.launcher.open(caller, request)
        await self.learn_launches()
        return opened

    def _hello(self, link: Link, request: Hello) -> Awaitable[Welcome]:
        # at once, in the read loop: the request behind it is proven with what was said here
        link.greeting, link.caller = request, None
        return self._welcome(link)

    async def _welcome(self, link: Link) -> Welcome:
        known = await self.callers.of(link)
        return Welcome(
            version=__version__,
            workspace=self.ground.running.workspace,
            seat=known.seat,
            proof=known.proof,
        )

    def _config(self, caller: Caller, request: ReadConfig) -> Listing[Explained]:
        return Listing(items=list(self.ground.explained))

    async def _stop(self, caller: Caller, request: StopDaemon) -> Any:
        self.ground.stop(request.panes)
        return {"done": True}


def _lives(process: ProcessId) -> bool:
    return lineage.identify(process.pid) == process


def _discover(link: Link, request: Discover) -> object:
    return document(catalogue.REQUESTS, __version__)


def _unknown_protocol(facts: HostFacts | None) -> str | None:
    if facts is None or facts.may_type:
        return None
    return f"its protocol {facts.protocol} is not known: panes are read, nothing is typed"
