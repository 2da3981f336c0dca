"""The command's own process: environment, terminal, codes."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Iterator

import pytest

from coordctl import runner_child
from coordctl.runner_child import CannotStart, Child


@pytest.fixture
def terminal() -> Iterator[int]:
    """Stands in for the pane's."""
    master, slave = os.openpty()
    yield slave
    os.close(slave)
    os.close(master)


def start(
    terminal: int, *command: str, cwd: str = "/", env: dict[bytes, bytes] | None = None
) -> Child:
    """Start a command as the runner does."""
    modes = termios.tcgetattr(terminal)
    return runner_child.start(command, cwd, env or dict(os.environb), modes, terminal)


def finish(child: Child) -> tuple[int | None, bytes]:
    """Its code and all its output."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.collect()
    os.set_blocking(child.master, True)
    output = b""
    try:
        while piece := os.read(child.master, 4096):
            output += piece
    except OSError:
        pass  # the end of a terminal
    os.close(child.master)
    return child.exit_code, output


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("exit 7",), 7),
        (("kill -TERM $$",), 143),
        (("no-such-thing",), 127),
        (("no-such-thing", "x"), 127),
        (("/etc/passwd", "x"), 126),
        (("/etc", "x"), 126),
        (("sh", "-c", "exit 255"), 255),
    ],
)
def test_codes_as_a_shell_says_them(terminal: int, command: tuple[str, ...], code: int) -> None:
    assert finish(start(terminal, *command))[0] == code


def test_it_leads_a_session_with_a_terminal_and_default_signals(terminal: int) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        look = "test -t 0 && test -t 1 && cut -d' ' -f6 /proc/$$/stat; echo $$; kill -INT $$"
        code, output = finish(start(terminal, look))
    finally:
        signal.signal(signal.SIGINT, before)
    session, pid = output.split()
    assert session == pid
    assert code == 130


def test_a_folder_that_cannot_be_entered_is_said(terminal: int) -> None:
    with pytest.raises(CannotStart, match="cannot be entered"):
        start(terminal, "true", cwd="/no/such/folder")


def test_the_environment_is_the_caller_s_but_for_the_pane_s_marks() -> None:
    own = {
        b"HERDR_PANE_ID": b"w1:p9",
        b"TERM": b"xterm-256color",
        b"HOME": b"/pane",
        b"COORDINATORD_TOKEN": b"p",
    }
    given = b"HOME=/caller\0HERDR_PANE_ID=w1:p1\0HERDR_AGENT=codex\0TERM=dumb\0"
    given += b"COORDINATORD_TOKEN=c\0ODD=\xff=\n\0X\0"
    assert runner_child.environment(given, own) == {
        b"HOME": b"/caller",
        b"ODD": b"\xff=\n",
        b"HERDR_PANE_ID": b"w1:p9",
        b"TERM": b"xterm-256color",
        b"COORDINATORD_TOKEN": b"p",
    }
    assert runner_child.environment(None, own) == own
