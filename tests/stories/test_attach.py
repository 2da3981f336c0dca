"""A person sits in a pane: `coordctl pane attach` in a real terminal, against the real host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from coordctl.demo.stage import Stage
from tests.stories.mute_host import MuteDoor
from tests.stories.terminal import Terminal

Attach = Callable[..., Terminal]
CTRL_BACKSLASH = b"\x1c"

FULL_SCREEN = r"""
import os, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"\x1b[?1049h\x1b[?1000h\x1b[?1006h\x1b[2J\x1b[H\xe6\xbc\xa2\xe5\xad\x97 full\r\n")
while (keys := os.read(0, 64)) != b"q":
    os.write(1, repr(keys).encode() + b"\r\n")
os.write(1, b"\x1b[?1006l\x1b[?1000l\x1b[?1049l")
termios.tcsetattr(0, termios.TCSADRAIN, before)
"""
ASKING = r"""
import os, tty
tty.setraw(0)
os.write(1, b"\x1b[c\x1b[6n\x1b]11;?\x07\x1b[>qasked\r\n")
heard = b""
while not heard.endswith(b"!"):
    heard += os.read(0, 64)
os.write(1, b"heard %d\r\n" % heard.count(b"\x1b"))
"""


@pytest.fixture
def attach(stage: Stage) -> Iterator[Attach]:
    """Opens terminals with `coordctl pane attach PANE` in them."""
    opened: list[Terminal] = []

    def open_terminal(pane: str, **more: int) -> Terminal:
        opened.append(
            Terminal(stage.environ, "-C", str(stage.root), "pane", "attach", pane, **more)
        )
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


@pytest.fixture
def pane(stage: Stage) -> str:
    """A pane with a shell."""
    return str(stage.act("pane.open", label="mine")["pane_id"])


def program(stage: Stage, name: str, text: str) -> str:
    """A program that can be typed as one short line."""
    path = stage.props / name
    path.write_text(text)
    return f"{sys.executable} {path}\r"


def test_typing_leaving_and_coming_back(stage: Stage, pane: str, attach: Attach) -> None:
    """The pane's shell is where it was left; the terminal is as it was found."""
    first = attach(pane)
    first.until_shown("ctrl+\\")
    first.type("echo it is $((6*7))\r")
    first.until_shown("it is 42")
    assert first.settings != first.before
    first.type(CTRL_BACKSLASH)
    first.until_shown("status 0")
    assert first.settings == first.before
    second = attach("mine")
    second.until_shown("it is 42")
    second.type("exit\r")
    second.until_shown("has ended")
    second.until_shown("status 0")
    assert second.settings == second.before
    assert pane not in {each["pane_id"] for each in stage.call("pane.list")["items"]}


@pytest.mark.parametrize("keys", [b"\x1b[92;5u", b"\x1b[27;5;92~"])
def test_leaving_with_extended_keys(pane: str, attach: Attach, keys: bytes) -> None:
    r"""Applications may have asked for other codes of ctrl+\; it leaves all the same."""
    terminal = attach(pane)
    terminal.type("echo here $((1+1))\r")
    terminal.until_shown("here 2")
    terminal.type(keys)
    terminal.until_shown("status 0")


def test_the_window_size_reaches_the_pane(pane: str, attach: Attach) -> None:
    """At the start and at every change; the screen is drawn anew."""
    terminal = attach(pane, columns=90)
    terminal.type("stty size\r")
    terminal.until_shown("25 90")
    terminal.resize(61, 17)
    terminal.type("stty size\r")
    terminal.until_shown("17 61")


def test_full_screen_mouse_and_wide_characters(stage: Stage, pane: str, attach: Attach) -> None:
    """Modes and both screens are there again after coming back; the mouse reaches the program."""
    first = attach(pane)
    first.type(program(stage, "full.py", FULL_SCREEN))
    first.until_shown("漢字 full")
    first.type(CTRL_BACKSLASH)
    first.until_shown("status 0")
    assert not first.screen.alternate
    assert not first.screen.mouse
    second = attach(pane)
    second.until_shown("漢字 full")
    assert second.screen.alternate
    assert second.screen.mouse
    second.type("\x1b[<0;5;6M")
    second.until_shown("[<0;5;6M")
    second.type("ü漢")
    second.until_shown("\\xc3\\xbc\\xe6\\xbc\\xa2")
    second.type("q")
    second.until("the program has ended", lambda: not second.screen.alternate)
    second.type("echo back $((2+2))\r")
    second.until_shown("back 4")


def test_questions_are_answered_once(stage: Stage, pane: str, attach: Attach) -> None:
    """The host has answered; this terminal, which would too, never sees the question."""
    terminal = attach(pane)
    terminal.type(program(stage, "asking.py", ASKING))
    terminal.until_shown("asked\n")
    terminal.type("!")
    terminal.until_shown("heard 5")  # the last answer ends in an escape of its own


def test_a_flood_and_a_slow_terminal(pane: str, attach: Attach) -> None:
    """What a terminal cannot show in time is left out; ctrl+c works, and the end is right."""
    terminal = attach(pane)
    terminal.type("yes 漢字漢字漢字漢字漢字; echo over $((5*5))\r")
    terminal.until("a lot is shown", lambda: len(terminal.written) > 3_000_000)
    terminal.type("\x03")
    terminal.until("the shell goes on", lambda: b"\r\n" in terminal.written[-20:])
    terminal.type("clear; echo calm $((3*3))\r")
    terminal.until_shown("calm 9")
    assert "\ufffd" not in terminal.shown


def test_a_signal_puts_the_terminal_back(stage: Stage, pane: str, attach: Attach) -> None:
    """SIGTERM ends it with 143, also while the pane is flooding; the pane goes on."""
    terminal = attach(pane)
    terminal.type("yes\r")
    terminal.until("a lot is shown", lambda: len(terminal.written) > 100_000)
    client = _client(stage)
    client.send_signal(signal.SIGTERM)
    terminal.until_shown("status 143")
    assert terminal.settings == terminal.before
    assert "yes" in _in_front(stage, pane)


def test_the_host_goes_away(stage: Stage, pane: str, attach: Attach) -> None:
    """Killed: the terminal is put back, and the status says that nothing answers."""
    terminal = attach(pane)
    terminal.type("echo here $((1+1))\r")
    terminal.until_shown("here 2")
    host = next(each for each in psutil.process_iter() if _is_host(each, stage))
    host.kill()
    terminal.until_shown("does not answer")
    terminal.until_shown("status 3")
    assert terminal.settings == terminal.before


def test_refusals(stage: Stage, pane: str, attach: Attach) -> None:
    """An unknown pane, and a standard input that is no terminal."""
    unknown = attach("w9:p9")
    unknown.until_shown("There is no pane w9:p9")
    unknown.until_shown("status 1")
    piped = subprocess.run(
        [sys.executable, "-m", "coordctl", "-C", str(stage.root), "pane", "attach", pane],
        env=stage.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert piped.returncode == 1
    assert "must be a terminal" in piped.stderr


def test_a_pane_does_not_show_itself(stage: Stage, pane: str, attach: Attach) -> None:
    """Attached to itself it would repeat its own output without end."""
    terminal = attach(pane)
    terminal.type(f"$COORDCTL pane attach {pane}\r")
    terminal.until_shown("show itself without end")


def test_herdr_shows_its_panes_itself(stage: Stage, pane: str, runtime_base: Path) -> None:
    """Refused with Herdr's own command for this very pane."""
    terminal_id = stage.call("pane.list")["items"][0]["terminal_id"]
    door = MuteDoor(runtime_base / "herdr.sock", stage.call("daemon.status")["terminal"]["socket"])
    other = Stage("herdr")
    try:
        other.environ["COORDINATORD_HERDR_SOCKET"] = str(runtime_base / "herdr.sock")
        assert other.call("daemon.status")["terminal"]["kind"] == "herdr"
        terminal = Terminal(other.environ, "-C", str(other.root), "pane", "attach", pane)
        terminal.until_shown(f"herdr terminal attach {terminal_id}")
        terminal.until_shown("status 1")
        terminal.close()
    finally:
        other.close()
        door.close()


def _in_front(stage: Stage, pane: str) -> str:
    """The command lines of the foreground group of the pane, from its processes."""
    commands = []
    for process in psutil.process_iter(["cmdline"]):
        try:
            if process.environ().get("HERDR_PANE_ID") == pane and process.environ().get(
                "COORDINATORD_ROOT"
            ) == os.path.realpath(stage.root):
                commands.append(" ".join(process.info["cmdline"] or []))
        except psutil.Error:
            continue
    return "\n".join(commands)


def _client(stage: Stage) -> psutil.Process:
    return next(
        each
        for each in psutil.process_iter(["cmdline"])
        if (each.info["cmdline"] or [])[1:3] == ["-m", "coordctl"]
        and str(stage.root) in each.info["cmdline"]
    )


def _is_host(process: psutil.Process, stage: Stage) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return "coordinatord.panehost" in words and any(str(stage.root) in word for word in words)
