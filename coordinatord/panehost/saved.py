"""The layout on disk, and its return at the next start: same pane ids, new terminals, new shells.

Tokens, presentation and environments are not saved; a name only with a session that can be taken up
again (herdr-protocol.md §3.3). A file that cannot be read is put aside, never overwritten.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import shlex
import tempfile
from pathlib import Path
from typing import Final

import anyio
import msgspec

from coordinatord.panehost.host import Host
from coordinatord.panehost.hosted import HostedPane
from coordinatord.panehost.layout import Layout, Workspace
from coordinatord.panehost.pane import PaneClosed, QueueFull
from coordinatord.panehost.records import AgentSession

VERSION: Final = 1
_PAUSE: Final = 0.5
"""Seconds in which changes are collected before they are written."""
_PROMPT_LOOKS: Final = 50
_PROMPT_PAUSE: Final = 0.1
log = logging.getLogger("coordinatord.panehost")


class SavedPane(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of one pane."""

    cwd: str
    label: str | None = None
    name: str | None = None
    session: AgentSession | None = None


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    version: int
    workspaces: list[Workspace]
    active: str | None
    panes: dict[str, SavedPane]


def taken(host: Host) -> bytes:
    """What is to be written now."""
    panes = {hosted.pane_id: _saved_pane(hosted) for hosted in host.panes()}
    saved = Saved(
        version=VERSION,
        workspaces=host.layout.workspaces,
        active=host.layout.active,
        panes=panes,
    )
    return msgspec.json.format(msgspec.json.encode(saved)) + b"\n"


def write(path: Path, content: bytes) -> None:
    """Replace the file in one step; a reader sees the old or the new one."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


async def keep(host: Host, path: Path) -> None:
    """Write after changes, for ever; each time what is true then."""
    written = b""
    while True:
        await host.saved_changed.wait()
        await anyio.sleep(_PAUSE)
        host.saved_changed = anyio.Event()
        content = taken(host)
        if content != written:
            try:
                await anyio.to_thread.run_sync(write, path, content)
                written = content
            except OSError:
                log.exception("the layout could not be saved")


def load(path: Path) -> Saved | None:
    """What was saved, or None; an unreadable file is renamed to ``….broken``."""
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=Saved)
        if saved.version != VERSION:
            raise ValueError(f"version {saved.version} is not known")
        _check(saved)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.error("the saved layout cannot be read and is put aside: %s", error)
        with contextlib.suppress(OSError):
            path.rename(path.with_name(path.name + ".broken"))
        return None
    return saved


def restore(host: Host, saved: Saved) -> None:
    """Open every saved pane again, and take up the sessions that can be."""
    host.layout = Layout(
        workspaces=saved.workspaces,
        active=saved.active,
        next_workspace=1 + max(map(_number, saved.workspaces), default=0),
    )
    resumed: set[AgentSession] = set()
    for pane_id in list(host.layout.panes()):
        kept = saved.panes[pane_id]
        hosted = host.add(pane_id, kept.cwd)
        hosted.label = kept.label
        argv = _resuming(host, kept) if kept.session not in resumed else None
        if argv is None or kept.session is None:
            _start(host, hosted)
            continue
        resumed.add(kept.session)
        hosted.agent.restore(kept.session, kept.name)
        host.later(
            host.settings.resume_delay, functools.partial(_resume, host, hosted, shlex.join(argv))
        )
    host.announce_focus(silently=True)


def _saved_pane(hosted: HostedPane) -> SavedPane:
    agent = hosted.agent
    named = agent.name if agent.session is not None and agent.managed else None
    return SavedPane(cwd=hosted.cwd, label=hosted.label, name=named, session=agent.session)


def _check(saved: Saved) -> None:
    known = set()
    for workspace in saved.workspaces:
        if not workspace.tabs or workspace.active not in {tab.tab_id for tab in workspace.tabs}:
            raise ValueError(f"workspace {workspace.workspace_id} has no active tab")
        known |= set(workspace.panes())
    if not known <= set(saved.panes):
        raise ValueError("a pane of the layout is missing")
    if saved.workspaces and saved.active not in {w.workspace_id for w in saved.workspaces}:
        raise ValueError("the active workspace is missing")


def _number(workspace: Workspace) -> int:
    digits = "123456789ABCDEFGHJKMNPQRSTVWXYZ0"
    number = 0
    for sign in workspace.workspace_id.removeprefix("w"):
        number = number * 32 + digits.index(sign) + 1
    return number


def _resuming(host: Host, kept: SavedPane) -> list[str] | None:
    if kept.session is None:
        return None
    return host.kinds.resume(kept.session.agent, kept.session.value)


def _start(host: Host, hosted: HostedPane) -> bool:
    try:
        host.start(hosted, {})
    except OSError as error:
        log.error("pane %s could not be opened again: %s", hosted.pane_id, error)
        return False
    return True


def _resume(host: Host, hosted: HostedPane, line: str) -> None:
    if not hosted.gone and _start(host, hosted):
        host.spawn(functools.partial(_type_when_prompted, host, hosted, line))


async def _type_when_prompted(host: Host, hosted: HostedPane, line: str) -> None:
    """Type the command once the shell has written something and waits in front."""
    terminal = hosted.terminal
    if terminal is None:
        return
    for _ in range(_PROMPT_LOOKS):
        await anyio.sleep(_PROMPT_PAUSE)
        if hosted.gone:
            return
        facts = terminal.foreground()
        if facts.group == terminal.shell_pid and terminal.screen.text("visible", 1, False)[0]:
            break
    with contextlib.suppress(PaneClosed, QueueFull):
        host.type_bytes(hosted, terminal, terminal.paste(line) + b"\r")
    host.later(_PROMPT_LOOKS * _PROMPT_PAUSE, functools.partial(_give_up, host, hosted))


def _give_up(host: Host, hosted: HostedPane) -> None:
    """The resumed agent never came: the name stays on a pane without an agent (§3.4)."""
    if hosted.agent.restored:
        hosted.agent.give_up_restoring()
        host.look(hosted)
