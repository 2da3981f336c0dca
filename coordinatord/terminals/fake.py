"""The scripted terminal: a daemon's view of a `FakeHost`, for tests and simulations.

The contract tests hold it to what the real hosts do. Several terminals may view one host, as a
daemon that was killed and started again does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus

from coordinatord.errors import HostRefused, PaneMissing, Uncertain, Unreachable
from coordinatord.ids import PaneId, is_pane
from coordinatord.terminals.fake_host import FakeHost, Fault, Stream
from coordinatord.terminals.fake_panes import Call, FakeAgent
from coordinatord.terminals.port import (
    Direction,
    Foreground,
    Health,
    HostFacts,
    HostWorkspace,
    PaneText,
    Program,
    Sighting,
    Snapshot,
    Source,
    TerminalEvent,
)

T = TypeVar("T")


class FakeTerminal:
    """See `terminals.port.Terminal`, whose promises are not repeated here."""

    def __init__(self, host: FakeHost) -> None:
        self._host = host
        self._stream: Stream | None = None
        self._watching: frozenset[PaneId] = frozenset()
        self._gaps = 0
        self._last_snapshot: float | None = None

    async def run(
        self, deliver: Callable[[TerminalEvent], None], *, task_status: TaskStatus[None]
    ) -> None:
        self._stream = self._host.open_stream(deliver)
        self._stream.watching = self._watching
        try:
            task_status.started()
            await anyio.sleep_forever()
        finally:
            self._host.close_stream(self._stream)
            self._stream = None

    def watch(self, panes: frozenset[PaneId]) -> None:
        self._watching = panes
        if self._stream is not None:
            self._stream.watching = panes

    def missed(self, changes: int) -> None:
        self._gaps += changes

    def health(self) -> Health:
        reconnects = 0 if self._stream is None else max(0, self._stream.ups - 1)
        return Health(
            connected=self._stream is not None and not self._host.down,
            events_seen=0 if self._stream is None else self._stream.events_seen,
            gaps_found=self._gaps + reconnects,
            reconnects=reconnects,
            last_snapshot=self._last_snapshot,
            trouble="the host is down" if self._host.down else None,
        )

    async def greet(self) -> HostFacts:
        await self._arrive("greet")
        return HostFacts(
            kind="embedded",
            socket="fake",
            version="fake",
            protocol=self._host.protocol,
            may_type=self._host.may_type,
        )

    async def snapshot(self) -> Snapshot:
        await self._arrive("snapshot")
        self._last_snapshot = self._host.now()
        panes = {pane: self._sighting(pane) for pane in self._host.panes}
        focused = None if self._host.focused is None else self._host.focused.partition(":")[0]
        spaces = dict.fromkeys(sighting.workspace_id for sighting in panes.values())
        return Snapshot(
            panes=panes,
            workspaces={
                space: HostWorkspace(
                    workspace_id=space,
                    label=space,
                    focused=space == focused,
                    tokens=dict(self._host.workspace_tokens.get(space, {})),
                )
                for space in spaces
            },
            focused_pane=self._host.focused,
        )

    async def look(self, pane: PaneId) -> Sighting:
        await self._arrive("look", pane)
        return self._sighting(pane)

    async def foreground(self, pane: PaneId) -> Foreground:
        await self._arrive("foreground", pane)
        found = self._host.at(pane)
        name = "sh" if found.agent is None or not found.agent.live else found.agent.kind
        group = found.shell.pid if name == "sh" else found.shell.pid + 1
        return Foreground(
            shell=found.shell,
            group=group,
            programs=(Program(pid=group, name=name, argv=(name,), cwd=found.cwd),),
            launch_token=found.env.get("COORDINATORD_TOKEN"),
        )

    async def read(
        self,
        pane: PaneId,
        source: Source = "visible",
        *,
        lines: int | None = None,
        ansi: bool = False,
    ) -> PaneText:
        await self._arrive("read", pane)
        rows = self._host.at(pane).screen(ansi=ansi).splitlines(keepends=True)
        kept = rows if lines is None else rows[-lines:]
        return PaneText(text="".join(kept), truncated=len(kept) < len(rows))

    async def prompt(self, pane: PaneId, text: str) -> None:
        await self._act("prompt", pane, lambda: self._host.prompt(pane, text))

    async def press(self, pane: PaneId, keys: Sequence[str], *, to_agent: bool = False) -> None:
        await self._act("press", pane, lambda: self._host.press(pane, keys, to_agent=to_agent))

    async def send(self, pane: PaneId, text: str, keys: Sequence[str] = ()) -> None:
        await self._act("send", pane, lambda: self._host.type_text(pane, text, keys))

    async def split(
        self, pane: PaneId, direction: Direction, *, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        beside = self._host.at(pane) if pane in self._host.panes else None

        def make() -> Sighting:
            if beside is None:
                raise PaneMissing(pane)
            return self._made(beside.workspace_id, beside.tab_id, None, cwd or beside.cwd, env)

        return await self._act("split", pane, make)

    async def new_tab(
        self, workspace_id: str, *, label: str | None, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        def make() -> Sighting:
            self._workspace(workspace_id)
            return self._made(workspace_id, None, None, cwd, env)

        return await self._act("new_tab", None, make)

    async def new_workspace(
        self, *, label: str | None, cwd: str | None, env: Mapping[str, str]
    ) -> Sighting:
        taken = {pane.workspace_id for pane in self._host.panes.values()}
        fresh = next(f"w{n}" for n in range(1, 9999) if f"w{n}" not in taken)
        return await self._act(
            "new_workspace", None, lambda: self._made(fresh, None, None, cwd, env)
        )

    async def rename(self, pane: PaneId, label: str | None) -> None:
        def rename() -> None:
            self._host.at(pane).label = (label or "").strip() or None

        await self._act("rename", pane, rename)

    async def set_tokens(self, pane: PaneId, tokens: Mapping[str, str | None]) -> dict[str, str]:
        return await self._act("set_tokens", pane, lambda: _set(self._host.at(pane).tokens, tokens))

    async def set_workspace_tokens(
        self, workspace_id: str, tokens: Mapping[str, str | None]
    ) -> dict[str, str]:
        def put() -> dict[str, str]:
            self._workspace(workspace_id)
            return _set(self._host.workspace_tokens.setdefault(workspace_id, {}), tokens)

        return await self._act("set_workspace_tokens", None, put)

    async def focus(self, pane: PaneId) -> None:
        def focus() -> None:
            self._host.focused = self._host.at(pane).pane

        await self._act("focus", pane, focus)

    async def notify(self, title: str, body: str) -> bool:
        await self._arrive("notify")
        self._host.notes.append((title[:80], body[:240]))
        return True

    async def close(self, pane: PaneId) -> None:
        await self._act("close", pane, lambda: self._host.remove_pane(pane))

    async def start_agent(
        self, pane: PaneId, kind: str, name: str, args: Sequence[str]
    ) -> Sighting:
        def start() -> Sighting:
            found = self._host.at(pane)
            if found.agent is not None:
                raise HostRefused("agent_pane_busy", f"{pane} is busy")
            found.agent = FakeAgent(kind, "unknown", name=name, pending=True)
            return self._sighting(pane)

        return await self._act("start_agent", pane, start)

    async def _arrive(self, method: str, pane: PaneId | None = None) -> None:
        """A reading call reaches the host: what is due happens first, then its faults."""
        fault = await self._begin(method, pane)
        if fault is not None:
            raise Unreachable(f"{method}: {fault}")

    async def _act(self, method: str, pane: PaneId | None, do: Callable[[], T]) -> T:
        """An acting call reaches the host."""
        fault = await self._begin(method, pane)
        if fault == "unreachable":
            raise Unreachable(f"{method}: {fault}")
        if not self._host.may_type:
            raise HostRefused("host-protocol", f"protocol {self._host.protocol} is not known")
        if fault in ("hang", "uncertain-lost"):
            raise Uncertain(f"{method}: no answer")
        result = do()
        if fault == "uncertain-done":
            raise Uncertain(f"{method}: no answer")
        return result

    async def _begin(self, method: str, pane: PaneId | None) -> Fault | None:
        await anyio.lowlevel.checkpoint()
        self._host.calls.append(Call(self._host.now(), method, pane))
        self._host.settle()
        if self._host.down:
            return "unreachable"
        if pane is not None and not is_pane(pane):
            raise PaneMissing(pane)
        fault = self._host.take_fault(method)
        if fault == "hang":
            await self._host.released.wait()
        elif fault is None and (code := self._host.take_refusal(method)) is not None:
            raise HostRefused(code, "as scripted")
        return fault

    def _made(
        self,
        workspace_id: str,
        tab_id: str | None,
        label: str | None,
        cwd: str | None,
        env: Mapping[str, str],
    ) -> Sighting:
        pane = self._host.add_pane(workspace_id, tab_id=tab_id, label=label)
        found = self._host.at(pane)
        found.cwd = cwd or found.cwd
        found.env = dict(env)
        return self._sighting(pane)

    def _workspace(self, workspace_id: str) -> None:
        """Refused where there is none."""
        if not any(pane.workspace_id == workspace_id for pane in self._host.panes.values()):
            raise HostRefused("workspace_not_found", f"workspace {workspace_id} not found")

    def _sighting(self, pane: PaneId) -> Sighting:
        return self._host.at(pane).sighting(focused=pane == self._host.focused)


def _set(held: dict[str, str], tokens: Mapping[str, str | None]) -> dict[str, str]:
    """Set and clear; what is held now under these names."""
    for name, value in tokens.items():
        held.pop(name, None)
        if kept := (value or "").strip()[:80].strip():
            held[name] = kept
    return {name: held[name] for name in tokens if name in held}
