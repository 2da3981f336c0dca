"""Writes the files that stand for texts too long to be typed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def put_letter(path: Path, text: str) -> None:
    """Write a text for its recipient to read; whole, or not at all. Blocks: call it in a thread.

    Raises:
        OSError: the disk is full, or the folder is not ours to write.
    """
    path.parent.mkdir(mode=0o700, exist_ok=True)
    _check_ours(path.parent)
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with open(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    partial.rename(path)


def _check_ours(folder: Path) -> None:
    """A cloned repository may bring a link along that leads elsewhere."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError(errno.ENOTDIR, "the folder for long texts is not a folder of ours")
