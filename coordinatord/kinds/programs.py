"""Which kind of agent a process is, from what it carries and how it was started.

`HERDR_AGENT` decides if it names a known kind (herdr-protocol.md §3.2); else the executable's base
name, also where an interpreter runs a launcher script (agents.md §0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from coordinatord.kinds.agent_kind import AgentKind

_INTERPRETER: Final = re.compile(r"node(?:js)?|bun|deno|python[\d.]*")
_WITH_VALUE: Final = frozenset({"-r", "--require", "--import", "--loader", "-C", "-X", "-W"})
_INLINE: Final = frozenset({"-e", "--eval", "-p", "--print", "-c", "-m"})
_PROGRAM_WITHIN: Final = 4
"""An interpreter and its flags may stand before the program's own name."""
_SUFFIX: Final = re.compile(r"\.(?:[cm]?js|py)$")


def kind_of_program(
    kinds: Mapping[str, AgentKind], name: str, argv: Sequence[str], environ: Mapping[str, str]
) -> str | None:
    """The name of the kind, or None for a program that is no known agent.

    Args:
        name: the process name as the system has it; agents may set it themselves.
    """
    said = environ.get("HERDR_AGENT")
    if said in kinds:
        return said
    script = _script(argv)
    for kind in kinds.values():
        called = {_base(name), _base(argv[0]) if argv else ""}
        if called.intersection(kind.executables) or (script and _launches(kind, script)):
            return kind.name
    return None


def is_shared_server(kinds: Mapping[str, AgentKind], argv: Sequence[str]) -> bool:
    """Is this an agent's background server, which serves several panes? What it or its children call
    says nothing about the pane that it is done for (agents.md §4.3)."""
    for kind in kinds.values():
        words = kind.shared_server
        for at, word in enumerate(argv[:_PROGRAM_WITHIN]):
            after = tuple(argv[at + 1 : at + 1 + len(words)])
            if (
                words
                and after == words
                and (_base(word) in kind.executables or _launches(kind, word))
            ):
                return True
    return False


def _script(argv: Sequence[str]) -> str | None:
    """The script that an interpreter runs, if it is one."""
    if not argv or not _INTERPRETER.fullmatch(_base(argv[0])):
        return None
    words = iter(argv[1:])
    for word in words:
        if word in _INLINE:
            return None
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def _launches(kind: AgentKind, script: str) -> bool:
    base = _SUFFIX.sub("", _base(script))
    return base in kind.executables or any(f"/{piece}" in script for piece in kind.packages)


def _base(path: str) -> str:
    return PurePosixPath(path).name.removeprefix("-")
