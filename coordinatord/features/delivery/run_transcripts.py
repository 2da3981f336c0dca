"""Reads agents' transcripts: bounded, from a noted position on, for one id, never stored.

Plain blocking functions; `run_evidence` calls them in a thread.
"""

from __future__ import annotations

import glob
import itertools
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from coordinatord.features.delivery.evidence import Testimony, claude_folder, recent
from coordinatord.features.delivery.records import Mark
from coordinatord.kinds.agent_kind import Transcript
from coordinatord.kinds.transcript import LineFormat, header, tells, user_message

AT_MOST_BYTES: Final = 8 * 1024 * 1024
"""Read of one file in one look: what was typed stands near the noted position."""

_FILES_OF_ONE_SESSION: Final = 4
_FILES_TRIED: Final = 12
"""Where the session is not known: the newest of all sessions' files."""

_GLOBBED: Final = 20_000
_HEADER_BYTES: Final = 256 * 1024
_BUSY_S: Final = 0.2


def positions(transcript: Transcript, place: str, session: str | None) -> dict[str, int]:
    """Where each file of the session ends now; empty where the session is not known."""
    if transcript.format == "opencode":
        return {path: _newest(transcript, path) for path in glob.glob(place)[:1]}
    if session is None:
        return {}
    found = glob.glob(place)[:_FILES_OF_ONE_SESSION]
    return {path: size for path in found if (size := _size(path)) is not None}


def testify(transcript: Transcript, mark: Mark, session: str | None) -> Testimony:
    """Does the transcript have the marked text? ``session`` is the agent's as it is known now."""
    if transcript.format == "opencode":
        return _ask(transcript, mark, session)
    format: LineFormat = transcript.format
    own = mark.session if transcript.format != "pi" else None
    looked = False
    for path in _own_files(mark):
        looked = looked or path in mark.positions
        lines = _lines(path, mark.positions.get(path, 0))
        if any(tells(format, line, mark.needle, own) for line in lines if _has(line, mark)):
            return "seen"
    if mark.session is None or session != mark.session:
        return "seen" if _elsewhere(format, mark) else "unknown"
    return "absent" if looked else "unknown"


def _own_files(mark: Mark) -> list[str]:
    if mark.session is None:
        return []
    return glob.glob(mark.place)[:_FILES_OF_ONE_SESSION]


def _elsewhere(format: LineFormat, mark: Mark) -> bool:
    """In any session's file that was written since, in the pane's folder, by a line as new as that."""
    for path in _written_since(mark):
        if not _belongs(format, mark, path):
            continue
        for line in _tail(path):
            if _has(line, mark) and tells(format, line, mark.needle):
                found = user_message(format, line)
                if found is not None and recent(mark, found.at):
                    return True
    return False


def _written_since(mark: Mark) -> list[str]:
    times: list[tuple[float, str]] = []
    for path in itertools.islice(glob.iglob(mark.everywhere), _GLOBBED):
        try:
            changed = os.stat(path).st_mtime
        except OSError:
            continue
        if changed >= mark.at - 2.0:
            times.append((changed, path))
    return [path for _, path in sorted(times, reverse=True)[:_FILES_TRIED]]


def _belongs(format: LineFormat, mark: Mark, path: str) -> bool:
    """Is it a session of the pane's folder? Where that cannot be told the id alone decides."""
    if not mark.directories:
        return True
    if format == "claude":
        folders = {claude_folder(each) for each in mark.directories}
        return os.path.basename(os.path.dirname(path)) in folders
    try:
        with open(path, "rb") as file:
            stated = header(format, file.readline(_HEADER_BYTES))
    except OSError:
        return False
    if stated is None or stated.cwd is None:
        return True
    return os.path.realpath(stated.cwd) in {os.path.realpath(each) for each in mark.directories}


def _has(line: bytes, mark: Mark) -> bool:
    return mark.needle.encode() in line


def _lines(path: str, start: int) -> list[bytes]:
    """The lines from a position on. A file that is shorter now was written anew."""
    try:
        with open(path, "rb") as file:
            file.seek(start if start <= os.fstat(file.fileno()).st_size else 0)
            return file.read(AT_MOST_BYTES).split(b"\n")
    except OSError:
        return []


def _tail(path: str) -> Iterator[bytes]:
    size = _size(path) or 0
    yield from _lines(path, max(0, size - AT_MOST_BYTES))


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _newest(transcript: Transcript, path: str) -> int:
    try:
        with closing(_reading(path)) as connection:
            row = connection.execute(transcript.position).fetchone()
        return int(row[0])
    except (sqlite3.Error, TypeError, ValueError):
        return 0


def _ask(transcript: Transcript, mark: Mark, session: str | None) -> Testimony:
    """Rows instead of lines: a query of the kind's own, over a connection that cannot write."""
    for path in glob.glob(mark.place)[:1]:
        try:
            with closing(_reading(path)) as connection:
                for directory in mark.directories or (None,):
                    wanted = {
                        "after": mark.positions.get(path, 0),
                        "session": mark.session,
                        "directory": directory,
                        "needle": mark.needle,
                    }
                    if connection.execute(transcript.query, wanted).fetchone():
                        return "seen"
        except sqlite3.Error:
            return "unknown"
        known = mark.session is not None and session == mark.session
        return "absent" if known and path in mark.positions else "unknown"
    return "unknown"


def _reading(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(Path(path).as_uri() + "?mode=ro", uri=True, timeout=_BUSY_S)
    connection.execute("PRAGMA query_only = 1")
    return connection
