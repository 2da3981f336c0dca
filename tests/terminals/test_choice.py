"""Which terminal host is used."""

from __future__ import annotations

import pytest

from coordinatord.errors import Refused
from coordinatord.terminals.choice import Choice, Setting, choose, herdr_sockets, probe
from coordinatord.terminals.port import HostFacts
from tests.terminals.replay import InstantClock, Truth, serving

OWN = "/run/me/coordinatord/api-1a2b3c4d.panes.sock"
OTHER = "/run/me/coordinatord/web-99999999.panes.sock"
NAMED = "/demo/named.sock"
DEFAULT = "/home/me/.config/herdr/herdr.sock"


def facts(kind: str, socket: str) -> HostFacts:
    return HostFacts(
        kind="herdr" if kind == "herdr" else "embedded", socket=socket, version="0", protocol=20
    )


@pytest.mark.parametrize(
    ("environment", "sockets"),
    [
        ({}, ()),
        ({"HOME": "/home/me"}, (DEFAULT,)),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "/etc/me"}, ("/etc/me/herdr/herdr.sock",)),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "relative"}, (DEFAULT,)),
        ({"HOME": "/home/me", "HERDR_SESSION": "default"}, (DEFAULT,)),
        ({"HOME": "/home/me", "HERDR_SESSION": ""}, (DEFAULT,)),
        (
            {"HOME": "/home/me", "HERDR_SESSION": "two"},
            ("/home/me/.config/herdr/sessions/two/herdr.sock",),
        ),
        ({"HOME": "/home/me", "HERDR_SESSION": "../../etc"}, ()),
        ({"HOME": "/home/me", "HERDR_SESSION": "x" * 65}, ()),
        ({"HOME": "/home/me", "HERDR_SOCKET_PATH": NAMED}, (NAMED, DEFAULT)),
        ({"HOME": "/home/me", "HERDR_SOCKET_PATH": DEFAULT}, (DEFAULT,)),
        ({"HERDR_SOCKET_PATH": "relative.sock"}, ()),
    ],
)
def test_where_a_herdr_may_listen(environment: dict[str, str], sockets: tuple[str, ...]) -> None:
    """herdr-protocol.md §1.1: the named socket, then the session's, then the default one."""
    assert herdr_sockets(environment) == sockets


@pytest.mark.parametrize(
    ("setting", "pinned", "answering", "expected"),
    [
        # nothing is pinned: what answers decides
        ("auto", None, {NAMED: "herdr", DEFAULT: "herdr"}, Choice("herdr", NAMED)),
        ("auto", None, {DEFAULT: "herdr"}, Choice("herdr", DEFAULT)),
        ("auto", None, {}, Choice("embedded", OWN)),
        # another workspace's embedded host in the environment is no Herdr
        ("auto", None, {NAMED: "embedded"}, Choice("embedded", OWN)),
        ("auto", None, {NAMED: "embedded", DEFAULT: "herdr"}, Choice("herdr", DEFAULT)),
        ("herdr", None, {NAMED: "embedded"}, Choice("herdr", DEFAULT)),
        # a setting is obeyed
        ("herdr", None, {}, Choice("herdr", NAMED)),
        ("herdr", None, {DEFAULT: "herdr"}, Choice("herdr", DEFAULT)),
        ("embedded", None, {NAMED: "herdr"}, Choice("embedded", OWN)),
        # a pinned choice stays while its host is away and others answer
        ("auto", Choice("embedded", OWN), {NAMED: "herdr"}, Choice("embedded", OWN)),
        ("auto", Choice("herdr", "/gone"), {NAMED: "herdr"}, Choice("herdr", "/gone")),
        ("herdr", Choice("herdr", "/gone"), {NAMED: "herdr"}, Choice("herdr", "/gone")),
        # and is overruled deliberately
        ("herdr", Choice("embedded", OWN), {NAMED: "herdr"}, Choice("herdr", NAMED)),
        ("embedded", Choice("herdr", NAMED), {NAMED: "herdr"}, Choice("embedded", OWN)),
    ],
)
def test_choice(
    setting: Setting, pinned: Choice | None, answering: dict[str, str], expected: Choice
) -> None:
    """interfaces.md, Terminal host choice."""
    answers = {socket: facts(kind, socket) for socket, kind in answering.items()}
    sockets = (NAMED, DEFAULT)
    assert choose(setting, pinned, own=OWN, sockets=sockets, answers=answers) == expected


def test_own_embedded_host_in_the_environment_is_the_own_one() -> None:
    """A daemon started inside a pane of its own workspace's host."""
    answers = {OWN: facts("embedded", OWN)}
    assert choose("auto", None, own=OWN, sockets=(OWN,), answers=answers) == Choice("embedded", OWN)


def test_herdr_without_a_place_is_refused() -> None:
    """Never quietly another host than the one that was asked for."""
    for sockets, answers in (((), {}), ((OTHER,), {OTHER: facts("embedded", OTHER)})):
        with pytest.raises(Refused) as refused:
            choose("herdr", None, own=OWN, sockets=sockets, answers=answers)
        assert refused.value.reason == "bad-setting"


async def test_probe_leaves_silent_sockets_out() -> None:
    async with serving(Truth()) as host, serving(Truth()) as panes, serving(Truth()) as hung:
        pong = b'{"id":"c","result":{"type":"pong","version":"1","protocol":20,'
        panes.scripted["ping"] = [pong + b'"capabilities":{"coordinatord_panehost":true}}}\n']
        hung.scripted["ping"] = None
        sockets = (host.path, panes.path, hung.path, "/nowhere/s")
        answers = await probe(sockets, deadline=0.2, clock=InstantClock())
    assert {path: found.kind for path, found in answers.items()} == {
        host.path: "herdr",
        panes.path: "embedded",
    }
