#!/usr/bin/env python3
"""A program that looks like the codex of the recordings: composer, working line, dialog.

It takes orders from ``$DEMO_ORDERS/<pane id>``, one per line, read as the file grows: ``turn S``
(a turn takes S seconds from now on), ``swallow`` (the next Enter is lost), ``dialog``, ``work S``,
``exit``.
Seconds are multiplied by ``$DEMO_PACE``. What it receives goes to ``$DEMO_ORDERS/<pane id>.log``.
"""

import json
import os
import select
import sys
import termios
import time
import tty

PACE = float(os.environ["DEMO_PACE"])
ORDERS = os.path.join(os.environ["DEMO_ORDERS"], os.environ["HERDR_PANE_ID"])
PASTE, PASTE_END = "\x1b[200~", "\x1b[201~"
DIALOG = [
    "  Would you like to run the following command?",
    "",
    "  $ touch demo.txt",
    "",
    "› 1. Yes, proceed (y)",
    "  2. No, and tell Codex what to do differently (esc)",
    "",
    "  Press enter to confirm or esc to cancel",
]


class StandIn:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.draft = ""
        self.queue: list[str] = []
        self.dialog = self.swallow = self.over = False
        self.turn = 1.0
        self.ends: float | None = None
        self.read = 0
        self.pasting = False
        self.pending = ""

    def log(self, what: str, **facts: object) -> None:
        with open(ORDERS + ".log", "a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, **facts}) + "\n")

    def draw(self) -> None:
        rows = [">_ Codex stand-in (demo)", ""]
        for text in self.said:
            rows += [f"> {line}" for line in text.split("\n")]
        if self.dialog:
            rows += ["", *DIALOG]
        else:
            if self.ends is not None:
                rows += ["", "• Working (0s • esc to interrupt)"]
            first, *rest = self.draft.expandtabs(4).split("\n")
            rows += [f"› {first}", *(f"  {line}" for line in rest)]
            rows.append("  demo-model · 100% context left")
        sys.stdout.write("\x1b[H\x1b[2J" + "\r\n".join(rows))
        sys.stdout.flush()

    def submit(self, text: str, how: str) -> None:
        self.log(how, text=text)
        self.said.append(text)
        self.ends = time.monotonic() + self.turn * PACE

    def enter(self) -> None:
        if self.dialog:
            self.log("dialog_key", key="\r")
            self.dialog = False
        elif self.swallow:
            self.swallow = False
        elif not self.draft:
            self.log("enter_on_empty_composer")
        else:
            text, self.draft = self.draft, ""
            if self.ends is not None:
                self.log("queued", text=text)
                self.queue.append(text)
            else:
                self.submit(text, "submit")

    def take(self, typed: str) -> None:
        self.pending += typed
        while self.pending:
            if self.pasting:
                body, end, rest = self.pending.partition(PASTE_END)
                if not end:
                    return
                self.draft += body
                self.pending, self.pasting = rest, False
            elif self.pending.startswith(PASTE):
                self.pending, self.pasting = self.pending[len(PASTE) :], True
            elif self.pending.startswith(PASTE_END):
                self.pending = self.pending[len(PASTE_END) :]
            elif PASTE.startswith(self.pending) or PASTE_END.startswith(self.pending):
                return
            else:
                key, self.pending = self.pending[0], self.pending[1:]
                self.key(key)

    def key(self, key: str) -> None:
        if key == "\r":
            self.enter()
        elif self.dialog:
            self.log("dialog_key", key=key)
            self.dialog = False
        elif key == "\x03":
            self.log("clear", had_draft=bool(self.draft))
            self.draft = ""
        elif key >= " " or key in "\n\t":
            self.draft += key

    def obey(self) -> bool:
        try:
            with open(ORDERS, encoding="utf-8") as file:
                file.seek(self.read)
                lines = file.read()
        except FileNotFoundError:
            return False
        self.read += len(lines)
        for line in lines.splitlines():
            word, *rest = line.split()
            if word == "turn":
                self.turn = float(rest[0])
            elif word == "work":
                self.ends = time.monotonic() + float(rest[0]) * PACE
            elif word == "swallow":
                self.swallow = True
            elif word == "dialog":
                self.dialog = True
            elif word == "exit":
                self.over = True
        return bool(lines)

    def step(self) -> bool:
        changed = self.obey()
        if self.ends is not None and time.monotonic() >= self.ends:
            self.ends = None
            changed = True
            if self.queue:
                self.submit(self.queue.pop(0), "submit_from_queue")
        return changed

    def run(self) -> None:
        self.obey()
        # what was ordered of the one before is done
        self.over = self.swallow = self.dialog = False
        self.ends = None
        sys.stdout.write("\x1b[?2004h")
        self.draw()
        while not self.over:
            if select.select([0], [], [], 0.01)[0]:
                self.take(os.read(0, 65536).decode("utf-8", "replace"))
                self.draw()
            if self.step():
                self.draw()
        sys.stdout.write("\x1b[?2004l\x1b[H\x1b[2J")
        sys.stdout.flush()


before = termios.tcgetattr(0)
try:
    tty.setraw(0)
    StandIn().run()
finally:
    termios.tcsetattr(0, termios.TCSADRAIN, before)
