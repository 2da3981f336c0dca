"""When no daemon answers: start one, wait for one, or say so. Imported only then."""

from __future__ import annotations

import time

from coordctl.failures import Failure
from coordctl.transport import BACK_S, SILENCE_S
from coordinatord.starting import PAUSE_S, Start, unanswered

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from coordctl.transport import Target


def start(
    target: Target, connect: Callable[[], socket.socket | None], deadline: float
) -> socket.socket:
    """Start a daemon for the target's workspace, and connect once it answers.

    Args:
        connect: one try to connect.
        deadline: monotonic seconds after which the start counts as failed.

    Raises:
        Failure: ``no-daemon``, with the daemon's own last words.
    """
    workspace = target.address.workspace
    assert workspace is not None
    begun = target.begun = Start(workspace, target.environ, target.flags)
    stream = _poll(connect, deadline, lambda: begun.failed)
    if stream is None:
        raise Failure("no-daemon", begun.sentence, begun.hint)
    return stream


def wait(connect: Callable[[], socket.socket | None]) -> socket.socket | None:
    """A daemon that went away just now gets a moment to be back."""
    return _poll(connect, time.monotonic() + BACK_S, lambda: False)


def _poll(
    connect: Callable[[], socket.socket | None], deadline: float, hopeless: Callable[[], bool]
) -> socket.socket | None:
    while time.monotonic() < deadline and not hopeless():
        stream = connect()
        if stream is not None:
            return stream
        time.sleep(PAUSE_S)
    return None


def silent() -> Failure:
    """Something listens and says nothing."""
    return Failure(
        "no-daemon",
        f"The daemon does not answer: {SILENCE_S:.0f} s of silence.",
        "It may be stopped or overloaded; its pid stands in .coordinatord/lock",
        unanswered=True,
    )


def forbidden(path: str) -> Failure:
    """The socket is there, and not for us."""
    return Failure("folder-unsafe", f"{path} may not be connected to.", "Check its owner and mode.")


def foreign(path: str, uid: int) -> Failure:
    """Another user's process behind our socket's path must not read what we say."""
    return Failure(
        "folder-unsafe",
        f"The process that listens at {path} belongs to another user (uid {uid}).",
        "Remove the socket, or name the right one with --socket.",
    )


def lost_twice(target: Target, *, mutation: bool, ours: bool) -> Failure:
    """What is known after the second lost connection.

    Args:
        mutation: whether the request may have changed something.
        ours: the first connection was to a daemon started for it, not to one that ran already.
    """
    begun = target.begun
    if begun is not None and (ours or not mutation) and _ends_badly(begun):
        return Failure("no-daemon", begun.sentence, begun.hint)
    if mutation:
        return Failure(
            "uncertain",
            "The daemon went away twice before it answered: the request may have been done.",
            "Repeat it with the same --key, or look first: coordctl inbox",
        )
    return Failure(
        "no-daemon",
        "The daemon went away twice before it answered.",
        "Its log says why: .coordinatord/daemon.log. Then try again.",
    )


def _ends_badly(begun: Start) -> bool:
    """Did the daemon that we started refuse to run? It listens before it has looked at everything."""
    deadline = time.monotonic() + BACK_S
    while not begun.refused and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
    return begun.refused


def nobody(target: Target) -> Failure:
    """Nothing listens, and nothing may be started."""
    return Failure(
        "no-daemon", *unanswered(target.paths[-1], target.address.workspace, target.environ)
    )
