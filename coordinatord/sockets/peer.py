"""Who is at the other end of a Unix socket: facts from the kernel, at the moment of connecting.

What they prove is decided elsewhere (`features/panes/proof.py`).
"""

from __future__ import annotations

import socket
import struct
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from coordinatord import lineage
from coordinatord.ids import ProcessId

_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2
_XUCRED_SIZE: Final = 76
"""Of macOS's ``struct xucred``: version, uid, group count, 16 groups."""


@dataclass(frozen=True)
class Peer:
    """The process that connected.

    ``pid`` is 0 where it cannot be seen (another pid namespace). ``ancestry`` holds the process and
    its ancestors, nearest first; empty if it was gone before we could look.
    """

    uid: int
    pid: int
    ancestry: tuple[ProcessId, ...]

    @cached_property
    def environment(self) -> dict[str, str]:
        """What the process was started with, read at first use; empty if it is gone by then."""
        if not self.ancestry:
            return {}
        found = lineage.environment(self.pid)
        return found if lineage.identify(self.pid) == self.ancestry[0] else {}

    @cached_property
    def arguments(self) -> tuple[tuple[str, ...], ...]:
        """The command line of each process of ``ancestry``, read at first use; empty where it is gone."""
        return tuple(lineage.arguments(process) for process in self.ancestry)


def peer_of(connection: socket.socket) -> Peer:
    """The process that called ``connect`` on the other end.

    Raises:
        OSError: the kernel does not say, for example because the connection is over.
    """
    uid, pid = _credentials(connection)
    return Peer(uid, pid, lineage.ancestry(pid))


def _credentials(connection: socket.socket) -> tuple[int, int]:
    if sys.platform == "darwin":
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE)
        pid = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
        return struct.unpack_from("=II", credentials)[1], pid
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, _ = struct.unpack("=iII", credentials)
    return uid, pid
