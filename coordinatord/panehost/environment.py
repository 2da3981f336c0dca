"""The environment of panes: what Herdr sets, what is scrubbed, the user's shell. Pure."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from typing import Final

from coordinatord.panehost.failures import Failed

_SCRUBBED_PREFIXES: Final = ("HERDR_", "COORDINATORD_")
_SCRUBBED: Final = frozenset({"CODEX_THREAD_ID", "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY"})
_LOCALE: Final = ("LC_ALL", "LC_CTYPE", "LANG")


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Our own environment without what belongs to another host, workspace or terminal."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _SCRUBBED and not name.startswith(_SCRUBBED_PREFIXES)
    }


def check(environment: Mapping[str, str]) -> None:
    """Refuse names and values that no process can be given."""
    for name, value in environment.items():
        if not name:
            raise Failed("invalid_env", "env key must not be empty")
        if "=" in name:
            raise Failed("invalid_env", f"env key {name} must not contain '='")
        if "\0" in name or "\0" in value:
            raise Failed("invalid_env", f"env {name!r} must not contain NUL")


def of_pane(
    base: Mapping[str, str],
    asked: Mapping[str, str],
    *,
    socket: str,
    program: str,
    workspace_id: str,
    tab_id: str,
    pane_id: str,
) -> dict[str, str]:
    """What a pane's process gets: the base, what the caller asked, what marks the pane."""
    environment = {**base, **asked}
    if not any(environment.get(name) for name in _LOCALE):
        environment["LC_CTYPE"] = "C.UTF-8"
        environment["LANG"] = "C.UTF-8"
    environment |= {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "HERDR_ENV": "1",
        "HERDR_SOCKET_PATH": socket,
        "HERDR_BIN_PATH": program,
        "HERDR_WORKSPACE_ID": workspace_id,
        "HERDR_TAB_ID": tab_id,
        "HERDR_PANE_ID": pane_id,
    }
    environment.pop("CODEX_THREAD_ID", None)
    return environment


def home(environment: Mapping[str, str]) -> str:
    """The home folder: ``HOME``, else the password database, else the root."""
    named = environment.get("HOME")
    if named:
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def shell(environment: Mapping[str, str]) -> str:
    """The user's shell: ``SHELL`` if it can run, else the password database's, else ``/bin/sh``."""
    try:
        recorded = pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        recorded = ""
    for candidate in (environment.get("SHELL", ""), recorded):
        if candidate.startswith("/") and os.access(candidate, os.X_OK):
            return candidate
    return "/bin/sh"


def folder(wanted: str | None, otherwise: str | None, environment: Mapping[str, str]) -> str:
    """Where a pane starts: what was asked if it exists, else silently home, as Herdr does."""
    chosen = otherwise if wanted is None else wanted
    if chosen and os.path.isdir(chosen):
        return chosen
    return home(environment)
