"""Where things are: workspace, folders, sockets. The one module that knows; standard library only.

Commands import this on their ordinary path, so nothing here may import more than `os`, `sys` and
the like at the top, and paths are strings. Functions take the environment as an argument. Nothing
is written except by `make`, `make_private` and `publish_socket`.

How a client finds its daemon, first match wins: ``--socket``, ``COORDINATORD_SOCKET``, ``-C DIR``,
``COORDINATORD_ROOT``, the walk upwards from the working directory. The last three end at a folder
``.coordinatord``, whose file ``socket`` names the path.
"""

from __future__ import annotations

import binascii
import os
import stat
import sys

from coordinatord.folders import (
    LONGEST_SUFFIX,
    NAME_LENGTH,
    Misplaced,
    check_folder,
    check_private,
    config_folder,
    home_folder,
    make_private,
    read_regular,
    runtime_folder,
    user_config,
    user_name,
)

__all__ = [
    "FOLDER", "Address", "Misplaced", "Workspace", "check_length", "check_private",
    "check_workspace", "config_folder", "find", "find_or_place", "home_folder",
    "instance_name", "main_checkout", "make", "make_private", "peer_uid", "publish_socket",
    "published_socket", "resolve", "runtime_folder", "service_managed", "user_config",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Mapping
    from typing import Final

FOLDER: Final = ".coordinatord"
LONGEST_PATH: Final = 103 if sys.platform == "darwin" else 107
"""Longest socket path in bytes on this system: for paths that a user gives."""


class Workspace:
    """One project root and the paths that follow from it. Existing or not: nothing is looked at."""

    __slots__ = ("folder", "instance", "root", "runtime")

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        self.root = os.path.realpath(root)
        self.folder = os.path.join(self.root, FOLDER)
        self.instance = instance_name(self.root)
        """``<name>-<hash8>``: unique per root, also the systemd instance."""
        self.runtime = runtime_folder(environ)

    def __repr__(self) -> str:
        return f"Workspace({self.root!r})"

    def file(self, name: str) -> str:
        """A file in ``.coordinatord/``: ``coordinator.db``, ``config.toml``, ``lock`` …"""
        return os.path.join(self.folder, name)

    @property
    def socket(self) -> str:
        """The API socket where a daemon of this environment binds it; short enough everywhere."""
        return os.path.join(self.runtime, f"{self.instance}.sock")

    @property
    def panes_socket(self) -> str:
        """The embedded pane host's socket."""
        return os.path.join(self.runtime, f"{self.instance}{LONGEST_SUFFIX}")

    @property
    def launcher(self) -> str:
        """The ``/bin/sh`` launcher that tool panes start: a path without blanks."""
        return os.path.join(self.runtime, f"{self.instance}.run")


class Address:
    """Where to connect. ``explicit``: named by flag or variable, so nothing is started for it."""

    __slots__ = ("explicit", "path", "workspace")

    def __init__(self, path: str, explicit: bool, workspace: Workspace | None) -> None:
        self.path = path
        self.explicit = explicit
        self.workspace = workspace


def resolve(
    environ: Mapping[str, str], *, socket: str | None = None, directory: str | None = None
) -> Address:
    """The socket to connect to.

    Args:
        socket: the value of ``--socket``.
        directory: the value of ``-C``.

    Raises:
        Misplaced: ``no-workspace``, or ``folder-unsafe`` (see `check_workspace`).
    """
    named = socket or environ.get("COORDINATORD_SOCKET")
    if named:
        return Address(check_length(os.path.abspath(named)), explicit=True, workspace=None)
    workspace = find(environ, directory)
    return Address(published_socket(workspace) or workspace.socket, False, workspace)


def find(environ: Mapping[str, str], directory: str | None = None) -> Workspace:
    """The workspace that exists for this caller.

    Raises:
        Misplaced: ``no-workspace``, or ``folder-unsafe`` (see `check_workspace`).
    """
    root = _existing_root(environ, directory)
    if root is None:
        place = directory or environ.get("COORDINATORD_ROOT") or _working_directory()
        raise Misplaced(
            "no-workspace",
            f"No workspace at {place} or above it: there is no {FOLDER} folder.",
            "Make one: coordctl up",
        )
    workspace = Workspace(root, environ)
    _check_name(workspace.root)
    check_workspace(workspace)
    return workspace


def find_or_place(environ: Mapping[str, str], directory: str | None = None) -> Workspace:
    """The workspace that exists, or where a new one belongs; `make` makes it.

    A new one belongs to ``COORDINATORD_ROOT`` (unless ``-C`` is given), else to the main checkout
    of the git repository around the start, else to the start itself.
    """
    root = _existing_root(environ, directory) or _new_root(environ, directory)
    return Workspace(root, environ)


def _existing_root(environ: Mapping[str, str], directory: str | None) -> str | None:
    root = environ.get("COORDINATORD_ROOT")
    if directory is None and root:
        return root if _has_folder(root) else None
    start = _start(directory)
    for place in _upwards(start):
        if _has_folder(place):
            return place
        main = main_checkout(place)
        if main is not None:
            for above in _upwards(main):
                if _has_folder(above):
                    return above
    return None


def _new_root(environ: Mapping[str, str], directory: str | None) -> str:
    root = environ.get("COORDINATORD_ROOT")
    if directory is None and root:
        return root
    start = _start(directory)
    for place in _upwards(start):
        main = main_checkout(place)
        if main is not None:
            return main
        if os.path.lexists(os.path.join(place, ".git")):
            return place
    return start


def _start(directory: str | None) -> str:
    start = _working_directory() if directory is None else directory
    if not os.path.isdir(start):
        raise Misplaced("no-workspace", f"{start} is not a folder.", "Check the value of -C.")
    return os.path.realpath(start)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise Misplaced(
            "no-workspace", "The working directory does not exist any more.", "Use -C DIR."
        ) from None


def _upwards(start: str) -> Iterator[str]:
    while True:
        yield start
        parent = os.path.dirname(start)
        if parent == start:
            return
        start = parent


def _has_folder(root: str) -> bool:
    return os.path.lexists(os.path.join(root, FOLDER))


def main_checkout(root: str) -> str | None:
    """The main checkout, if ``root`` is a linked git worktree; else None.

    Only ``.git`` *files* that name ``<main>/.git/worktrees/<name>`` count, and only if that folder
    names this worktree back: submodules and separate git folders stay where they are, and a file
    that somebody planted leads nowhere.
    """
    link = os.path.join(root, ".git")
    named = _first_line(link)
    if named is None or not named.startswith("gitdir:"):
        return None
    entry = os.path.normpath(os.path.join(root, named.removeprefix("gitdir:").strip()))
    worktrees = os.path.dirname(entry)
    git = os.path.dirname(worktrees)
    if os.path.basename(worktrees) != "worktrees" or os.path.basename(git) != ".git":
        return None
    back = _first_line(os.path.join(entry, "gitdir"))
    if back is None or os.path.realpath(os.path.join(entry, back)) != os.path.realpath(link):
        return None
    return os.path.dirname(os.path.realpath(git))


def _first_line(path: str) -> str | None:
    text = read_regular(path, any_owner=True)
    return None if text is None else text.split("\n", 1)[0].strip()


def check_workspace(workspace: Workspace) -> None:
    """Refuse a ``.coordinatord`` that is not a folder of this user's alone.

    A cloned or unpacked project may bring one along, and under sudo it belongs to somebody else.

    Raises:
        Misplaced: ``folder-unsafe``.
    """
    check_folder(
        workspace.folder,
        others=stat.S_IWGRP | stat.S_IWOTH,
        advice="If you trust the project: chmod 700 it, or remove it and run coordctl up.",
    )


def make(workspace: Workspace) -> bool:
    """Make ``.coordinatord/`` with a ``.gitignore`` that hides all of it; say whether it is new.

    Raises:
        Misplaced: ``folder-unsafe``: the folder or the project belongs to somebody else, or cannot
            be written; ``not-unicode``: its path is not valid UTF-8.
    """
    _check_name(workspace.root)
    _refuse_root_elsewhere(workspace.root)
    try:
        os.mkdir(workspace.folder, 0o700)
        new = True
    except FileExistsError:
        new = False
    except OSError as error:
        raise Misplaced(
            "folder-unsafe", f"{workspace.folder} cannot be made: {error.strerror}."
        ) from None
    check_workspace(workspace)
    _write_new(workspace.file(".gitignore"), "*\n")
    return new


def _check_name(root: str) -> None:
    """The root is said over the wire and kept in records, which are Unicode."""
    try:
        root.encode()
    except UnicodeEncodeError:
        raise Misplaced(
            "not-unicode",
            f"The path of {root} is not valid UTF-8.",
            "Rename the folder: the name of a workspace has to be readable everywhere.",
        ) from None


def _refuse_root_elsewhere(root: str) -> None:
    owner = os.stat(root).st_uid
    if os.geteuid() == 0 and owner != 0:
        raise Misplaced(
            "folder-unsafe",
            f"{root} belongs to {user_name(owner)}, and you are root.",
            "Run it as that user, without sudo.",
        )


def _write_new(path: str, text: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def published_socket(workspace: Workspace) -> str | None:
    """The path in ``.coordinatord/socket``, where the running daemon wrote it.

    Its environment may differ from ours (cron, a service), so its word comes first. A file that
    names anything but this workspace's own socket is ignored: it was moved or brought along.
    """
    text = read_regular(workspace.file("socket"))
    if text is None:
        return None
    path = text.strip()
    expected = f"{workspace.instance}.sock"
    return path if os.path.isabs(path) and os.path.basename(path) == expected else None


def publish_socket(workspace: Workspace, path: str) -> None:
    """Write ``.coordinatord/socket``; readers see the old text or the new one, never half of it."""
    draft = workspace.file(f"socket.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{path}\n")
    os.replace(draft, workspace.file("socket"))


def instance_name(root: str) -> str:
    """``<name>-<hash8>`` of a root: its last part in safe characters, a hash of the whole path."""
    # a checksum tells paths apart, and importing hashlib would cost every command milliseconds
    digest = f"{binascii.crc32(os.fsencode(root)):08x}"
    last = os.path.basename(root)
    safe = "".join(
        each if each.isascii() and (each.isalnum() or each in "._") else "-" for each in last
    )
    name = safe.strip(".-")[:NAME_LENGTH] or "workspace"
    return f"{name}-{digest}"


def service_managed(
    workspace: Workspace, environ: Mapping[str, str], *, platform: str = sys.platform
) -> bool:
    """Is a unit installed for this workspace? Then its manager starts the daemon, not a client."""
    home = home_folder(environ)
    if home is None:
        return False
    if platform == "darwin":
        agent = f"coordinatord.{workspace.instance}.plist"
        return os.path.exists(os.path.join(home, "Library", "LaunchAgents", agent))
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    units = os.path.join(base, "systemd", "user")
    return os.path.isdir(os.path.join(units, f"coordinatord@{workspace.instance}.service.d"))


def peer_uid(stream: socket.socket) -> int | None:
    """The user whose process listens at the other end; None where the system does not tell."""
    import socket
    import struct

    option = getattr(socket, "SO_PEERCRED", None)
    if option is not None:
        facts = stream.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
        return int(struct.unpack("3i", facts)[1])
    if sys.platform == "darwin":
        # struct xucred: version, uid, and the groups, which do not matter here
        return int(struct.unpack("2I", stream.getsockopt(0, 1, 76)[:8])[1])
    return None


def check_length(path: str) -> str:
    """The path, if a socket can have it.

    Raises:
        Misplaced: ``bad-setting``, naming path, length and limit.
    """
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        raise Misplaced(
            "bad-setting",
            f"The socket path {path} has {length} bytes; this system takes {LONGEST_PATH}.",
            "Name a shorter path, or none: the default is always short enough.",
        )
    return path
