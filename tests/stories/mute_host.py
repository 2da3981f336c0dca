"""A door before a terminal host that passes everything on except events: subscribed, and silent."""

from __future__ import annotations

from pathlib import Path

from tests.stories.door import Door


class MuteDoor(Door):
    """After a subscription's answer nothing comes."""

    def __init__(self, path: Path, host: str) -> None:
        super().__init__(path, host, mute=True)
