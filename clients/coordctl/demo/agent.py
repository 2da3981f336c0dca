"""A scripted agent: an ordinary program that looks and reports like a coding agent of kind codex.

It draws that kind's composer, reads what is typed into it, calls ``coordctl`` for what it is owed, and
reports ``working`` and ``idle`` to the terminal host the way agents' hooks do. What happened to it goes to
a log as JSON lines. Orders come as JSON lines appended to a file; see --help.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import subprocess
import sys
import termios
import time
import tty
from typing import Any

from coordctl.demo.composer import Composer

SOURCE = "coordinatord:demo"
KIND = "codex"
TICK_S = 0.05
PLACEHOLDER = "Ask Codex to do anything"


class Agent:
    """The program in one pane."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked
        self._composer = Composer()
        self._said: list[str] = []
        self._working = False
        self._ordered_to_work = False
        self._read_to = 0
        self._shown = ""
        self._living = True

    def run(self) -> None:
        """Live until ordered to exit or the terminal goes away."""
        before = termios.tcgetattr(0)
        tty.setraw(0)
        os.write(1, b"\x1b[?2004h\x1b[2J")
        try:
            self._begin()
            while self._living:
                self._draw()
                self._follow_orders()
                self._read()
        finally:
            os.write(1, b"\x1b[?2004l")
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def _begin(self) -> None:
        self._report("idle")
        if self._asked.init:
            self._coordctl("init")
        self._note("ready")

    def _read(self) -> None:
        if not select.select([0], [], [], TICK_S)[0]:
            return
        raw = os.read(0, 65536)
        if not raw:
            self._living = False
        for text in self._composer.feed(raw):
            self._note("queued" if self._working else "submit", text=text)
            self._said.append(f"› {text}")
            if not self._working:
                self._turn(text)

    def _turn(self, text: str) -> None:
        """One answer to what was submitted."""
        self._report("working")
        if not self._asked.mute:
            self._deal_with_inbox()
        self._nap(self._asked.turn)
        self._said.append("• Done.")
        self._report("idle")

    def _deal_with_inbox(self) -> None:
        inbox = self._coordctl("inbox") or {"items": []}
        for item in inbox["items"]:
            deal = getattr(self, f"_deal_with_{item['kind']}", None)
            if deal is not None:
                deal(item)

    def _deal_with_question(self, item: dict[str, Any]) -> None:
        self._coordctl("answer", item["id"], "Use port 8080.")

    def _deal_with_answer(self, item: dict[str, Any]) -> None:
        self._coordctl("resolve", item["id"])
        words = ("--task", item["task"], "--outcome", "completed", "It listens on port 8080.")
        self._coordctl("report", *words)

    def _deal_with_report(self, item: dict[str, Any]) -> None:
        self._coordctl("verify", item["task"], "--candidate", "demo-1", "--result", "pass")

    def _deal_with_message(self, item: dict[str, Any]) -> None:
        self._coordctl("ack", item["id"])

    def _deal_with_attention(self, item: dict[str, Any]) -> None:
        self._coordctl("attention", "seen", item["id"])

    def _coordctl(self, *words: str) -> Any:
        command = [os.environ.get("COORDCTL", "coordctl"), *words, "--json"]
        self._note("call", words=list(words[:2]))
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            self._note(
                "failed", words=list(words[:2]), status=done.returncode, error=done.stderr[:500]
            )
            return None
        return json.loads(done.stdout)

    def _follow_orders(self) -> None:
        try:
            with open(self._asked.orders, encoding="utf-8") as file:
                file.seek(self._read_to)
                lines = file.readlines()
                whole = [line for line in lines if line.endswith("\n")]
                self._read_to += sum(len(line.encode()) for line in whole)
        except FileNotFoundError:
            return
        for line in whole:
            try:
                self._obey(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:  # a typing mistake ends nothing
                self._note("not understood", order=line.rstrip("\n"), why=repr(error))

    def _obey(self, order: dict[str, Any]) -> None:
        match order["do"]:
            case "work":
                self._report("working")
            case "rest":
                self._report("idle")
            case "ask":
                self._report("working")
                self._coordctl("ask", "--task", order["task"], "--key", order["key"], order["text"])
                self._report("idle")
            case "exit":
                self._living = False
        self._note("obeyed", do=order["do"])

    def _report(self, state: str) -> None:
        """Tell the terminal host, as an agent's hook would."""
        self._working = state == "working"
        self._draw()
        params = {
            "pane_id": os.environ["HERDR_PANE_ID"],
            "source": SOURCE,
            "agent": KIND,
            "state": state,
        }
        line = json.dumps({"id": "r", "method": "pane.report_agent", "params": params}) + "\n"
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(os.environ["HERDR_SOCKET_PATH"])
                connection.sendall(line.encode())
                connection.recv(65536)
        except OSError as error:
            self._note("unreported", state=state, why=str(error))

    def _draw(self) -> None:
        rows = os.get_terminal_size(1).lines
        work = ["• Working (1s • esc to interrupt)", ""] if self._working else []
        typed = self._composer.text
        line = f"› {typed}" if typed else f"› \x1b[2m{PLACEHOLDER}\x1b[0m"
        foot = [*work, line, "", f"  scripted default · {self._asked.name}"]
        body = [f"  >_ scripted agent: {self._asked.name}", "", *self._said][
            -(rows - len(foot) - 2) :
        ]
        shown = "\r\n".join([*body, "", *foot])
        if shown != self._shown:
            self._shown = shown
            os.write(1, b"\x1b[H\x1b[2J" + shown.encode("utf-8", "replace"))

    def _nap(self, seconds: float) -> None:
        self._draw()
        time.sleep(seconds)

    def _note(self, kind: str, **facts: Any) -> None:
        with open(self._asked.log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, "t": round(time.time(), 3), **facts}) + "\n")


ORDERS = """orders, one a line:
  {"do": "work"}    be busy until told to rest
  {"do": "rest"}    be idle
  {"do": "ask", "task": "t-1h6v5w0z", "key": "k1", "text": "Which port?"}
  {"do": "exit"}    end

start it in a pane with HERDR_AGENT=codex in its environment, so that the terminal host takes it for one:
  env HERDR_AGENT=codex python -m coordctl.demo.agent --log worker.log --orders worker.orders
"""


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(
        prog="python -m coordctl.demo.agent",
        description=(__doc__ or "").partition("\n")[0],
        epilog=ORDERS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--log", required=True, help="gets what happened, as JSON lines")
    parser.add_argument(
        "--orders", required=True, help="what to do, as JSON lines; read as it grows"
    )
    parser.add_argument("--name", default="agent", help="shown on the screen")
    parser.add_argument("--turn", type=float, default=0.3, help="seconds that an answer takes")
    parser.add_argument("--init", action="store_true", help="take a seat at the start")
    parser.add_argument("--mute", action="store_true", help="answer nothing, only be busy")
    Agent(parser.parse_args()).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
