"""Sockets that a service manager bound and handed over. Source: sd_listen_fds(3)."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from typing import Final

from coordinatord.errors import Refused

_FIRST: Final = 3
"""The first handed-over descriptor, by the protocol."""

_VARIABLES: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID")


def take(environ: MutableMapping[str, str], pid: int) -> socket.socket | None:
    """The listening Unix socket that was handed to process ``pid``, or None if none was.

    The variables are removed from ``environ``, so that no child takes them for its own.

    Raises:
        Refused: ``bad-setting``: what was handed over is not exactly one listening Unix socket.
    """
    count = _count(environ, pid)
    for name in _VARIABLES:
        environ.pop(name, None)
    if not count:
        return None
    if count > 1:
        raise _wrong(f"{count} sockets were handed over, one is wanted")
    return _adopt(_FIRST)


def _count(environ: MutableMapping[str, str], pid: int) -> int:
    if environ.get("LISTEN_PID") != str(pid):
        return 0
    count = environ.get("LISTEN_FDS", "")
    return int(count) if count.isdecimal() else 0


def _adopt(descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        sock = socket.socket(fileno=descriptor)
    except OSError as problem:
        raise _wrong(f"descriptor {descriptor} is no socket: {problem.strerror}") from None
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_STREAM or not _listens(sock):
        sock.detach()
        raise _wrong(f"descriptor {descriptor} is not a listening Unix stream socket")
    sock.setblocking(False)
    return sock


def _listens(sock: socket.socket) -> bool:
    return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _wrong(message: str) -> Refused:
    return Refused("bad-setting", message, "the unit needs exactly one ListenStream= with a path")
