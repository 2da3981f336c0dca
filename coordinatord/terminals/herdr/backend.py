"""A terminal host behind Herdr's socket protocol: Herdr itself, or the embedded pane host.

Invariant: what is sent names its target, since a target left out is whatever the person looks at;
focus moves only by `HerdrTerminal.focus` (T-22); ids that are not written like ids are not sent,
since a host resolves them by position (T-21).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from anyio.abc import TaskStatus

from coordinatord import lineage
from coordinatord.clock import Clock
from coordinatord.errors import HostRefused, PaneMissing, Uncertain, Unreachable
from coordinatord.ids import PaneId, is_pane
from coordinatord.terminals.herdr import schema
from coordinatord.terminals.herdr.events import EventStream
from coordinatord.terminals.herdr.request import ask
from coordinatord.terminals.port import (
    Direction,
    Foreground,
    Health,
    HostFacts,
    PaneText,
    Program,
    Sighting,
    Snapshot,
    Source,
    StreamDown,
    TerminalEvent,
)

T = TypeVar("T")

KNOWN_PROTOCOLS: Final = frozenset({19, 20, 21, 22})
"""Versions whose prompts are known to behave as herdr-protocol.md §7 says."""

SOURCE: Final = "coordinatord"
"""Who reports tokens: always the same, since a host keeps a slot for each (herdr-protocol.md §5)."""
TITLE_LIMIT: Final = 80
BODY_LIMIT: Final = 240
"""Characters of a note that the host shows (herdr-protocol.md §2)."""
_WORKSPACE: Final = re.compile(r"w[0-9A-Z]+")
_NO_AGENT: Final = frozenset({"agent_not_found", "agent_target_ambiguous"})


class HerdrTerminal:
    """See `terminals.port.Terminal`, whose promises are not repeated here."""

    def __init__(
        self, socket: str, *, deadline: float, source: random.Random, clock: Clock
    ) -> None:
        """
        Args:
            socket: the path of the host's API socket.
            deadline: seconds that one call may take.
            source: randomness for the jitter between reconnects.
            clock: time.
        """
        self._socket = socket
        self._deadline = deadline
        self._clock = clock
        self._stream = EventStream(socket, deadline=deadline, source=source, clock=clock)
        self._facts: HostFacts | None = None
        self._labels: dict[PaneId, str | None] = {}
        self._gaps = 0
        self._last_snapshot: float | None = None
        self._trouble: str | None = None

    async def run(
        self, deliver: Callable[[TerminalEvent], None], *, task_status: TaskStatus[None]
    ) -> None:
        def forward(event: TerminalEvent) -> None:
            if isinstance(event, StreamDown):
                self._facts = None  # another program may answer from now on
            deliver(event)

        await self._stream.run(forward, task_status=task_status)

    def watch(self, panes: frozenset[PaneId]) -> None:
        self._stream.watch(frozenset(filter(is_pane, panes)))

    def missed(self, changes: int) -> None:
        self._gaps += changes

    def health(self) -> Health:
        return Health(
            connected=self._stream.connected,
            events_seen=self._stream.events_seen,
            gaps_found=self._gaps + self._stream.reconnects,
            reconnects=self._stream.reconnects,
            last_snapshot=self._last_snapshot,
            trouble=self._stream.trouble or self._trouble,
        )

    async def greet(self) -> HostFacts:
        pong = await self._ask("ping", {}, schema.Pong)
        embedded = bool(pong.capabilities.get("coordinatord_panehost"))
        self._facts = HostFacts(
            kind="embedded" if embedded else "herdr",
            socket=self._socket,
            version=pong.version,
            protocol=pong.protocol,
            may_type=pong.protocol in KNOWN_PROTOCOLS,
        )
        return self._facts

    async def snapshot(self) -> Snapshot:
        watched = self._stream.watched  # a pane that is watched from now on may be newer
        try:
            found = (await self._ask("session.snapshot", {}, schema.SnapshotResult)).snapshot
        except Unreachable as error:
            self._trouble = str(error)
            raise
        self._trouble = None
        self._last_snapshot = self._clock.wall()
        snapshot = schema.whole(found)
        self._labels = {pane: each.label for pane, each in snapshot.panes.items()}
        for pane in [pane for pane, each in snapshot.panes.items() if each.launch_pending]:
            await self._advance(pane, snapshot.panes)
        if not snapshot.incomplete:
            self._stream.drop(watched - snapshot.panes.keys())
        return snapshot

    async def look(self, pane: PaneId) -> Sighting:
        try:
            agent = await self._agent(pane)
            if agent is not None and schema.has_process(agent):
                return msgspec.structs.replace(schema.sighting(agent), label=self._labels.get(pane))
            # without an agent; or an agent that shows no process, where the pane record has the say
            found = await self._ask("pane.get", {"pane_id": pane}, schema.PaneResult, pane=pane)
        except PaneMissing:
            self._stream.drop({pane})
            raise
        self._labels[pane] = found.pane.label
        return schema.sighting(found.pane, agent)

    async def foreground(self, pane: PaneId) -> Foreground:
        answer = await self._ask(
            "pane.process_info", {"pane_id": pane}, schema.ProcessResult, pane=pane
        )
        found = answer.process_info
        shell = found.shell_pid
        return Foreground(
            shell=lineage.identify(shell) if shell else None,
            group=found.foreground_process_group_id,
            programs=tuple(_program(each) for each in found.foreground_processes),
            launch_token=lineage.environment(shell).get("COORDINATORD_TOKEN") if shell else None,
        )

    async def read(
        self,
        pane: PaneId,
        source: Source = "visible",
        *,
        lines: int | None = None,
        ansi: bool = False,
    ) -> PaneText:
        params: dict[str, object] = {"pane_id": pane, "source": source}
        params |= {} if lines is None else {"lines": lines}
        params |= {"format": "ansi"} if ansi else {}
        answer = await self._ask("pane.read", params, schema.TextResult, pane=pane)
        return PaneText(text=answer.read.text, truncated=answer.read.truncated)

    async def prompt(self, pane: PaneId, text: str) -> None:
        await self._act("agent.prompt", {"target": pane, "text": text}, pane=pane)

    async def press(self, pane: PaneId, keys: Sequence[str], *, to_agent: bool = False) -> None:
        method, target = (
            ("agent.send_keys", "target") if to_agent else ("pane.send_keys", "pane_id")
        )
        await self._act(method, {target: pane, "keys": list(keys)}, pane=pane)

    async def send(self, pane: PaneId, text: str, keys: Sequence[str] = ()) -> None:
        params = {"pane_id": pane, "text": text, "keys": list(keys)}
        await self._act("pane.send_input", params, pane=pane)

    async def split(
        self, pane: PaneId, direction: Direction, *, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        params = {"target_pane_id": pane, "direction": direction} | _place(cwd, env)
        found = await self._make("pane.split", params, schema.PaneResult, pane=pane)
        return schema.sighting(found.pane)

    async def new_tab(
        self, workspace_id: str, *, label: str | None, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        params = {"workspace_id": _checked(workspace_id)} | _label(label) | _place(cwd, env)
        found = await self._make("tab.create", params, schema.RootPaneResult)
        return schema.sighting(found.root_pane)

    async def new_workspace(
        self, *, label: str | None, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        params = _label(label) | _place(cwd, env)
        found = await self._make("workspace.create", params, schema.RootPaneResult)
        return schema.sighting(found.root_pane)

    async def rename(self, pane: PaneId, label: str | None) -> None:
        await self._act("pane.rename", {"pane_id": pane, "label": label}, pane=pane)
        self._labels[pane] = label

    async def set_tokens(self, pane: PaneId, tokens: Mapping[str, str | None]) -> dict[str, str]:
        params = {"pane_id": pane} | _tokens(tokens)
        await self._act("pane.report_metadata", params, pane=pane)
        found = await self._ask("pane.get", {"pane_id": pane}, schema.PaneResult, pane=pane)
        return _named(found.pane.tokens, tokens)

    async def set_workspace_tokens(
        self, workspace_id: str, tokens: Mapping[str, str | None]
    ) -> dict[str, str]:
        target = {"workspace_id": _checked(workspace_id)}
        await self._act("workspace.report_metadata", target | _tokens(tokens))
        found = await self._ask("workspace.get", target, schema.WorkspaceResult)
        return _named(found.workspace.tokens, tokens)

    async def focus(self, pane: PaneId) -> None:
        await self._act("pane.focus", {"pane_id": pane}, pane=pane)

    async def notify(self, title: str, body: str) -> bool:
        params = {"title": title[:TITLE_LIMIT], "body": body[:BODY_LIMIT], "sound": "none"}
        return (await self._ask("notification.show", params, schema.NotificationResult)).shown

    async def close(self, pane: PaneId) -> None:
        await self._act("pane.close", {"pane_id": pane}, pane=pane)

    async def start_agent(
        self, pane: PaneId, kind: str, name: str, args: Sequence[str]
    ) -> Sighting:
        params: dict[str, object] = {"name": name, "kind": kind, "pane_id": pane}
        params |= {"args": list(args)} if args else {}
        found = await self._make("agent.start", params, schema.AgentResult, pane=pane)
        return schema.sighting(found.agent)

    async def _advance(self, pane: PaneId, panes: dict[PaneId, Sighting]) -> None:
        """A pending start comes to its end only when somebody asks for its agent (recording 14)."""
        try:
            panes[pane] = await self.look(pane)
        except PaneMissing:
            del panes[pane]
        except (Unreachable, HostRefused):
            return

    async def _agent(self, pane: PaneId) -> schema.PaneRecord | None:
        try:
            answer = await self._ask("agent.get", {"target": pane}, schema.AgentResult, pane=pane)
        except HostRefused as refused:
            if refused.code not in _NO_AGENT:
                raise
            return None
        return answer.agent

    async def _ask(
        self,
        method: str,
        params: Mapping[str, object],
        kind: type[T],
        *,
        pane: PaneId | None = None,
    ) -> T:
        raw = await self._call(method, params, acts=False, pane=pane)
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.MsgspecError as error:
            raise Unreachable(f"{method}: the answer cannot be read") from error

    async def _make(
        self,
        method: str,
        params: Mapping[str, object],
        kind: type[T],
        *,
        pane: PaneId | None = None,
    ) -> T:
        raw = await self._act(method, params, pane=pane)
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.MsgspecError as error:
            raise Uncertain(f"{method}: the answer cannot be read") from error

    async def _act(
        self, method: str, params: Mapping[str, object], *, pane: PaneId | None = None
    ) -> msgspec.Raw:
        facts = self._facts or await self.greet()
        if not facts.may_type:
            raise HostRefused(
                "host-protocol", f"protocol {facts.protocol} is not known: {method} was not sent"
            )
        return await self._call(method, params, acts=True, pane=pane)

    async def _call(
        self, method: str, params: Mapping[str, object], *, acts: bool, pane: PaneId | None
    ) -> msgspec.Raw:
        if pane is not None and not is_pane(pane):
            raise PaneMissing(pane)
        return await ask(
            self._socket, method, params, deadline=self._deadline, acts=acts, pane=pane or ""
        )


def _program(found: schema.ProcessRecord) -> Program:
    return Program(
        pid=found.pid,
        name=found.name,
        argv=tuple(found.argv),
        cwd=found.cwd,
        declared=lineage.environment(found.pid).get("HERDR_AGENT"),
    )


def _place(cwd: str | None, env: Mapping[str, str]) -> dict[str, object]:
    """Where and with what a new pane starts: never with focus."""
    place: dict[str, object] = {"focus": False}
    place |= {} if cwd is None else {"cwd": cwd}
    return place | ({"env": dict(env)} if env else {})


def _checked(workspace_id: str) -> str:
    """The id, if it is written like one."""
    if _WORKSPACE.fullmatch(workspace_id) is None:
        raise HostRefused("workspace_not_found", f"{workspace_id!r} is no host workspace id")
    return workspace_id


def _tokens(tokens: Mapping[str, str | None]) -> dict[str, object]:
    """A report of tokens alone. Without a sequence number it is always taken: one that begins
    again after a restart would be ignored (T-16). A title or labels would replace earlier ones
    (T-18).
    """
    return {"source": SOURCE, "tokens": dict(tokens)}


def _named(held: Mapping[str, str], wanted: Mapping[str, object]) -> dict[str, str]:
    return {name: value for name, value in held.items() if name in wanted}


def _label(label: str | None) -> dict[str, object]:
    return {} if label is None else {"label": label}
