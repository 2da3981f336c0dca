"""Finds the terminal host of this workspace, and starts the embedded one where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

import anyio
import msgspec

from coordinatord import locate
from coordinatord.clock import Clock
from coordinatord.daemon.settings import Settings
from coordinatord.errors import Refused, WorldFailed
from coordinatord.starting import open_log
from coordinatord.store.database import Database, Transaction, View
from coordinatord.terminals.choice import Choice, choose, herdr_sockets, probe
from coordinatord.terminals.herdr.request import ask

PROBE_WITHIN_S: Final = 2.0
START_WITHIN_S: Final = 15.0
LOOK_EVERY_S: Final = 0.05
GONE_FOR_S: Final = 0.5
"""Seconds that the embedded host may be gone before it is started again: who restarts it by hand
is not raced."""
AGAIN_AFTER_S: Final = 10.0
"""Seconds between two tries to start it, where it does not come up."""
_PINNED: Final = "terminal"


async def find(
    workspace: locate.Workspace,
    settings: Settings,
    environ: Mapping[str, str],
    database: Database,
    clock: Clock,
    *,
    deliberate: bool = False,
) -> Choice:
    """The host to use, pinned in the store while seats exist; the embedded one runs by then.

    Args:
        deliberate: somebody asked for this kind of host just now (``up --terminal``): what is pinned
            does not count.

    Raises:
        Refused: ``host-unreachable`` if the embedded host does not come up.
    """
    last, binding = await database.read(_last)
    own = await _own_socket(workspace, last, clock)
    pinned = None
    if last is not None and binding and not deliberate:
        pinned = _as_configured(last, settings, own)
    named = [settings.herdr_socket] if settings.herdr_socket else []
    sockets = [*named, *herdr_sockets(environ)]
    answers = (
        {}
        if pinned is not None or settings.terminal == "embedded"
        else await probe(sockets, deadline=PROBE_WITHIN_S, clock=clock)
    )
    choice = choose(settings.terminal, pinned, own=own, sockets=sockets, answers=answers)
    if choice != last:
        await database.write(_pin, choice)
    if choice.kind == "embedded":
        await ensure_embedded(workspace, choice.socket, environ, clock)
    return choice


async def _own_socket(workspace: locate.Workspace, last: Choice | None, clock: Clock) -> str:
    """Where the embedded host of this workspace is, or would be.

    One that was started under another runtime folder lives on, and its lock keeps a second one from
    starting.
    """
    own = workspace.panes_socket
    if last is None or last.kind != "embedded" or last.socket == own:
        return own
    return last.socket if await _answers(last.socket, clock) else own


def _as_configured(pinned: Choice, settings: Settings, own: str) -> Choice:
    """The kind is what is pinned; where its socket is, the configuration may say anew."""
    if pinned.kind == "embedded":
        return Choice("embedded", own)
    return Choice("herdr", settings.herdr_socket or pinned.socket)


async def ensure_embedded(
    workspace: locate.Workspace, socket: str, environ: Mapping[str, str], clock: Clock
) -> None:
    """Start the embedded host if it does not answer. It is a process of its own and outlives us.

    Raises:
        Refused: ``host-unreachable``.
    """
    if await _answers(socket, clock):
        return
    _start_embedded(workspace, socket, environ)
    with anyio.move_on_after(START_WITHIN_S):
        while not await _answers(socket, clock):
            await clock.sleep(LOOK_EVERY_S)
        return
    raise Refused(
        "host-unreachable",
        f"The embedded pane host did not come up within {START_WITHIN_S:.0f} s.",
        f"Its log says why: {workspace.file('panehost.log')}",
    )


async def start_again(
    workspace: locate.Workspace,
    socket: str,
    environ: Mapping[str, str],
    clock: Clock,
    log: Any,
) -> None:
    """Try until the embedded host answers. It has a lock of its own: there is never a second."""
    while True:
        try:
            await ensure_embedded(workspace, socket, environ, clock)
            return
        except (Refused, OSError) as error:
            log.warning("host-not-started", why=str(error))
        await clock.sleep(AGAIN_AFTER_S)


def _start_embedded(workspace: locate.Workspace, socket: str, environ: Mapping[str, str]) -> None:
    log = workspace.file("panehost.log")
    command = [
        sys.executable,
        "-m",
        "coordinatord.panehost",
        *("--socket", socket),
        *("--state", workspace.file("panehost.json")),
        *("--log", log),
        *("--cwd", workspace.root),
    ]
    output = _own_log(log)
    try:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            close_fds=True,
            env=dict(environ),
            cwd=workspace.root,
        )
    finally:
        os.close(output)


def _own_log(path: str) -> int:
    try:
        return open_log(path)
    except OSError as error:
        raise Refused(
            "folder-unsafe",
            f"{path} cannot be written: {error.strerror}.",
            "Move it away, after a look at what it is.",
        ) from None


async def end_embedded(socket: str) -> None:
    """Ask the embedded host to end, panes and all."""
    try:
        await ask(socket, "server.stop", {}, deadline=PROBE_WITHIN_S, acts=True, pane="")
    except WorldFailed:
        return  # it was gone already, or went before it could answer


async def _answers(socket: str, clock: Clock) -> bool:
    return bool(await probe([socket], deadline=PROBE_WITHIN_S, clock=clock))


def _last(view: View) -> tuple[Choice | None, bool]:
    """The choice that was made last, and whether it binds: it was made while seats existed."""
    row = view.row("SELECT value FROM meta WHERE key = ?", _PINNED)
    last = msgspec.json.decode(row[0], type=Choice) if row else None
    return last, view.row("SELECT 1 FROM seats LIMIT 1") is not None


def _pin(tx: Transaction, choice: Choice) -> None:
    tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        _PINNED,
        msgspec.json.encode(choice).decode(),
    )
