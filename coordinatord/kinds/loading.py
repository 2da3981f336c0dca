"""Read the packaged kinds and the user's own. The only part of `kinds` that touches the disk."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from coordinatord.errors import Refused
from coordinatord.kinds.agent_kind import AgentKind

_PATTERN_LISTS: Final = frozenset({"placeholders", "body"})
_PATTERNS: Final = _PATTERN_LISTS | {
    "footer", "never_below", "status", "pattern", "foot", "below", "above", "label", "overlay",
    "busy", "blocked",
}  # fmt: skip


def load(user_folder: Path | None = None) -> Mapping[str, AgentKind]:
    """The packaged kinds and the user's own; a file of the user replaces the kind of its name.

    ``user_folder`` is the user's own configuration folder, never a workspace's (a kind names
    programs to start); it need not exist.

    Raises:
        Refused: ``bad-setting`` for a file that is not TOML or has an unknown key or a wrong value,
            naming key and file; ``folder-unsafe`` for a folder inside a workspace's state.
    """
    packaged = {f.name: f for f in files(__package__).iterdir() if f.name.endswith(".toml")}
    kinds = {kind.name: kind for kind in map(_read, packaged.values())}
    if user_folder is not None:
        kinds |= {kind.name: kind for kind in _users_own(user_folder)}
    return MappingProxyType(dict(sorted(kinds.items())))


def _users_own(folder: Path) -> Iterator[AgentKind]:
    if ".coordinatord" in folder.parts:
        raise Refused(
            "folder-unsafe",
            f"agent kinds are not read from a workspace: {folder}",
            "move the file to your own configuration folder",
        )
    return map(_read, sorted(folder.glob("*.toml")))


def _read(file: Traversable) -> AgentKind:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        kind = msgspec.convert(content, AgentKind)
        _check_patterns(content, "$")
    except (OSError, ValueError) as problem:
        raise _wrong(file, str(problem)) from problem
    if kind.name != file.name.removesuffix(".toml"):
        raise _wrong(file, f"the key `name` says {kind.name!r}, the file name does not")
    return kind


def _wrong(file: Traversable, what: str) -> Refused:
    return Refused("bad-setting", f"{file}: {what}", "correct the file or move it away")


def _check_patterns(value: Any, path: str, key: str = "") -> None:
    """Every pattern compiles; ``below`` and the like that are numbers pass."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if path == "$.ends":
                _check_pattern(name, f"{path}.{name}")
            _check_patterns(inner, f"{path}.{name}", name)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            _check_patterns(inner, f"{path}[{at}]", key if key in _PATTERN_LISTS else "")
    elif isinstance(value, str) and key in _PATTERNS and path != "$.transcript.pattern":
        _check_pattern(value, path)


def _check_pattern(pattern: str, path: str) -> None:
    try:
        re.compile(pattern)
    except re.error as problem:
        raise ValueError(f"`{path}` is not a regular expression: {problem}") from problem
