"""Keeps the preference ``delivery.events`` in the workspace's ``config.toml``, and the rest as it is."""

from __future__ import annotations

import os
from pathlib import Path

import tomlkit
from tomlkit.exceptions import ParseError

from coordinatord.errors import Refused


def keep_events(config: Path, on: bool) -> None:
    """Write the preference. Comments and other keys stay; the file is replaced in one step.

    Raises:
        Refused: ``bad-setting`` if the file cannot be read as TOML or not be written.
    """
    try:
        text = config.read_text("utf-8") if config.exists() else ""
        document = tomlkit.parse(text)
        table = document.setdefault("delivery", tomlkit.table())
        table["events"] = on
        _replace(config, tomlkit.dumps(document))
    except (OSError, ParseError, TypeError, ValueError) as error:
        raise Refused(
            "bad-setting",
            f"The preference could not be written into {config}: {type(error).__name__}.",
            "Write it yourself under [delivery]: events = true or false",
        ) from None


def _replace(config: Path, text: str) -> None:
    beside = config.with_name(config.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, config)
