"""The daemon's log: ids and reasons, one line each, never what agents or people wrote.

``structlog.get_logger()`` anywhere in the package; an event is ``<noun>.<what-happened>``, the rest
are fields. `start` decides once where lines go: always to ``daemon.log`` (JSON, bounded,
`log_file`), also to a terminal (for people) or to the journal of a service manager. Equal lines in
a row are folded (`folding`). Keys that name prose are redacted here, whoever forgot: `PROSE`.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import structlog

from coordinatord.daemon.folding import Folding, Line
from coordinatord.daemon.log_file import LogFile, Stream

# fmt: off
PROSE: Final = frozenset({
    "text", "body", "prompt", "excerpt", "content", "brief", "title", "label", "draft", "screen",
    "line", "lines", "rows", "transcript", "command", "argv", "env", "environ", "params",
    "token", "tokens", "secret", "password",
})
# fmt: on
"""Fields whose value is replaced by its length: what people and agents wrote, and secrets."""

LONGEST_FIELD: Final = 300
"""Characters of one field; enough for a path and a reason."""
LONGEST_TRACE: Final = 16_000

_SEVERITY: Final = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
"""How syslog and the journal number our levels."""

Console = Literal["terminal", "journal", "none"]


class Sink(Protocol):
    """Where finished lines go; `write` adds the line break and never raises."""

    def write(self, line: str) -> None: ...
    def close(self) -> None: ...


class Logs:
    """The open log of this process.

    Args:
        outputs: pairs of a sink and the function that puts an event into words for it.
        clock: seconds of a clock that only goes forward, for folding.
        wall: the time that is written, as text.
    """

    def __init__(
        self,
        outputs: list[tuple[Sink, Callable[[Line], str]]],
        *,
        clock: Callable[[], float],
        wall: Callable[[], str],
    ) -> None:
        self._outputs = outputs
        self._clock = clock
        self._wall = wall
        self._folding = Folding()

    def msg(self, **line: Any) -> None:
        """Write this line, unless it is one more of a row of equal ones."""
        self._write(self._folding.admit(line, self._clock()))

    debug = info = warning = error = critical = msg

    def tell_counts(self) -> None:
        """Write the counts that are due; the daemon calls it on its backstop timer."""
        self._write(self._folding.due(self._clock()))

    def close(self) -> None:
        """Write every open count and give the files back."""
        self._write(self._folding.all(self._clock()))
        for sink, _ in self._outputs:
            sink.close()

    def _write(self, lines: list[Line]) -> None:
        for line in lines:
            stamped = {"at": self._wall(), "level": None, "event": None, **line}
            for sink, worded in self._outputs:
                sink.write(worded(stamped))


def start(
    *,
    level: str,
    file: Path | None,
    console: Console,
    clock: Callable[[], float],
    wall: Callable[[], str],
    stream: Sink | None = None,
) -> Logs:
    """Set up structlog and the standard library's logging for this process.

    Args:
        level: least severity that is written.
        file: ``daemon.log``, or None for none.
        console: from `console_for`.
        clock, wall: see `Logs`.
        stream: stands in for standard error.
    """
    outputs: list[tuple[Sink, Callable[[Line], str]]] = []
    if file is not None:
        outputs.append((LogFile(file), as_json))
    if console != "none":
        worded = as_journal if console == "journal" else _for_people()
        outputs.append((Stream() if stream is None else stream, worded))
    logs = Logs(outputs, clock=clock, wall=wall)
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            with_trace,
            without_prose,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: logs,
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_FromStandardLibrary()], level=max(threshold, 30), force=True)
    return logs


def console_for(descriptor: int, environ: Mapping[str, str]) -> Console:
    """What stands behind standard error: a person's terminal, the journal, or something else.

    A pipe or a file gets nothing: it may be one that nobody reads, and ``daemon.log`` has it all.
    """
    try:
        facts = os.fstat(descriptor)
    except OSError:
        return "none"
    if environ.get("JOURNAL_STREAM") == f"{facts.st_dev}:{facts.st_ino}":
        return "journal"
    return "terminal" if stat.S_ISCHR(facts.st_mode) and os.isatty(descriptor) else "none"


def as_json(line: Line) -> str:
    """One line of JSON, ASCII only: odd text in a field cannot break a reader."""
    return json.dumps(line, default=repr, separators=(",", ":"))


def as_journal(line: Line) -> str:
    """As JSON behind the severity mark that journald takes off."""
    return f"<{_SEVERITY.get(str(line.get('level')), 6)}>{as_json(line)}"


def with_trace(_logger: Any, _name: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Put an exception's trace into ``trace``; never the values of local variables."""
    caught = line.pop("exc_info", None)
    if caught is True:
        caught = sys.exc_info()[1]
    if isinstance(caught, tuple):
        caught = caught[1]
    if isinstance(caught, BaseException):
        line["trace"] = "".join(traceback.format_exception(caught))[-LONGEST_TRACE:]
    return line


def without_prose(_logger: Any, _name: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Replace the fields in `PROSE` by their length, and cut what is too long for a reason."""
    return {name: _bounded(name, value) for name, value in line.items()}


def _bounded(name: str, value: Any) -> Any:
    if isinstance(value, bool | int | float | None):
        return value
    if name in PROSE:
        return f"<{len(value)} left out>" if hasattr(value, "__len__") else "<left out>"
    longest = LONGEST_TRACE if name == "trace" else LONGEST_FIELD
    shown = value if isinstance(value, str) else repr(value)
    return shown if len(shown) <= longest else shown[:longest] + "…"


def _for_people() -> Callable[[Line], str]:
    render = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)

    def worded(line: Line) -> str:
        rest = dict(line)
        trace = rest.pop("trace", None)
        rest["timestamp"] = rest.pop("at")
        shown = str(render(None, "", rest))
        return shown if trace is None else f"{shown}\n{trace}"

    return worded


class _FromStandardLibrary(logging.Handler):
    """Lines of libraries and of Python's warnings, under the name of their logger."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger().log(
            record.levelno,
            f"library.{record.levelname.lower()}",
            logger=record.name,
            said=record.getMessage(),
            exc_info=record.exc_info,
        )
