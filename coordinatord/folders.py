"""Folders of this user: where sockets and settings go, and whether a folder is this user's alone.

Part of `locate.py`, which others import; standard library only.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

SAFE_LENGTH: Final = 103
"""Longest socket path in bytes that every supported system takes (macOS 103, Linux 107)."""
NAME_LENGTH: Final = 24
"""Longest readable part of an instance name, in characters."""
LONGEST_SUFFIX: Final = ".panes.sock"

_FILE_LIMIT: Final = 4096


class Misplaced(Exception):
    """A place is missing, unsafe or unusable.

    Args:
        reason: a name from `coordinatord.errors.REASONS`.
        message: one sentence that names the path.
        hint: what to do about it, or None.
    """

    def __init__(self, reason: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint


def runtime_folder(environ: Mapping[str, str], *, platform: str = sys.platform) -> str:
    """Where sockets go: ``coordinatord`` in ``$XDG_RUNTIME_DIR``, on macOS in ``~/Library/Caches``.

    ``/tmp/coordinatord-<uid>`` stands in where that is not set, not there, or so long that the
    path of a socket would pass `SAFE_LENGTH`. Clients follow the same rule, so they find it by
    themselves.
    """
    if platform == "darwin":
        home = home_folder(environ)
        base = None if home is None else os.path.join(home, "Library", "Caches")
    else:
        base = environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isabs(base) and os.path.isdir(base):
        folder = os.path.join(os.path.normpath(base), "coordinatord")
        longest = len(os.fsencode(folder)) + 1 + NAME_LENGTH + 9 + len(LONGEST_SUFFIX)
        if longest <= SAFE_LENGTH:
            return folder
    return f"/tmp/coordinatord-{os.geteuid()}"


def make_private(folder: str) -> None:
    """Make the runtime folder with mode 0700 if it is missing, and check it in any case.

    Raises:
        Misplaced: ``folder-unsafe``: not a folder, not ours, open to others, or in a folder where
            others may replace it.
    """
    _check_parent(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise Misplaced("folder-unsafe", f"{folder} cannot be made: {error.strerror}.") from None
    check_private(folder)


def check_private(folder: str) -> None:
    """Refuse a folder for sockets that is not this user's alone.

    Raises:
        Misplaced: ``folder-unsafe``.
    """
    check_folder(folder, others=0o077, advice=f"Remove it, or if it is yours: chmod 700 {folder}")


def check_folder(folder: str, *, others: int, advice: str) -> None:
    try:
        facts = os.lstat(folder)
    except OSError as error:
        raise Misplaced("folder-unsafe", f"{folder}: {error.strerror}.") from None
    if not stat.S_ISDIR(facts.st_mode):
        raise Misplaced("folder-unsafe", f"{folder} is not a folder.", "Move it away.")
    if facts.st_uid != os.geteuid():
        raise Misplaced(
            "folder-unsafe",
            f"{folder} belongs to {user_name(facts.st_uid)}, not to {user_name(os.geteuid())}.",
            "Run it as the owner (not under sudo), or work in a project of your own: -C DIR.",
        )
    if facts.st_mode & others:
        mode = stat.S_IMODE(facts.st_mode)
        raise Misplaced("folder-unsafe", f"{folder} is open to others (mode {mode:03o}).", advice)


def _check_parent(parent: str) -> None:
    try:
        facts = os.stat(parent)
    except OSError as error:
        raise Misplaced("folder-unsafe", f"{parent}: {error.strerror}.") from None
    open_to_others = facts.st_mode & 0o022 and not facts.st_mode & stat.S_ISVTX
    if facts.st_uid not in (0, os.geteuid()) or open_to_others:
        raise Misplaced(
            "folder-unsafe",
            f"{parent}, where the sockets belong, is not yours alone "
            f"(owner {user_name(facts.st_uid)}, mode {stat.S_IMODE(facts.st_mode):03o}).",
            "Set XDG_RUNTIME_DIR to a private folder of yours, or unset it.",
        )


def home_folder(environ: Mapping[str, str]) -> str | None:
    """``HOME``, else what the password database says, else None."""
    home = environ.get("HOME")
    if home and os.path.isabs(home):
        return home
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return None


def user_config(environ: Mapping[str, str], *, platform: str = sys.platform) -> str | None:
    """The user-wide ``config.toml``, there or not; None for a user without a home."""
    folder = config_folder(environ, platform=platform)
    return None if folder is None else os.path.join(folder, "config.toml")


def config_folder(environ: Mapping[str, str], *, platform: str = sys.platform) -> str | None:
    """The user's own configuration folder of this program; None for a user without a home."""
    base = environ.get("XDG_CONFIG_HOME")
    if platform != "darwin" and base and os.path.isabs(base):
        return os.path.join(base, "coordinatord")
    home = home_folder(environ)
    if home is None:
        return None
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "coordinatord")
    return os.path.join(home, ".config", "coordinatord")


def user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def read_regular(path: str, *, any_owner: bool = False) -> str | None:
    """The text of a small regular file of ours, or None. Follows no link, waits for no pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            return None
        if not any_owner and (facts.st_uid != os.geteuid() or facts.st_mode & 0o022):
            return None
        return os.fsdecode(os.read(handle, _FILE_LIMIT))
    finally:
        os.close(handle)
