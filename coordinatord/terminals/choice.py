"""Which terminal host this workspace uses: one decision, kept while there are seats.

The decision is pure; `probe` asks the sockets that could matter. A host that calls itself a
``coordinatord_panehost`` and is not this workspace's own belongs to another workspace: a daemon
started in one of its panes has it in its environment and must not take it for a Herdr. Where
Herdr's socket lies: herdr-protocol.md §1.1.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import anyio
import msgspec

from coordinatord.clock import Clock
from coordinatord.errors import Refused, WorldFailed
from coordinatord.terminals.herdr.backend import HerdrTerminal
from coordinatord.terminals.port import HostFacts

Setting = Literal["auto", "herdr", "embedded"]

_LONGEST_SESSION: Final = 64


class Choice(msgspec.Struct, frozen=True):
    """A terminal host: what is pinned in the store while seats exist."""

    kind: Literal["herdr", "embedded"]
    socket: str


def herdr_sockets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where a Herdr may listen, best first; none without a home and without a variable."""
    named = environment.get("HERDR_SOCKET_PATH", "")
    folder = _config(environment)
    session = environment.get("HERDR_SESSION", "default")
    paths = [named] if named.startswith("/") else []
    if folder is not None and session in ("", "default"):
        paths.append(f"{folder}/herdr.sock")
    elif folder is not None and len(session) <= _LONGEST_SESSION and "/" not in session:
        paths.append(f"{folder}/sessions/{session}/herdr.sock")
    return tuple(dict.fromkeys(paths))


def choose(
    setting: Setting,
    pinned: Choice | None,
    *,
    own: str,
    sockets: Iterable[str],
    answers: Mapping[str, HostFacts],
) -> Choice:
    """The host to use.

    Args:
        setting: what is configured; anything but ``auto`` overrules a pinned choice of another
        kind. pinned: the choice made while the seats that exist were bound. own: the socket of this
        workspace's embedded host, running or not. sockets: where a Herdr may listen, see
        `herdr_sockets`. answers: who answered at which socket; a silent socket is left out.
    """
    if pinned is not None and setting in ("auto", pinned.kind):
        return pinned
    if setting == "embedded":
        return Choice("embedded", own)
    possible = [path for path in sockets if path != own and not _embedded(answers.get(path))]
    herdrs = [path for path in possible if path in answers]
    if herdrs:
        return Choice("herdr", herdrs[0])
    if setting == "auto":
        return Choice("embedded", own)
    if not possible:
        raise Refused(
            "bad-setting",
            "the terminal setting is herdr and nothing says where its socket is",
            "set HERDR_SOCKET_PATH",
        )
    return Choice("herdr", possible[0])  # not up yet: everything is held until it answers


async def probe(sockets: Iterable[str], *, deadline: float, clock: Clock) -> dict[str, HostFacts]:
    """Who answers at these sockets, asked at once; within ``deadline`` seconds in all."""
    answers: dict[str, HostFacts] = {}

    async def greet(path: str) -> None:
        # the jitter is that of reconnects, and there are none here
        host = HerdrTerminal(path, deadline=deadline, source=random.Random(0), clock=clock)
        try:
            answers[path] = await host.greet()
        except WorldFailed:
            return

    async with anyio.create_task_group() as group:
        for path in sockets:
            group.start_soon(greet, path)
    return answers


def _config(environment: Mapping[str, str]) -> str | None:
    configured = environment.get("XDG_CONFIG_HOME", "")
    if configured.startswith("/"):
        return f"{configured}/herdr"
    home = environment.get("HOME", "")
    return f"{home}/.config/herdr" if home.startswith("/") else None


def _embedded(facts: HostFacts | None) -> bool:
    return facts is not None and facts.kind == "embedded"
