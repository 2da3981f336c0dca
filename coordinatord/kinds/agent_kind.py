"""What the file of an agent kind may say; the keys of the TOML files are the fields here.

Regular expressions are searched in one row of the screen at a time, unless a field says otherwise.
Facts behind the packaged files: agents.md §1 (input matrix, readiness) and the sections of the four
agents.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class Ruled(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="shape", tag="ruled"
):
    """A composer between two rules of ``─`` of one width, with at most ``below`` rows under it.

    With a ``glyph`` the first row between the rules begins with it. Without one, everything between
    the rules would look like a draft: then the footer must be recognised (``footer``) and the
    kind's dialogs are tried before the composer. ``never_below`` is what only a program that has
    ended leaves there.
    """

    below: int
    glyph: str = ""
    footer: str = ""
    never_below: str = ""


class Status(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="shape", tag="status"
):
    """The last row beginning with ``glyph``, above a status row matching ``status``.

    The status row and what may follow it are the last group of rows; further rows of the draft are
    indented. ``never_below``: a hint in that group which only menus and armed keys show.
    """

    glyph: str
    status: str
    below: int
    never_below: str = ""


class Barred(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="shape", tag="barred"
):
    """A block of ``┃`` rows closed by ``╹▀▀▀``; its last row matches ``status``, and at most ``below``
    rows with text stand under it."""

    status: str
    below: int


ComposerShape: TypeAlias = Ruled | Status | Barred


class Chip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a long paste stands in the composer instead of its text.

    ``pattern`` matches the whole chip. What it counts is told by its named group: ``chars`` (code
    points), ``lines``, or ``breaks`` (lines after the first). ``break_length`` is what a line break
    adds to ``chars``.
    """

    pattern: str
    break_length: int = 1


class ScreenRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dialog or a menu that stands where the composer was.

    ``foot`` must match in one of the last ``foot_rows`` rows of the screen, and every pattern of
    ``body`` in one of the last ``rows``: that is what keeps quoted text in the scroll area out.
    """

    name: str
    foot: str
    menu: bool = False
    body: tuple[str, ...] = ()
    foot_rows: int = 2
    rows: int = 16


class BusySigns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Signs that the agent works although its composer is drawn. Empty: the screen does not tell.

    ``below`` is searched in the rows under the composer, ``above`` in the one nearest row with text
    over it, ``label`` in the text that stands inside the upper rule.
    """

    below: str = ""
    above: str = ""
    label: str = ""


class TitleSigns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the terminal title tells while the screen does not. Empty: nothing."""

    busy: str = ""
    blocked: str = ""


class Screen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to read the visible screen of a kind.

    ``placeholders`` match the composer's whole text (rows joined by a blank): known suggestions,
    for text read without attributes and for kinds that draw them in a colour. ``overlay`` is
    searched in every row: the head of a window drawn over the screen, which leaves the composer
    visible below it.
    """

    composer: ComposerShape
    placeholders: tuple[str, ...] = ()
    chip: Chip | None = None
    busy: BusySigns = BusySigns()
    title: TitleSigns = TitleSigns()
    overlay: str = ""
    rules: tuple[ScreenRule, ...] = ()


class Transcript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the agent stores what was said to it, and how to read it (`kinds.transcript`).

    ``root`` is a folder (``~`` is the home folder) that the variable ``root_variable`` may move,
    ``pattern`` a glob below it with ``{session}``. For ``pi``, and with an empty ``pattern``, the
    session's value is the path. ``position`` and ``query`` are SQL for the ``opencode`` format only.
    """

    format: Literal["claude", "codex", "pi", "opencode"]
    root: str = ""
    root_variable: str = ""
    pattern: str = ""
    position: str = ""
    query: str = ""


Hazard = Literal["command", "shell", "memory", "completion", "continuation"]
"""What the agent would do with a text instead of taking it as a message."""


def _usual_starts() -> dict[str, Hazard]:
    return {"/": "command", "!": "shell", "#": "memory"}


def _usual_ends() -> dict[str, Hazard]:
    return {r"(?:^|\s)(?:@\S*|\$[A-Za-z]\S*)": "completion", r"\\": "continuation"}


class AgentKind(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """One kind of agent.

    Attributes:
        executables: base names of its program; its process title counts as one.
        packages: path pieces of its launcher script, where an interpreter runs it.
        start, resume, fork: argument vectors; ``{session}`` stands for the session's id or path.
            Empty: cannot be done.
        quit: what to type to end it.
        shared_server: words that follow the program's name in the argument vector of a background
            server of this kind that serves several panes at once; empty: it has none.
        session: is a session's value an id or a path?
        session_when: is the session known once the agent is ready, or only with its first prompt?
        wraps_long_text: text of several lines does not arrive as it was sent: it goes by file.
        max_inline: largest text in bytes of UTF-8 that may be typed as it is.
        takes_while_working: a prompt while it works is queued and cannot answer a dialog.
        starts, ends: signs at the first or last non-blank place of a text, and what they would
            cause. A key of ``starts`` is literal, a key of ``ends`` a pattern that ends at the end
            of the text.
    """

    name: str
    screen: Screen
    executables: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    fork: tuple[str, ...] = ()
    quit: str = ""
    shared_server: tuple[str, ...] = ()
    session: Literal["id", "path"] = "id"
    session_when: Literal["start", "first-prompt", "never"] = "never"
    wraps_long_text: bool = False
    max_inline: int = 8192
    takes_while_working: bool = False
    starts: dict[str, Hazard] = msgspec.field(default_factory=_usual_starts)
    ends: dict[str, Hazard] = msgspec.field(default_factory=_usual_ends)
    transcript: Transcript | None = None

    def takes_inline(self, text: str) -> bool:
        """May this text be typed as it is, or must it go by a file reference?"""
        if self.wraps_long_text and "\n" in text:
            return False
        return len(text.encode("utf-8", "surrogatepass")) <= self.max_inline

    def command(
        self, verb: Literal["start", "resume", "fork"], session: str = ""
    ) -> tuple[str, ...]:
        """The argument vector with the session put in; empty where the kind cannot do it."""
        vector: tuple[str, ...] = getattr(self, verb)
        return tuple(session if word == "{session}" else word for word in vector)
