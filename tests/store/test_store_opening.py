"""Which files are opened, and that a refused one stays byte for byte."""

# ruff: noqa: ASYNC240 - nobody else runs on the loops of these tests

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from coordinatord.errors import Refused
from coordinatord.store import journal, network
from coordinatord.store.database import Database

from .conftest import NOW


async def open_at(path: Path) -> Database:
    return await Database.open(path, wall=lambda: NOW, source=random.Random(3), busy_seconds=0.2)


async def make(path: Path, lines: int = 300) -> None:
    async with await open_at(path) as database:
        await database.write(lambda tx: [tx.journal("task", f"t-{n}") for n in range(lines)])


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith("-shm")  # an index, made anew from the log
    }


async def refusal(path: Path) -> Refused:
    """Try to open it; nothing may change."""
    before = contents(path.parent)
    with pytest.raises(Refused) as refused:
        await open_at(path)
    assert contents(path.parent) == before
    assert str(path.name) in refused.value.message
    assert refused.value.hint
    return refused.value


def leave_as_killed(path: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Make the change and leave the files as a kill would: the last commit is in the log."""
    connection = sqlite3.connect(path, isolation_level=None)
    change(connection)
    copies = {file: Path(f"{file}.copy") for file in (path, Path(f"{path}-wal"))}
    for file, copy in copies.items():
        shutil.copy(file, copy)
    connection.close()
    for file, copy in copies.items():
        copy.rename(file)


async def test_a_new_database_is_private_from_the_start(path: Path) -> None:
    old = os.umask(0)
    try:
        async with await open_at(path) as database:
            await database.write(lambda tx: tx.journal("task", "t-1"))
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    finally:
        os.umask(old)
    assert modes == dict.fromkeys((path.name, f"{path.name}-wal", f"{path.name}-shm"), 384)


async def test_a_loose_mode_is_tightened(path: Path) -> None:
    await make(path)
    path.chmod(0o644)
    async with await open_at(path):
        assert path.stat().st_mode & 0o777 == 0o600


async def test_a_clean_stop_leaves_one_file(path: Path) -> None:
    await make(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_a_half_made_database_is_made_again(path: Path) -> None:
    """A kill during the first start."""
    Path(f"{path}.new").write_bytes(b"half")
    Path(f"{path}.new-wal").write_bytes(b"half")
    await make(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_after_an_unclean_stop_it_opens_and_has_all(path: Path) -> None:
    await make(path)
    leave_as_killed(path, lambda db: db.execute("INSERT INTO meta VALUES ('last', 'words')"))
    async with await open_at(path) as database:
        found = await database.read(lambda view: view.rows("SELECT * FROM meta"))
        assert found == [("last", "words")]
        assert await database.read(journal.last_seq) == 300


async def test_a_newer_schema_is_refused(path: Path) -> None:
    """C-49."""
    await make(path)
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 999")
    newer.close()
    refused = await refusal(path)
    assert refused.reason == "store-newer"
    assert "999" in refused.message


async def test_a_newer_schema_that_only_the_log_shows_is_refused(path: Path) -> None:
    """C-49: the newer daemon was killed right after its migration."""
    await make(path)
    leave_as_killed(path, lambda db: db.execute("PRAGMA user_version = 999"))
    assert int.from_bytes(path.read_bytes()[60:64], "big") < 999
    assert (await refusal(path)).reason == "store-newer"


async def test_a_damaged_page_is_found_after_an_unclean_stop(path: Path) -> None:
    await make(path, 3000)
    leave_as_killed(path, lambda db: db.execute("INSERT INTO meta VALUES ('a', 'b')"))
    middle = path.stat().st_size // 2 // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(middle)
        file.write(b"\xa5" * 4096)
    assert (await refusal(path)).reason == "store-corrupt"


async def test_a_damaged_page_is_found_after_a_clean_stop(path: Path) -> None:
    """C-49: nothing is written into it, and nothing is put beside it."""
    await make(path, 3000)
    middle = path.stat().st_size // 2 // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(middle)
        file.write(b"\xa5" * 4096)
    assert (await refusal(path)).reason == "store-corrupt"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_a_file_that_ends_too_early_is_corrupt(path: Path) -> None:
    await make(path, 3000)
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)
    assert (await refusal(path)).reason == "store-corrupt"


async def test_a_cut_off_header_is_corrupt(path: Path) -> None:
    await make(path)
    path.write_bytes(path.read_bytes()[:50])
    assert (await refusal(path)).reason == "store-corrupt"


async def test_a_database_of_another_program_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    assert (await refusal(path)).reason == "store-foreign"


@pytest.mark.parametrize("content", [b"", b"x", b"a diary\n" * 100])
async def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert (await refusal(path)).reason == "store-foreign"


async def test_a_link_is_refused(path: Path) -> None:
    await make(path)
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))
    assert (await refusal(path)).reason == "store-foreign"
    path.with_name("elsewhere").unlink()
    assert (await refusal(path)).reason == "store-foreign"  # dangling
    assert path.is_symlink()


@pytest.mark.parametrize("place", [Path.mkdir, os.mkfifo])
async def test_what_is_no_file_is_refused(path: Path, place: Callable[[Path], None]) -> None:
    place(path)
    assert (await refusal(path)).reason == "store-foreign"


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
async def test_a_log_without_its_database_is_refused(path: Path, suffix: str) -> None:
    """A new database would swallow it: the log of the old one would be carried over into it."""
    Path(f"{path}{suffix}").write_bytes(b"remains")
    assert (await refusal(path)).reason == "store-corrupt"


async def test_a_missing_folder_is_told(path: Path) -> None:
    with pytest.raises(Refused) as refused:
        await open_at(path.parent / "missing" / path.name)
    assert refused.value.reason == "store-failed"


async def test_a_network_file_system_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = [SimpleNamespace(mountpoint=str(path.parent.resolve()), fstype="nfs4")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: mounts)
    with pytest.raises(Refused) as refused:
        await open_at(path)
    assert refused.value.reason == "store-network"
    assert "nfs4" in refused.value.message
    assert not path.exists()


@pytest.mark.parametrize(
    ("path", "fstype"),
    [
        ("/home/a/work", "ext4"),
        ("/home/a/net/work", "nfs4"),
        ("/home/a/network", "ext4"),
        ("/over", "tmpfs"),
        ("/", "ext4"),
    ],
)
def test_the_innermost_and_latest_mount_counts(path: str, fstype: str) -> None:
    mounts = [
        ("/", "ext4"),
        ("/home/a/net", "nfs4"),
        ("/over", "cifs"),
        ("/over", "tmpfs"),
    ]
    assert network.fstype_of(Path(path), mounts) == fstype


def test_names_of_network_file_systems() -> None:
    assert all(map(network.is_network, ["nfs", "NFS4", "cifs", "smb3", "fuse.sshfs", "ceph"]))
    assert not any(
        map(network.is_network, ["ext4", "btrfs", "tmpfs", "overlay", "9p", "fuse.ntfs", ""])
    )


def test_a_real_path_has_a_file_system(tmp_path: Path) -> None:
    assert network.fstype_at(tmp_path)
