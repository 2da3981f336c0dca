"""The folder a socket lies in: ours alone, or refused with advice."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from coordinatord.errors import Refused


def ensure_private(folder: Path) -> None:
    """Make the folder with mode 0700, or check that the one there is ours and closed to writers.

    A folder that others may list or enter is taken as it is: the socket's own mode keeps them out.

    Raises:
        Refused: ``folder-unsafe``, with what to do about it.
    """
    try:
        folder.mkdir(mode=0o700)
        return
    except FileExistsError:
        pass  # looked at below, whoever made it
    except OSError as problem:
        message = f"the folder {folder} cannot be made: {problem.strerror}"
        raise Refused("folder-unsafe", message, f"make it: mkdir -p -m 700 {folder}") from None
    _check(folder, os.lstat(folder))


def _check(folder: Path, facts: os.stat_result) -> None:
    if not stat.S_ISDIR(facts.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(facts.st_mode) else "not a folder"
        raise Refused("folder-unsafe", f"{folder} is {kind}", "name a folder that is yours")
    if facts.st_uid != os.geteuid():
        message = f"the folder {folder} belongs to uid {facts.st_uid}, not to uid {os.geteuid()}"
        raise Refused("folder-unsafe", message, "remove it, or set XDG_RUNTIME_DIR to your own")
    if facts.st_mode & 0o022:
        mode = stat.S_IMODE(facts.st_mode)
        message = f"the folder {folder} can be written by others (mode {mode:04o})"
        raise Refused("folder-unsafe", message, f"take that from them: chmod 700 {folder}")
