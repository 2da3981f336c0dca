"""What a method is: a function of the host and the decoded parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from coordinatord.panehost.requests import Params

Answer: TypeAlias = "dict[str, object]"
"""The ``result`` of an answer, with its ``type``."""
Table: TypeAlias = Mapping[type[Params], Any]
"""Parameters → plain function or coroutine function ``(host, params) -> Answer``.

A coroutine function is a parked request: it ends when the client goes or writes again.
"""


def ok() -> Answer:
    """The answer of what only acts."""
    return {"type": "ok"}
