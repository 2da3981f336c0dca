"""The shell around `settings`: reads the two files, refuses those that are not ours to trust."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from coordinatord.daemon import settings
from coordinatord.errors import Refused

_LONGEST: Final = 64 * 1024
"""Bytes of a configuration file; all keys with long comments are far below."""


def load(
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    workspace_file: Path | None,
    user_file: Path | None,
) -> settings.Resolved:
    """The settings of this daemon. A missing file is an empty one.

    Raises:
        Refused: ``bad-setting`` for an unknown key, a wrong value or a file that is not TOML;
            ``folder-unsafe`` for a file that another user owns or others may write.
    """
    files = (path for path in (workspace_file, user_file) if path is not None)
    return settings.resolve(
        [
            settings.from_flags(flags),
            settings.from_environment(environ),
            *(settings.from_document(_document(path), str(path)) for path in files),
        ]
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_own_bytes(path).decode())
    except (FileNotFoundError, NotADirectoryError):  # a service's home may be /dev/null
        return {}
    except OSError as error:
        raise Refused(
            "bad-setting", f"{path} cannot be read: {os.strerror(error.errno or 0)}."
        ) from None
    except ValueError as error:  # of the decoding or of the TOML: neither quotes the file's text
        raise Refused("bad-setting", f"{path} is not valid TOML: {_place(error)}.") from None


def _own_bytes(path: Path) -> bytes:
    # a FIFO without a writer would hold up the open; a regular file does not know the flag
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Refused("bad-setting", f"{path} is not a regular file.")
        if facts.st_uid not in (os.geteuid(), 0) or facts.st_mode & stat.S_IWOTH:
            raise Refused(
                "folder-unsafe",
                f"{path} belongs to another user or can be written by others.",
                f"chmod 600 {path}, after a look at what it says.",
            )
        content = file.read(_LONGEST + 1)
    if len(content) > _LONGEST:
        raise OSError(errno.EFBIG, "")
    return content


def _place(error: ValueError) -> str:
    return str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
