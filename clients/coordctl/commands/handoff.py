"""``handoff``: what a worker hands over is read from a JSON file."""

from __future__ import annotations

import json
import sys

from coordctl import calling
from coordctl.failures import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coordctl.grammar import Invocation


def handoff(invocation: Invocation) -> int:
    """File the handoff that stands in the file ``--claim``; the daemon checks what it says."""
    path = invocation.params.pop("claim")
    try:
        if path == "-":
            claim = json.load(sys.stdin)
        else:
            with open(path, encoding="utf-8") as file:
                claim = json.load(file)
    except OSError as error:
        raise usage(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise usage(f"{path} is not JSON.") from None
    if not isinstance(claim, dict):
        raise usage(f"{path} must hold one JSON object.")
    invocation.params = {**claim, **invocation.params}
    return calling.one_call(invocation)
