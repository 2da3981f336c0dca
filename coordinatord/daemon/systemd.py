"""What a service manager wants to hear. The socket it opened for us: `sockets.inherited`.

Own lines, since the packages for it are old or need C headers. Without a service manager every
function does nothing. Source: sd_notify(3).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Final

import anyio

_MANAGER: Final = frozenset(
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"]
)


class Notifier:
    """Tells the service manager how we are.

    Args:
        environ: of this process when it was started; only read.
        pid: of this process.
    """

    def __init__(self, environ: Mapping[str, str], pid: int) -> None:
        self._address = environ.get("NOTIFY_SOCKET") or None
        meant = environ.get("WATCHDOG_PID") in (None, "", str(pid))
        limit = environ.get("WATCHDOG_USEC", "")
        self.watchdog_s = int(limit) / 1e6 if meant and limit.isdecimal() and int(limit) else None
        """Seconds without a word after which we are killed, or None where nobody watches."""

    def ready(self, status: str = "") -> None:
        """The socket answers."""
        self._say("READY=1", *([f"STATUS={status}"] if status else []))

    def stopping(self) -> None:
        """Nothing new is taken."""
        self._say("STOPPING=1")

    def extend(self, seconds: float) -> None:
        """Starting or stopping takes this much longer (a migration, an attempt in hand)."""
        self._say(f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}")

    async def watchdog(self, progress: Callable[[], object]) -> None:
        """Say ``WATCHDOG=1`` twice per limit as long as ``progress()`` changes.

        ``progress`` gives a value that changes at least every half `watchdog_s` while the loops go
        on. A daemon whose event
        loop runs while its work hangs is silent here, and is started again. Returns at once where
        nobody watches.
        """
        if self.watchdog_s is None:
            return
        seen: object = None
        while True:
            now = progress()
            if now != seen:
                self._say("WATCHDOG=1")
                seen = now
            await anyio.sleep(self.watchdog_s / 2)

    def _say(self, *lines: str) -> None:
        if self._address is None:
            return
        address = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.setblocking(False)
                channel.sendto("\n".join(lines).encode(), address)
        except OSError:  # a manager that is gone or does not read is no reason to fail
            return


def without_manager(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for what we start: a child must not answer in our place."""
    return {name: value for name, value in environ.items() if name not in _MANAGER}
