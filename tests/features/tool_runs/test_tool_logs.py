"""The runner writes bounded logs, the daemon reads them while and after they are written."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from coordctl import runner_log
from coordinatord.errors import Refused
from coordinatord.features.tool_runs import files
from coordinatord.features.tool_runs.files import Place, Status

BLOCK = 1 << 16


def filled(path: Path, size: int) -> runner_log.Log:
    """A log after this many bytes: each block is its own number, over and over."""
    log = runner_log.Log(str(path))
    while log.written < size:
        log.write(_block(log.written // BLOCK))
    return log


def _block(number: int) -> bytes:
    return number.to_bytes(4, "big") * (BLOCK // 4)


def test_both_sides_agree_on_the_sizes() -> None:
    assert (files.HEAD, files.PIECE) == (runner_log.HEAD, runner_log.PIECE)


@pytest.mark.parametrize("size", [0, BLOCK, 8 << 20, 9 << 20, 12 << 20, 13 << 20, 40 << 20])
def test_a_log_is_bounded_and_keeps_both_ends(tmp_path: Path, size: int) -> None:
    """Everything within the bounds: the beginning, the end, and a line for what is between."""
    path = tmp_path / "x.log"
    log = filled(path, size)
    blocks = size // BLOCK
    assert files.size(str(path)) == size
    raw, more = files.last(str(path), 3 * BLOCK)
    assert raw == b"".join(map(_block, range(max(0, blocks - 3), blocks)))
    assert more is (blocks > 3)
    log.close()
    assert [each.name for each in tmp_path.iterdir()] == ["x.log"]
    content = path.read_bytes()
    assert len(content) <= files.HEAD + 2 * files.PIECE + 100
    assert content.startswith(b"".join(map(_block, range(min(blocks, 128)))))
    assert content.endswith(b"".join(map(_block, range(max(0, blocks - 64), blocks))))
    assert (b"left out here" in content) is (size > 16 << 20)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_following_reads_everything_once_and_skips_what_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    log = runner_log.Log(str(path))
    position, read = 0, 0
    for number in range(220):
        log.write(_block(number))
        raw, position = files.since(str(path), position, 1 << 20)
        read += len(raw)
    while raw:
        raw, position = files.since(str(path), position, 1 << 20)
        read += len(raw)
    assert read == position == log.written
    filled(tmp_path / "y.log", 40 << 20)
    raw, position = files.since(str(tmp_path / "y.log"), files.HEAD, 1 << 20)
    assert position == 37 << 20
    assert raw.startswith(_block((36 << 20) // BLOCK))


def test_a_log_that_cannot_be_written_costs_only_the_log(tmp_path: Path) -> None:
    log = runner_log.Log(str(tmp_path / "no" / "x.log"))
    log.write(b"abc")
    log.close()
    assert (log.written, log.trouble) == (3, os.strerror(errno.ENOENT))
    assert files.last(str(tmp_path / "no" / "x.log"), 10) == (b"", False)


def test_a_log_never_follows_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "x.log").symlink_to(victim)
    log = runner_log.Log(str(tmp_path / "x.log"))
    log.write(b"abc")
    log.close()
    assert victim.read_text() == "mine"
    assert files.last(str(tmp_path / "x.log"), 10) == (b"", False)


def test_the_launcher_stands_and_is_repaired(tmp_path: Path) -> None:
    place = Place(
        runs=str(tmp_path / "runs"), launcher=str(tmp_path / "w.run"), python="/opt/my py/python",
        package="/p", socket="/s", published="/f",
    )  # fmt: skip
    files.prepare(place)
    launcher = tmp_path / "w.run"
    text = launcher.read_text()
    assert text.startswith("#!/bin/sh\n")
    assert "exec '/opt/my py/python' -I -S " in text
    assert stat.S_IMODE(launcher.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "runs").stat().st_mode) == 0o700
    launcher.write_text("#!/bin/sh\necho something else\n")
    files.prepare(place)
    assert launcher.read_text() == text


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        files.prepare(Place(runs=str(tmp_path / "runs"), launcher=str(tmp_path / "w.run")))


def test_a_status_that_was_left_behind(tmp_path: Path) -> None:
    place = Place(runs=str(tmp_path))
    assert files.status_of(place, "x-1") is None
    (tmp_path / "x-1.status").write_text('{"exit_code": 3, "written": 5, "hung_up": false}')
    assert files.status_of(place, "x-1") == Status(exit_code=3, written=5)
    (tmp_path / "x-2.status").write_text("{")
    assert files.status_of(place, "x-2") is None
    files.forget_status(place, "x-1")
    assert os.listdir(tmp_path) == ["x-2.status"]


def test_the_oldest_logs_go_and_never_a_needed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is bounded by runs and by bytes; all files of a run go together."""
    place = Place(runs=str(tmp_path))
    files.prune(Place(runs=str(tmp_path / "none")), frozenset())
    for age, name in enumerate(
        ["x-5.log", "x-4.log", "x-3.log", "x-3.log.1", "x-2.log", "x-1.log"]
    ):
        (tmp_path / name).write_bytes(b"0123456789")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "a-folder").mkdir()

    files.prune(place, frozenset())
    assert len(os.listdir(tmp_path)) == 7
    monkeypatch.setattr(files, "KEPT_RUNS", 4)
    files.prune(place, frozenset())
    assert not (tmp_path / "x-1.log").exists()
    monkeypatch.setattr(files, "KEPT_BYTES", 30)
    files.prune(place, frozenset({"x-2"}))
    assert sorted(os.listdir(tmp_path)) == ["a-folder", "x-2.log", "x-4.log", "x-5.log"]
