"""The output logs in ``.coordinatord/runs/`` and the launcher that panes start.

The runner writes a log: the first `HEAD` bytes to ``<run>.log``, then pieces of `PIECE` bytes to
``<run>.log.1``, ``.2`` … of which the last two stay; at the end they are joined into ``<run>.log``
with one line between. Both sides must agree on these numbers (``coordctl/runner_log.py``).
"""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress
from typing import Final

import msgspec

from coordinatord.errors import Refused

HEAD: Final = 8 << 20
PIECE: Final = 4 << 20
KEPT_RUNS: Final = 2000
"""Runs whose logs are kept, and how many bytes of them altogether."""
KEPT_BYTES: Final = 512 << 20


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where things are: the folder of logs, the launcher, and what the launcher starts.

    ``package`` is the folder that holds ``coordctl``; ``published`` the file that names the API
    socket after a daemon moved it.
    """

    runs: str = ""
    launcher: str = ""
    python: str = ""
    package: str = ""
    socket: str = ""
    published: str = ""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner left behind that found no daemon."""

    exit_code: int | None = None
    detail: str | None = None
    hung_up: bool = False
    alternate_screen: bool = False
    written: int = 0


_START: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from coordctl.runner import main; main()"
)


def prepare(place: Place) -> None:
    """Make the folder and the launcher, unless they stand.

    Raises:
        Refused: ``folder-unsafe``.
    """
    try:
        os.makedirs(place.runs, 0o700, exist_ok=True)
        facts = os.lstat(place.runs)
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
            raise Refused("folder-unsafe", f"{place.runs} is no folder of yours.", "Remove it.")
        text = _launcher(place)
        if _read(place.launcher) != text.encode():
            _write(place.launcher, text.encode(), 0o700)
    except OSError as error:
        raise Refused("folder-unsafe", f"{error.filename}: {error.strerror}.") from None


def _launcher(place: Place) -> str:
    # -I -S: nothing but the standard library and ours, whatever the pane's environment says
    words = [place.python, "-I", "-S", "-c", _START, place.package, place.socket, place.published]
    return (
        "#!/bin/sh\n# Starts a command that coordctl tool run was given: written by coordinatord.\n"
        f'exec {shlex.join(words)} "$@"\n'
    )


def log_of(place: Place, run: str) -> str:
    """The log's path."""
    return os.path.join(place.runs, f"{run}.log")


def kept_log(place: Place, run: str) -> str | None:
    """The log's path, if it is there."""
    path = log_of(place, run)
    return path if os.path.exists(path) else None


def prune(place: Place, needed: frozenset[str]) -> None:
    """Remove the oldest logs beyond `KEPT_RUNS` and `KEPT_BYTES`; never those of the runs ``needed``."""
    found: dict[str, list[os.DirEntry[str]]] = {}
    with suppress(OSError):  # no folder, no logs
        for entry in os.scandir(place.runs):
            if entry.is_file(follow_symlinks=False):
                found.setdefault(entry.name.partition(".")[0], []).append(entry)
    facts = {run: [_facts(each) for each in entries] for run, entries in found.items()}
    runs, size = 0, 0
    for run in sorted(found, key=lambda run: -max(at for at, _ in facts[run])):
        runs, size = runs + 1, size + sum(count for _, count in facts[run])
        if run not in needed and (runs > KEPT_RUNS or size > KEPT_BYTES):
            for entry in found[run]:
                with suppress(OSError):
                    os.unlink(entry.path)


def _facts(entry: os.DirEntry[str]) -> tuple[float, int]:
    """When it was written last, and its size."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return 0.0, 0
    return status.st_mtime, status.st_size


def status_of(place: Place, run: str) -> Status | None:
    """What the runner left behind, if it did."""
    raw = _read(os.path.join(place.runs, f"{run}.status"))
    try:
        return None if raw is None else msgspec.json.decode(raw, type=Status)
    except msgspec.DecodeError:
        return None


def forget_status(place: Place, run: str) -> None:
    """It was taken over into the record."""
    with suppress(OSError):
        os.unlink(os.path.join(place.runs, f"{run}.status"))


def keep_text(place: Place, run: str, text: str) -> None:
    """The output of a command that ran in the pane's own shell. A full disk loses it, not the code."""
    with suppress(OSError):
        os.makedirs(place.runs, 0o700, exist_ok=True)
        _write(log_of(place, run), text.encode(), 0o600)


def last(log: str, count: int) -> tuple[bytes, bool]:
    """The last bytes of the output without a gap in them, and whether there is more before."""
    kept: list[bytes] = []
    numbers = _pieces(log)
    for number in reversed(numbers):
        raw = _end(f"{log}.{number}", count)
        kept.insert(0, raw)
        count -= len(raw)
        if count <= 0 or (number != 1 and number - 1 not in numbers):
            return b"".join(kept), True
    raw = _end(log, count + 1)
    more = len(raw) > count
    return b"".join([raw[1:] if more else raw, *kept]), more


def size(log: str) -> int:
    """The output's length so far, what was left out of the log included. Not for joined logs."""
    numbers = _pieces(log)
    if not numbers:
        return _size(log)
    return HEAD + (numbers[-1] - 1) * PIECE + _size(f"{log}.{numbers[-1]}")


def since(log: str, position: int, count: int) -> tuple[bytes, int]:
    """Output from a position on, and the position behind it; what is gone by now is skipped."""
    if position < HEAD:
        raw = _read_at(log, position, min(count, HEAD - position))
        if raw or not _pieces(log):
            return raw, position + len(raw)
        position = HEAD
    for number in _pieces(log):
        begin = HEAD + (number - 1) * PIECE
        if position < begin + PIECE:
            position = max(position, begin)
            raw = _read_at(f"{log}.{number}", position - begin, count)
            return raw, position + len(raw)
    return b"", position


def _pieces(log: str) -> list[int]:
    folder, name = os.path.split(log)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    ends = [each[len(name) + 1 :] for each in names if each.startswith(f"{name}.")]
    return sorted(int(end) for end in ends if end.isdigit())


def _end(path: str, count: int) -> bytes:
    return _read_at(path, max(0, _size(path) - count), count)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _read_at(path: str, position: int, count: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(handle, count, position)
    finally:
        os.close(handle)


def _read(path: str) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(handle, 65536)
    finally:
        os.close(handle)


def _write(path: str, content: bytes, mode: int) -> None:
    """Whole or not at all."""
    draft = f"{path}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(draft, flags, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise
