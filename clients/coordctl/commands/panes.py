"""``pane open``: where the new pane goes is one flag with two words here."""

from __future__ import annotations

import os

from coordctl import calling
from coordctl.failures import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from coordctl.grammar import Invocation

_DIRECTIONS: Final = ("right", "down")


def open_pane(invocation: Invocation) -> int:
    """Open a pane, with ``--split`` and a relative ``--cwd`` put in the wire's words."""
    params = invocation.params
    if "split" in params:
        params["split"], params["direction"] = params["split"]
        if params["direction"] not in _DIRECTIONS:
            raise usage(f"--split PANE takes right or down, not {params['direction']!r}.")
    if "cwd" in params:
        params["cwd"] = os.path.abspath(os.path.join(invocation.directory or "", params["cwd"]))
    return calling.one_call(invocation)
