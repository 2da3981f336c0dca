"""Which machine this is, as records name it: `h-…`, from the machine's own id, which is not stored.

A new host name changes nothing. A copy of the disk that keeps the id is the same machine.
"""

from __future__ import annotations

import hashlib
import plistlib
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from coordinatord import ids
from coordinatord.errors import Refused
from coordinatord.folders import home_folder

_FILES: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_KEY: Final = b"coordinatord host"
_IOREG: Final = ("/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice", "-a")


def state_folders(environ: Mapping[str, str], workspace: Path) -> list[Path]:
    """Where the id of a machine that has none is kept: with the user's state, else with the workspace's."""
    named, home = environ.get("XDG_STATE_HOME", ""), home_folder(environ)
    if named.startswith("/"):
        return [Path(named) / "coordinatord", workspace]
    return [Path(home) / ".local/state/coordinatord", workspace] if home else [workspace]


def host_id(folders: Sequence[Path], source: random.Random) -> str:
    """This machine.

    Args:
        folders: for the id of a machine without one; the first that can be written is taken.
        source: randomness for it.

    Raises:
        Refused: ``store-failed`` where the system has an id and does not tell it.
    """
    return named(_of_mac() if sys.platform == "darwin" else _of_linux(folders, source))


def named(machine: str) -> str:
    """The record id for a machine's own id; it does not give that id away."""
    digest = hashlib.blake2b(machine.encode(), key=_KEY, digest_size=8).digest()
    return ids.make("host", random.Random(digest))


def _of_linux(folders: Sequence[Path], source: random.Random) -> str:
    for name in _FILES:
        try:
            found = Path(name).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if found and found != "uninitialized":
            return found
    made = (_own(folder / "machine", source) for folder in folders)
    kept = next((each for each in made if each is not None), None)
    if kept is None:
        raise Refused(
            "folder-unsafe",
            f"No id for this machine can be kept in {folders[-1]}.",
            "Make the folder writable for its owner.",
        )
    return kept


def _own(path: Path, source: random.Random) -> str | None:
    """Made once, where the system names no machine (small containers); None: it cannot be kept there."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError), path.open("x", encoding="ascii") as file:
            file.write(source.randbytes(16).hex())
        return path.read_text("ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _of_mac() -> str:
    try:
        out = subprocess.run(_IOREG, capture_output=True, check=True, timeout=5).stdout
        return str(plistlib.loads(out)[0]["IOPlatformUUID"])
    except (OSError, subprocess.SubprocessError, ValueError, LookupError) as error:
        # another identity would make strangers of all seats
        raise Refused(
            "store-failed",
            f"This machine does not tell its id: {type(error).__name__}.",
            "Try again.",
        ) from None
