"""Reading agents' transcripts: which line proves, and from where on (agents.md §2 to §5)."""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from coordinatord.features.delivery import run_transcripts
from coordinatord.features.delivery.records import Mark
from coordinatord.kinds.agent_kind import Transcript
from coordinatord.kinds.transcript import location
from tests.house import KINDS

NEEDLE = "d-00000001"
TEXT = f"[coord {NEEDLE}: question q-00000001 is open. Read it: coordctl inbox]"
AT = 1_800_000_000.0
SESSION = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"


def stamp(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat().replace("+00:00", "Z")


def claude_line(text: str = TEXT, session: str = SESSION, at: float = AT + 1, **more: Any) -> str:
    facts = {
        "type": "user",
        "message": {"role": "user", "content": text},
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "isSidechain": False,
        "sessionId": session,
        "uuid": "u",
        "timestamp": stamp(at),
    }
    return json.dumps(facts | more)


def codex_line(text: str = TEXT, thread: str = SESSION, at: float = AT + 1) -> str:
    item = {"type": "UserMessage", "id": "i", "content": [{"type": "text", "text": text}]}
    payload = {"type": "item_completed", "item": item, "thread_id": thread}
    return json.dumps({"timestamp": stamp(at), "type": "event_msg", "payload": payload})


def pi_line(text: str = TEXT, at: float = AT + 1) -> str:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "message", "id": "a", "timestamp": stamp(at), "message": message})


def transcript(kind: str) -> Transcript:
    found = KINDS[kind].transcript
    assert found is not None
    return found


def mark(kind: str, home: Path, session: str | None, directory: str = "/work") -> Mark:
    """What is noted before typing."""
    known = transcript(kind)
    everywhere = location(known, None, str(home), {}) or ""
    place = location(known, session, str(home), {}) or everywhere
    return Mark(
        kind=kind,
        place=place,
        everywhere=everywhere,
        session=session,
        directories=(directory,),
        at=AT,
        positions=run_transcripts.positions(known, place, session),
        needle=NEEDLE,
    )


def write(path: Path, *lines: str, at: float = AT + 1) -> Path:
    """Append lines, as an agent does at this time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    os.utime(path, (at, at))
    return path


def claude_file(home: Path, session: str = SESSION, folder: str = "-work") -> Path:
    return home / ".claude" / "projects" / folder / f"{session}.jsonl"


def codex_file(home: Path, session: str = SESSION) -> Path:
    return home / ".codex" / "sessions" / "2027" / "01" / "15" / f"rollout-x-{session}.jsonl"


def said(kind: str, noted: Mark, session: str | None) -> str:
    return run_transcripts.testify(transcript(kind), noted, session)


def test_the_sessions_own_message_behind_the_position_proves(tmp_path: Path) -> None:
    """Stage *seen*: found as a user message, in the session, after what was noted."""
    path = write(claude_file(tmp_path), claude_line("earlier"))
    noted = mark("claude", tmp_path, SESSION)
    assert said("claude", noted, SESSION) == "absent"
    write(path, claude_line())
    assert said("claude", noted, SESSION) == "seen"


def test_what_stood_there_before_proves_nothing(tmp_path: Path) -> None:
    """A fork repeats old messages: the position tells (agents.md §1, fact 11)."""
    write(claude_file(tmp_path), claude_line())
    assert said("claude", mark("claude", tmp_path, SESSION), SESSION) == "absent"


@pytest.mark.parametrize(
    "line",
    [
        claude_line(session=OTHER),
        claude_line(isMeta=True),
        claude_line(isSidechain=True),
        claude_line(type="queue-operation"),
        json.dumps({"type": "api-request-blob", "text": TEXT}),
        claude_line()[:-20],
    ],
    ids=["other-session", "hook", "side-chain", "queued", "repeated", "half-written"],
)
def test_other_lines_with_the_id_prove_nothing(tmp_path: Path, line: str) -> None:
    """agents.md §3.1: only a person's own message line counts."""
    path = write(claude_file(tmp_path), claude_line("earlier"))
    noted = mark("claude", tmp_path, SESSION)
    write(path, line)
    assert said("claude", noted, SESSION) == "absent"


def test_a_transcript_that_is_not_there_disproves_nothing(tmp_path: Path) -> None:
    """No file was there when it was noted: perhaps it lies elsewhere."""
    noted = mark("claude", tmp_path, SESSION)
    assert said("claude", noted, SESSION) == "unknown"
    write(claude_file(tmp_path), claude_line())
    assert said("claude", noted, SESSION) == "seen"


def test_a_file_that_was_written_anew_is_read_from_its_start(tmp_path: Path) -> None:
    path = write(claude_file(tmp_path), *[claude_line("earlier")] * 9)
    noted = mark("claude", tmp_path, SESSION)
    path.unlink()
    write(path, claude_line())
    assert said("claude", noted, SESSION) == "seen"


def test_a_session_that_changed_is_looked_for_in_its_folder(tmp_path: Path) -> None:
    """`/clear` begins another file; absence in the old one then says nothing."""
    write(claude_file(tmp_path), claude_line("earlier"))
    noted = mark("claude", tmp_path, SESSION)
    assert said("claude", noted, OTHER) == "unknown"
    write(claude_file(tmp_path, OTHER, "-elsewhere"), claude_line(session=OTHER))
    assert said("claude", noted, OTHER) == "unknown"
    write(claude_file(tmp_path, OTHER), claude_line(session=OTHER))
    assert said("claude", noted, OTHER) == "seen"


def test_codex_is_found_by_folder_id_and_time(tmp_path: Path) -> None:
    """agents.md §4.3: its session may be reported for the wrong pane, so no report is trusted."""
    noted = mark("codex", tmp_path, None)
    head = {"type": "session_meta", "payload": {"id": SESSION, "cwd": "/work"}}
    path = write(codex_file(tmp_path), json.dumps(head), codex_line(at=AT - 60))
    assert said("codex", noted, None) == "unknown"
    write(path, codex_line())
    assert said("codex", noted, None) == "seen"


def test_another_folders_codex_proves_nothing(tmp_path: Path) -> None:
    noted = mark("codex", tmp_path, None)
    head = {"type": "session_meta", "payload": {"id": SESSION, "cwd": "/elsewhere"}}
    write(codex_file(tmp_path), json.dumps(head), codex_line())
    assert said("codex", noted, None) == "unknown"


def test_files_not_written_since_are_not_read(tmp_path: Path) -> None:
    noted = mark("codex", tmp_path, None)
    write(codex_file(tmp_path), codex_line(), at=AT - 60)
    assert said("codex", noted, None) == "unknown"


def test_pi_is_read_at_the_path_that_it_reports(tmp_path: Path) -> None:
    """agents.md §1.5: the path may not exist yet."""
    path = tmp_path / "sessions" / "one.jsonl"
    noted = mark("pi", tmp_path, str(path))
    write(path, json.dumps({"type": "session", "id": "x", "cwd": "/work"}), pi_line())
    assert said("pi", noted, str(path)) == "seen"


def opencode_store(home: Path) -> Path:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE session (id, parent_id, directory)")
        store.execute("CREATE TABLE message (id, session_id, time_created, data)")
        store.execute("CREATE TABLE part (id, message_id, session_id, time_created, data)")
        store.execute("INSERT INTO session VALUES ('ses_1', NULL, '/work'), ('ses_2', NULL, '/x')")
        store.execute("INSERT INTO message VALUES ('m0', 'ses_1', 1000, '{}')")
    store.close()
    return path


def opencode_message(path: Path, session: str, at: int, role: str = "user") -> None:
    with sqlite3.connect(path) as store:
        store.execute(
            "INSERT INTO message VALUES ('m1', ?, ?, ?)", (session, at, json.dumps({"role": role}))
        )
        data = json.dumps({"type": "text", "text": TEXT})
        store.execute("INSERT INTO part VALUES ('p1', 'm1', ?, ?, ?)", (session, at, data))
    store.close()


@pytest.mark.parametrize(
    ("session", "at", "role", "expected"),
    [
        ("ses_1", 2000, "user", "seen"),
        ("ses_1", 1000, "user", "unknown"),
        ("ses_2", 2000, "user", "unknown"),
        ("ses_1", 2000, "assistant", "unknown"),
    ],
)
def test_opencode_is_asked_read_only(
    tmp_path: Path, session: str, at: int, role: str, expected: str
) -> None:
    """agents.md §5: a user's part, newer than what was noted, of the pane's folder."""
    path = opencode_store(tmp_path)
    noted = mark("opencode", tmp_path, None)
    opencode_message(path, session, at, role)
    before = path.read_bytes()
    assert said("opencode", noted, None) == expected
    assert path.read_bytes() == before


def test_a_store_that_is_held_says_nothing(tmp_path: Path) -> None:
    path = opencode_store(tmp_path)
    noted = mark("opencode", tmp_path, None)
    holder = sqlite3.connect(path)
    holder.execute("BEGIN EXCLUSIVE")
    assert said("opencode", noted, None) == "unknown"
    holder.close()
