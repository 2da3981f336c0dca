"""``backup`` with a path as the caller means it, ``restore`` without a daemon, ``export`` in all parts."""

from __future__ import annotations

import os
import subprocess
import sys

from coordctl import calling, transport
from coordctl.failures import Failure
from coordinatord import locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coordctl.grammar import Invocation


def backup(invocation: Invocation) -> int:
    """Write a backup; a relative path is the caller's, not the daemon's."""
    destination = invocation.params.get("destination")
    if destination is not None:
        invocation.params["destination"] = os.path.abspath(destination)
    return calling.one_call(invocation)


def restore(invocation: Invocation) -> int:
    """Fill an empty workspace; the program that knows the database does it."""
    workspace = locate.find_or_place(os.environ, invocation.directory)
    locate.make(workspace)
    path = os.path.abspath(invocation.params["backup"])
    command = [sys.executable, "-m", "coordinatord", "-C", workspace.root, "--restore", path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        sentence, _, hint = ended.stderr.strip().partition("\nhint: ")
        raise Failure("wrong-state", sentence.removeprefix("coordinatord: "), hint or None)
    result = {"path": ended.stdout.strip()}
    if invocation.as_json:
        calling.print_json(result)
    else:
        sys.stdout.write(
            f"{result['path']} is restored. Nobody sits anywhere: coordctl init, then coordctl bind.\n"
        )
    return 0


def export(invocation: Invocation) -> int:
    """Print every record as a line of JSON."""
    target = calling.target_of(invocation)
    after = None
    while True:
        page = transport.call(target, "upkeep.export", {"after": after} if after else {})
        for item in page["items"]:
            calling.print_json(item)
        for name in page["unreadable"]:
            sys.stderr.write(f"{name} cannot be read and is missing here.\n")
        after = page.get("next")
        if after is None:
            return 0
