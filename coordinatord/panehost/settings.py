"""What the host is told at its start."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Times in seconds, sizes in character cells; ``pace`` multiplies times, for tests."""

    socket: str
    program: str
    base: Mapping[str, str]
    shell: str
    cwd: str
    columns: int = 120
    rows: int = 40
    ready_floor: float = 3.0
    enter_delay: float = 0.3
    resume_delay: float = 0.75
    stall_after: float = 5.0
    pace: float = 1.0
    quirks: bool = False
