"""The log: folded, bounded, private, and without prose."""

from __future__ import annotations

import json
import logging
import os
import random
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.daemon import logs
from coordinatord.daemon.folding import FIRST_WINDOW_S, MOST_ROWS, Folding
from coordinatord.daemon.log_file import LogFile, Stream

Told = list[dict[str, Any]]


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> Iterator[logs.Logs]:
    opened = logs.start(
        level="info",
        file=tmp_path / "daemon.log",
        console="none",
        clock=clock,
        wall=lambda: "2026-01-02T03:04:05Z",
    )
    yield opened
    opened.close()
    structlog.reset_defaults()
    logging.basicConfig(handlers=[], force=True)


def told(folder: Path) -> Told:
    return [json.loads(line) for line in (folder / "daemon.log").read_text().splitlines()]


# folding


def test_the_first_line_is_written_and_its_repetitions_are_counted() -> None:
    folding = Folding()
    line = {"event": "host.unreachable", "socket": "/s"}
    assert folding.admit(line, 0.0) == [line]
    assert folding.admit(line, 1.0) == []
    assert folding.admit(line, 2.0) == []
    assert folding.due(FIRST_WINDOW_S) == [{**line, "repeated": 2, "within_s": FIRST_WINDOW_S}]
    assert folding.due(FIRST_WINDOW_S) == []


def test_lines_that_differ_only_in_numbers_are_alike() -> None:
    folding = Folding()
    assert folding.admit({"event": "host.retry", "try": 1, "delay_s": 0.1}, 0.0)
    assert folding.admit({"event": "host.retry", "try": 2, "delay_s": 0.2}, 0.1) == []
    assert folding.admit({"event": "host.retry", "try": True, "delay_s": 0.2}, 0.2) != []


def test_another_seat_is_another_line() -> None:
    folding = Folding()
    assert folding.admit({"event": "delivery.held", "seat": "worker:t-1"}, 0.0)
    assert folding.admit({"event": "delivery.held", "seat": "worker:t-2"}, 0.0)


def test_a_line_with_a_log_id_is_always_written() -> None:
    """Somebody was told that id and will look for it."""
    folding = Folding()
    line = {"event": "bug", "log_id": "b-1"}
    assert [folding.admit(line, 0.0), folding.admit(line, 0.0)] == [[line], [line]]


def test_after_a_quiet_window_a_line_is_new_again() -> None:
    folding = Folding()
    line = {"event": "host.unreachable"}
    folding.admit(line, 0.0)
    assert folding.admit(line, FIRST_WINDOW_S + 1) == [line]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 30)), max_size=200))
def test_every_line_is_written_or_counted(script: list[tuple[str, float]]) -> None:
    """Nothing is lost: written lines and counts add up to what was logged."""
    folding, now, written = Folding(), 0.0, []
    for name, pause in script:
        now += pause
        written += folding.admit({"event": name}, now)
    written += folding.all(now)
    for name in "abc":
        lines = [line for line in written if line["event"] == name]
        assert sum(line.get("repeated", 1) for line in lines) == [n for n, _ in script].count(name)


def test_many_sorts_of_lines_do_not_pile_up() -> None:
    folding = Folding()
    for number in range(3 * MOST_ROWS):
        folding.admit({"event": str(number)}, 0.0)
        folding.admit({"event": str(number)}, 0.0)
    assert len(folding.all(0.0)) == MOST_ROWS


def test_g12_a_host_that_fails_for_ten_minutes_costs_less_than_100_kb(
    log: logs.Logs, clock: Clock, tmp_path: Path
) -> None:
    """G-12: thirty panes, a try a second each, jittered, for ten minutes."""
    jitter = random.Random(7)
    logger = structlog.get_logger()
    for second in range(600):
        clock.now = float(second)
        for pane in range(30):
            logger.warning("host.unreachable", pane=f"w1:p{pane}", delay_s=jitter.random())
        log.tell_counts()
    log.close()
    size = (tmp_path / "daemon.log").stat().st_size
    assert 0 < size < 100_000
    assert sum(line.get("repeated", 1) for line in told(tmp_path)) == 600 * 30


# what is written


def test_prose_and_secrets_are_left_out(log: logs.Logs, tmp_path: Path) -> None:
    prose = dict.fromkeys(logs.PROSE, "please rotate the key")
    structlog.get_logger().info("question.asked", id="q-9f3t8b2c", **prose)
    (line,) = told(tmp_path)
    assert line["id"] == "q-9f3t8b2c"
    assert "rotate" not in (tmp_path / "daemon.log").read_text()
    assert line["body"] == "<21 left out>"


@pytest.mark.usefixtures("log")
def test_a_line_has_time_level_event_and_fields(tmp_path: Path) -> None:
    structlog.get_logger().warning("pump.held", seat="coordinator", reason="busy", count=2)
    assert told(tmp_path) == [
        {
            "at": "2026-01-02T03:04:05Z",
            "level": "warning",
            "event": "pump.held",
            "seat": "coordinator",
            "reason": "busy",
            "count": 2,
        }
    ]


@pytest.mark.usefixtures("log")
def test_below_the_level_nothing_is_written(tmp_path: Path) -> None:
    structlog.get_logger().debug("wire.received")
    structlog.get_logger().info("daemon.ready")
    assert [line["event"] for line in told(tmp_path)] == ["daemon.ready"]


@pytest.mark.usefixtures("log")
def test_a_bug_is_written_with_its_trace_and_without_local_values(tmp_path: Path) -> None:
    try:
        body = "secret words"
        raise LookupError(len(body))
    except LookupError:
        structlog.get_logger().exception("bug", log_id="b-1")
    (line,) = told(tmp_path)
    assert "LookupError: 12" in line["trace"]
    assert "secret words'" not in line["trace"]


@pytest.mark.usefixtures("log")
def test_libraries_warnings_arrive_under_their_name(tmp_path: Path) -> None:
    logging.getLogger("asyncio").error("%s was never retrieved", "Task exception")
    (line,) = told(tmp_path)
    assert (line["event"], line["logger"]) == ("library.error", "asyncio")
    assert line["said"] == "Task exception was never retrieved"


@given(st.text(), st.text())
def test_any_text_makes_one_line_of_ascii(name: str, value: str) -> None:
    """Odd text in a field can break neither the line nor its reader."""
    shown = logs.as_json({"event": name, "path": value})
    assert shown.isascii()
    assert "\n" not in shown
    assert json.loads(shown) == {"event": name, "path": value}


def test_a_field_that_is_too_long_is_cut(log: logs.Logs, tmp_path: Path) -> None:
    structlog.get_logger().info("store.failed", reason="x" * 5000, places=["y"] * 5000)
    (line,) = told(tmp_path)
    assert len(line["reason"]) == len(line["places"]) == logs.LONGEST_FIELD + 1


# where it is written


def test_the_file_is_private_and_bounded(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "daemon.log", limit=100, files=3)
    for number in range(100):
        file.write(f"{number:030}")
    file.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    assert stat.S_IMODE((tmp_path / "daemon.log").stat().st_mode) == 0o600
    assert (tmp_path / "daemon.log").read_text().splitlines()[-1] == f"{99:030}"


def test_after_a_restart_the_file_goes_on(tmp_path: Path) -> None:
    for text in ("first", "second"):
        file = LogFile(tmp_path / "daemon.log")
        file.write(text)
        file.close()
    assert (tmp_path / "daemon.log").read_text() == "first\nsecond\n"


def test_what_cannot_be_written_is_counted_and_told_later(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    file = LogFile(folder / "daemon.log")
    file.write("one")
    file.write("two")
    folder.mkdir()
    file.write("three")
    file.close()
    lost, third = (folder / "daemon.log").read_text().splitlines()
    assert json.loads(lost) == {"event": "log.lines-lost", "count": 2}
    assert third == "three"


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("keep")
    (tmp_path / "daemon.log").symlink_to(tmp_path / "precious")
    LogFile(tmp_path / "daemon.log").write("line")
    assert (tmp_path / "precious").read_text() == "keep"


def test_a_closed_stream_does_not_end_the_daemon() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    Stream(writer).write("line")
    os.close(reader)
    assert logs.console_for(writer, {}) == "none"


def test_what_stands_behind_standard_error_decides_the_form(tmp_path: Path) -> None:
    master, terminal = os.openpty()
    file = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    facts = os.fstat(file)
    try:
        journal = {"JOURNAL_STREAM": f"{facts.st_dev}:{facts.st_ino}"}
        assert logs.console_for(terminal, journal) == "terminal"
        assert logs.console_for(file, journal) == "journal"
        assert logs.console_for(file, {}) == "none"
    finally:
        for descriptor in (master, terminal, file):
            os.close(descriptor)


@pytest.mark.parametrize("console", ["terminal", "journal"])
def test_terminal_and_journal_get_the_same_lines_in_their_form(
    console: logs.Console, clock: Clock
) -> None:
    class Lines(list[str]):
        write = list.append

        def close(self) -> None: ...

    lines = Lines()
    opened = logs.start(
        level="info", file=None, console=console, clock=clock, wall=lambda: "now", stream=lines
    )
    try:
        structlog.get_logger().error("pump.failed", seat="coordinator")
    finally:
        opened.close()
        structlog.reset_defaults()
        logging.basicConfig(handlers=[], force=True)
    (line,) = lines
    assert "pump.failed" in line
    assert "coordinator" in line
    if console == "journal":
        assert line.startswith("<3>{")
