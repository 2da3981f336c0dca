"""Screens as a terminal shows them: the stand-in agent's layout, drawn by the real emulator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from coordinatord.panehost.screen import Screen

RECORDED: Final = Path(__file__).parent.parent / "recordings" / "agents"
CHIP_ABOVE: Final = 800
"""From so many characters on the stand-in agent shows a chip instead of the text."""


class FakeAgent(msgspec.Struct, frozen=True, kw_only=True):
    """What the stand-in agent has to draw (cases, Bench)."""

    said: Sequence[str] = ()
    draft: str = ""
    ghost: str = ""
    dialog: bool = False
    busy: bool = False

    def drawn(self, columns: int, rows: int = 30, *, ansi: bool = True) -> str:
        """Its whole screen, as a pane's ``visible`` read gives it."""
        parts = ["\x1b[2J\x1b[H", *(f"{line[:columns]}\r\n" for line in self.said)]
        if self.busy:
            parts.append("* Thinking… (esc to interrupt)\r\n")
        rule = "─" * columns + "\r\n"
        body = "Allow this command?\r\n❯ 1. Yes\r\n  2. No\r\n" if self.dialog else self._composer()
        return drawn("".join([*parts, rule, body, rule, "  ? for shortcuts"]), columns, rows, ansi)

    def _composer(self) -> str:
        shown = self.draft.replace("\n", "\r\n  ")
        if not shown and self.ghost:
            shown = f"\x1b[2m{self.ghost}\x1b[0m"
        if len(shown) >= CHIP_ABOVE:
            shown = f"[Pasted text {len(shown)} chars]"
        return f"❯ {shown}\r\n"


def drawn(written: str, columns: int, rows: int, ansi: bool) -> str:
    """What a read of the pane gives after a program wrote this."""
    screen = Screen(columns, rows)
    screen.feed(written.encode("utf-8", "surrogatepass"))
    return screen.text("visible", None, ansi)[0]


def recorded(name: str) -> str:
    """A recorded screen of a real agent, for example ``claude-idle``."""
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
