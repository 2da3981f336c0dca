"""One daemon per workspace: the lock first, then the socket, then the file that says where it is.

Invariant: the kernel lock decides, never the socket file. A holder that is stopped or slow is
alive. Only the holder removes a socket, and only its own. Source: architecture §2.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path

from coordinatord import locate
from coordinatord.errors import Refused
from coordinatord.sockets import bind, inherited, lock


@dataclass(frozen=True)
class Instance:
    """This process serves the workspace: it holds the lock and listens. Made by `begin`."""

    workspace: locate.Workspace
    held: lock.Lock
    api: socket.socket
    path: Path
    bound: bind.BoundSocket | None
    """What we bound ourselves; None where the service manager did, who also removes it."""

    @property
    def in_place(self) -> bool:
        """Do clients find us? Looked at on the backstop timer."""
        return self.bound is None or self.bound.in_place()

    def bind_again(self) -> Instance:
        """Listen at the path once more after its file vanished; the old socket stays open.

        Raises:
            Refused: ``socket-taken`` where something else stands there now, ``already-running``
                where the lock file was taken away.
        """
        bound = bind.bind(self.path, self.held)
        locate.publish_socket(self.workspace, str(self.path))
        return replace(self, api=bound.sock, bound=bound)

    def end(self) -> None:
        """Close and remove the socket, then let go of the lock, in this order."""
        self.api.close()
        if self.bound is not None:
            self.bound.remove()
        self.held.release()


def begin(
    workspace: locate.Workspace,
    environ: MutableMapping[str, str],
    pid: int,
    path: Path | None = None,
) -> Instance:
    """Become the daemon of a workspace. Blocks for milliseconds, whatever another one does.

    Args:
        workspace: whose folder exists (`locate.make`).
        environ: of this process; what speaks of an inherited socket is removed.
        pid: of this process.
        path: to listen at, where a flag gave one.

    Raises:
        Refused: ``already-running`` naming the pid, ``socket-taken``, ``folder-unsafe``,
            ``bad-setting`` (a path that is too long, a unit whose socket is another workspace's).
    """
    held = only_one(workspace)
    try:
        handed = inherited.take(environ, pid)
        if handed is None:
            bound = bind.bind(path or Path(workspace.socket), held)
            instance = Instance(workspace, held, bound.sock, bound.path, bound)
        else:
            instance = Instance(workspace, held, handed, _own_path(handed, workspace), None)
        locate.publish_socket(workspace, str(instance.path))
    except BaseException:
        held.release()
        raise
    return instance


def only_one(workspace: locate.Workspace) -> lock.Lock:
    """The workspace's lock: nobody else serves it, or fills it, while this is held.

    Raises:
        Refused: ``already-running`` naming the pid.
    """
    try:
        return lock.acquire(Path(workspace.file("lock")))
    except lock.Held as other:
        raise _runs_already(workspace, other.pid) from None


def refuse_a_second(workspace: locate.Workspace) -> None:
    """A cheap look before anything heavy is imported; `begin` decides.

    Raises:
        Refused: ``already-running`` naming the pid.
    """
    pid = lock.holder(Path(workspace.file("lock")))
    if pid is not None:
        raise _runs_already(workspace, pid or None)


def _runs_already(workspace: locate.Workspace, pid: int | None) -> Refused:
    who = "another process" if pid is None else f"pid {pid}"
    return Refused(
        "already-running",
        f"A daemon for {workspace.root} runs already: {who}.",
        "coordctl status shows it, coordctl down stops it.",
    )


def _own_path(handed: socket.socket, workspace: locate.Workspace) -> Path:
    path = Path(os.fsdecode(handed.getsockname()))
    if path.name != Path(workspace.socket).name:
        handed.close()
        raise Refused(
            "bad-setting",
            f"The unit's socket {path} belongs to another workspace than {workspace.root}.",
            f"The unit's instance must be {workspace.instance}.",
        )
    return path
