"""A tool run in its pane, from the assignment to the reported end."""

from __future__ import annotations

import binascii
import contextlib
import json
import os
import signal
import sys
import time

from coordctl import runner_child, runner_wire
from coordctl.runner_log import Log
from coordctl.runner_pane import NOT_RUN, Pane, leave
from coordctl.runner_session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

    from coordctl.runner_wire import Wire

_HOLD_S: Final = 0.3


def main(wire: Wire, run: str, claimed: int | None) -> NoReturn:
    """Do what the daemon answers to the claim, and leave with the command's own status.

    Args:
        claimed: the number of the claim that is under way; None: it could not be sent.
    """
    try:
        assignment = runner_wire.claim(wire, run, claimed)
    except runner_wire.NotGiven as refusal:
        leave(f"coordinatord: {refusal}")
    except runner_wire.Gone:
        leave("coordinatord: no daemon answers; the command was not run.")
    os._exit(_run(wire, run, assignment))


def _run(wire: Wire, run: str, assignment: dict[str, Any]) -> int:
    given = assignment["environment"]
    log = Log(assignment["log"])
    pane = Pane()
    report: dict[str, Any] = {}
    try:
        child = runner_child.start(
            assignment["command"],
            assignment["cwd"],
            runner_child.environment(
                None if given is None else binascii.a2b_base64(given), os.environb
            ),
            pane.modes,
            pane.terminal,
        )
    except runner_child.CannotStart as error:
        report["detail"] = str(error)[:500]
        pane.restore()
        sys.stderr.write(f"coordinatord: {error}\n")
        log.close()
        told = _tell(wire, run, report)
    else:
        session = Session(wire, run, child, log, pane)
        session.go()
        log.close()
        report["alternate_screen"] = session.drew
        report["hung_up"] = pane.gone
        report["exit_code"] = child.exit_code
        report["written"] = log.written
        if log.trouble:
            report["detail"] = f"Its output could not all be kept: {log.trouble}."
        # first the result, then what the pane may be slow to show
        told = _tell(wire, run, report)
        pane.finish(session.on_screen)
    if not told:
        _hold(wire, run, report, assignment["log"], quiet=pane.gone)
    code = report.get("exit_code")
    return NOT_RUN if code is None else int(code)


def _tell(wire: Wire, run: str, report: dict[str, Any]) -> bool:
    """Report the end; False if there is nobody. A refusal is an answer too."""
    try:
        wire.ask("tool.runner-done", run=run, **report)
    except runner_wire.Gone:
        return False
    except runner_wire.NotGiven:
        pass  # it was given up meanwhile
    return True


def _hold(wire: Wire, run: str, report: dict[str, Any], log: str, *, quiet: bool) -> None:
    """Keep the result until somebody took it: here, and in a file for when this ends too."""
    _keep(log, report)
    if quiet:
        return
    sys.stderr.write("coordinatord does not answer: the result waits here (ctrl+c: in a file).\n")
    sys.stderr.flush()
    code = report.get("exit_code")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: os._exit(NOT_RUN if code is None else code))
    while not _tell(wire, run, report):
        time.sleep(_HOLD_S)
    _forget(log)


def _keep(log: str, report: dict[str, Any]) -> None:
    path = log.removesuffix(".log") + ".status"
    try:
        handle = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(json.dumps(report))
            file.flush()
            os.fsync(handle)
        os.replace(f"{path}.new", path)
    except OSError:
        pass  # the status waits in this process


def _forget(log: str) -> None:
    with contextlib.suppress(OSError):  # mostly there is none
        os.unlink(log.removesuffix(".log") + ".status")
