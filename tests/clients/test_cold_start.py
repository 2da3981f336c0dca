"""A command costs little more than an interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from tests.clients.toy import Respond, Toy, environment

ROUNDS: Final = 15
LIMIT: Final = 1.8
"""Times the bare interpreter, in processor time, which a busy machine hardly changes."""


def test_cold_inbox_is_within_its_limit(toy: Callable[[Respond], Toy], tmp_path: Path) -> None:
    server = toy(lambda request: {"seat": "coordinator", "items": []})
    variables = environment(COORDINATORD_SOCKET=str(server.path))
    # the interpreter's own cache of compiled modules, as an installed package has it
    variables["PYTHONPYCACHEPREFIX"] = str(tmp_path / "compiled")
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    inbox = [sys.executable, "-c", _AS_INSTALLED, "inbox", "--json"]
    bare = [sys.executable, "-I", "-S", "-c", "import socket, json"]
    _cost(inbox, variables)
    costs = [(_cost(bare, variables), _cost(inbox, variables)) for _ in range(ROUNDS)]
    ratio = median(each[1] for each in costs) / median(each[0] for each in costs)
    assert ratio <= LIMIT


_AS_INSTALLED: Final = "import re, sys; from coordctl.__main__ import main; sys.exit(main())"
"""What the console script that pip writes does."""


def _cost(command: list[str], variables: dict[str, str]) -> float:
    """Seconds of processor time from start to exit."""
    child = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_the_ordinary_path_imports_only_what_it_needs(
    toy: Callable[[Respond], Toy], tmp_path: Path
) -> None:
    server = toy(lambda request: {"seat": "coordinator", "items": []})
    code = (
        "import json, sys, os\n"
        "from coordctl import __main__ as program\n"
        "status = program.run(['inbox', '--json'])\n"
        "json.dump([status, sorted(sys.modules)], sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=environment(COORDINATORD_SOCKET=str(server.path)),
        capture_output=True,
        check=True,
    )
    found: tuple[int, list[str]] = json.loads(result.stderr)
    status, modules = found
    assert status == 0
    ours = {name for name in modules if name.startswith("coord")}
    assert ours == {
        "coordctl",
        "coordctl.__main__",
        "coordctl.calling",
        "coordctl.failures",
        "coordctl.grammar",
        "coordctl.own",
        "coordctl.parsing",
        "coordctl.table",
        "coordctl.transport",
        "coordinatord",
        "coordinatord.folders",
        "coordinatord.locate",
    }
    heavy = {"argparse", "typing", "subprocess", "pathlib", "hashlib", "msgspec", "rich", "anyio"}
    assert heavy.isdisjoint(modules)
