"""Does a path lie on a network file system? SQLite's shared index and locks do not hold there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import psutil

_NETWORK: Final = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "afpfs", "ceph",
     "lustre", "beegfs", "gpfs", "glusterfs", "pvfs2", "davfs", "webdav"}
)  # fmt: skip
_BY_FUSE: Final = frozenset(
    {"sshfs", "glusterfs", "ceph", "rclone", "s3fs", "davfs", "gcsfuse", "goofys", "curlftpfs"}
)


def is_network(fstype: str) -> bool:
    """Is this a network file system's name? 9p is none: containers have it as their disk."""
    name = fstype.lower()
    prefix, _, program = name.partition(".")
    return name in _NETWORK or (prefix == "fuse" and program in _BY_FUSE)


def fstype_of(path: Path, mounts: Iterable[tuple[str, str]]) -> str:
    """The type of the file system that holds ``path``, "" if no mount does.

    Args:
        path: absolute and resolved.
        mounts: mount point and type; of two at one point the later covers the earlier.
    """
    best, fstype = "", ""
    for point, kind in mounts:
        if path.is_relative_to(point) and len(point) >= len(best):
            best, fstype = point, kind
    return fstype


def fstype_at(path: Path) -> str:
    """The type of the file system of an existing path as the system tells it."""
    mounts = [(mount.mountpoint, mount.fstype) for mount in psutil.disk_partitions(all=True)]
    return fstype_of(Path(os.path.realpath(path)), mounts)
