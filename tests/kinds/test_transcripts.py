"""Which stored line proves that a notice reached the agent (agents.md §2.1, §3.1, §4.1, §5)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.kinds import AgentKind
from coordinatord.kinds.transcript import (
    Header,
    LineFormat,
    UserMessage,
    header,
    location,
    tells,
    user_message,
)

NEEDLE = "d-4k7q2m1x"
TEXT = f"[coord {NEEDLE}: question q-9f3t8b2c is open. Read it: coordctl inbox]"
AT = "2026-01-02T03:04:05.678Z"


def line(content: dict[str, Any], **changes: Any) -> str:
    return json.dumps(content | changes)


CLAUDE: dict[str, Any] = {
    "type": "user",
    "uuid": "u-1",
    "parentUuid": None,
    "sessionId": "s-1",
    "timestamp": AT,
    "isSidechain": False,
    "promptSource": "typed",
    "origin": {"kind": "human"},
    "message": {"role": "user", "content": TEXT},
}
WRAPPED = f'\n\n<pasted_content id="2f9a">\n{TEXT}\n</pasted_content id="2f9a">\n'


def codex(text: str = TEXT, **item: Any) -> dict[str, Any]:
    message = {"type": "UserMessage", "id": "i-1", "content": [{"type": "text", "text": text}]}
    payload = {"type": "item_completed", "item": message | item, "thread_id": "s-1"}
    return {"timestamp": AT, "ordinal": 4, "type": "event_msg", "payload": payload}


def pi(content: Any, role: str = "user") -> dict[str, Any]:
    message = {"role": role, "content": content, "timestamp": 1}
    return {
        "type": "message",
        "id": "0a1b2c3d",
        "parentId": None,
        "timestamp": AT,
        "message": message,
    }


@pytest.mark.parametrize(
    ("format", "content", "session", "entry"),
    [
        ("claude", CLAUDE, "s-1", "u-1"),
        ("claude", CLAUDE | {"promptSource": "queued"}, "s-1", "u-1"),
        ("codex", codex(), "s-1", "i-1"),
        ("pi", pi([{"type": "text", "text": TEXT}]), None, "0a1b2c3d"),
        ("pi", pi(TEXT), None, "0a1b2c3d"),
    ],
)
def test_a_message_that_was_typed_is_one(
    format: LineFormat, content: dict[str, Any], session: str | None, entry: str
) -> None:
    expected = UserMessage(text=TEXT, session=session, entry=entry, at=AT)
    assert user_message(format, line(content)) == expected
    assert user_message(format, line(content).encode()) == expected
    assert tells(format, line(content), NEEDLE)
    assert not tells(format, line(content), "d-00000000")
    assert not tells(format, line(content), "")


def test_wrapped_and_joined_text_still_tells() -> None:
    """agents.md §1.1: match the id, never the whole text."""
    wrapped = CLAUDE | {"message": {"role": "user", "content": WRAPPED}}
    assert tells("claude", line(wrapped), NEEDLE)
    assert tells("codex", line(codex(f"half typed draft{TEXT}")), NEEDLE)


@pytest.mark.parametrize(
    "content",
    [
        {"type": "api-request-blob", "body": TEXT, "origin": {"kind": "human"}},
        {"type": "queue-operation", "operation": "enqueue", "content": TEXT, "sessionId": "s-1"},
        {"type": "last-prompt", "lastPrompt": TEXT},
        {"type": "assistant", "message": {"role": "assistant", "content": TEXT}},
        {"type": "system", "subtype": "informational", "content": f"Unknown command: {TEXT}"},
        CLAUDE | {"isMeta": True, "rowSource": "hook"},
        CLAUDE | {"isSidechain": True},
        CLAUDE | {"origin": {"kind": "agent"}},
        CLAUDE | {"promptSource": "sdk"},
        {key: value for key, value in CLAUDE.items() if key != "origin"},
        CLAUDE
        | {"message": {"role": "user", "content": [{"type": "tool_result", "content": TEXT}]}},
    ],
)
def test_claude_lines_that_only_repeat_the_text(content: dict[str, Any]) -> None:
    """A plain search would find the id twice, or in a hook's feedback or a tool's output."""
    assert TEXT in line(content)
    assert not tells("claude", line(content), NEEDLE)


@pytest.mark.parametrize(
    "content",
    [
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": TEXT}],
            },
        },
        codex(type="HookPrompt"),
        codex(type="AgentMessage"),
        codex() | {"type": "response_item"},
        {"type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": TEXT}},
    ],
)
def test_codex_lines_that_only_repeat_the_text(content: dict[str, Any]) -> None:
    """response_item carries context and hook texts with the same role; item_completed does not."""
    assert not tells("codex", line(content), NEEDLE)


@pytest.mark.parametrize(
    "content",
    [
        pi([{"type": "text", "text": TEXT}], "assistant"),
        pi([{"type": "text", "text": TEXT}], "system"),
        pi(TEXT, "toolResult"),
        pi(TEXT, "bashExecution"),
        pi([{"type": "image", "text": TEXT}]),
        {"type": "custom_message", "content": TEXT},
        {"type": "branch_summary", "summary": TEXT},
    ],
)
def test_pi_lines_that_only_repeat_the_text(content: dict[str, Any]) -> None:
    assert not tells("pi", line(content), NEEDLE)


@pytest.mark.parametrize(("format", "content"), [("claude", CLAUDE), ("codex", codex())])
def test_another_session_proves_nothing(format: LineFormat, content: dict[str, Any]) -> None:
    """A fork repeats old messages, and a hidden thread makes titles (agents.md §1, §4.2)."""
    assert tells(format, line(content), NEEDLE, "s-1")
    assert not tells(format, line(content), NEEDLE, "s-2")


@pytest.mark.parametrize("format", ["claude", "codex", "pi"])
@pytest.mark.parametrize(
    "garbage", ["", "{", "[]", "null", '"x"', "7", '{"type":"user"}', b"\xff\xfe", "[" * 100_000]
)
def test_a_line_that_cannot_be_read_is_no_message(format: LineFormat, garbage: str | bytes) -> None:
    assert user_message(format, garbage) is None
    assert header(format, garbage) is None


JSON = st.recursive(
    st.none() | st.integers() | st.sampled_from(["user", "text", "message", "event_msg", NEEDLE]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "role", "content", "payload", "item", "text", "origin"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from(["claude", "codex", "pi"]))
def test_any_json_is_read_without_failing(content: Any, format: LineFormat) -> None:
    found = user_message(format, json.dumps(content))
    assert found is None or isinstance(found.text, str)


def test_headers_tell_what_a_session_was_forked_from() -> None:
    forked = {
        "type": "session_meta",
        "payload": {"id": "s-2", "cwd": "/p", "forked_from_id": "s-1"},
    }
    assert header("codex", line(forked)) == Header(session="s-2", cwd="/p", forked_from="s-1")
    source = "/s/old.jsonl"
    copied = {"type": "session", "version": 3, "id": "s-2", "cwd": "/p", "parentSession": source}
    assert header("pi", line(copied)) == Header(session="s-2", cwd="/p", forked_from=source)
    del copied["parentSession"]
    assert header("pi", line(copied)) == Header(session="s-2", cwd="/p")
    assert header("claude", line(CLAUDE)) is None


SESSION = "0195f0aa-1111-7222-8333-444455556666"


def place(
    kinds: Mapping[str, AgentKind], kind: str, session: str | None, **environ: str
) -> str | None:
    transcript = kinds[kind].transcript
    assert transcript is not None
    return location(transcript, session, "/home/u", environ)


def test_where_each_agent_stores_its_session(kinds: Mapping[str, AgentKind]) -> None:
    claude = f"/home/u/.claude/projects/*/{SESSION}.jsonl"
    codex = f"sessions/*/*/*/rollout-*-{SESSION}.jsonl"
    assert place(kinds, "claude", SESSION) == claude
    assert place(kinds, "codex", SESSION) == f"/home/u/.codex/{codex}"
    assert place(kinds, "codex", SESSION, CODEX_HOME="/c[x]/") == f"/c[[]x]/{codex}"
    assert place(kinds, "pi", "/s/--p--/a.jsonl") == "/s/--p--/a.jsonl"
    assert place(kinds, "opencode", "ses_1") == "/home/u/.local/share/opencode/opencode.db"
    assert kinds["generic"].transcript is None


def test_a_session_that_is_not_known(kinds: Mapping[str, AgentKind]) -> None:
    """Codex tells its session only with the first prompt; then every rollout may be the one."""
    assert place(kinds, "codex", None) == "/home/u/.codex/sessions/*/*/*/rollout-*-*.jsonl"
    assert place(kinds, "pi", None) == "/home/u/.pi/agent/sessions/*/*.jsonl"


@pytest.mark.parametrize("session", ["../x", "a/b", "*", "", "a\0", "-x", "[a]", "x" * 200])
def test_a_session_value_cannot_leave_the_folder(
    kinds: Mapping[str, AgentKind], session: str
) -> None:
    assert place(kinds, "claude", session) is None
    assert place(kinds, "pi", session) is None
    assert place(kinds, "pi", f"/s/../{session}/x.jsonl") is None


def test_a_root_that_is_not_absolute_is_not_used(kinds: Mapping[str, AgentKind]) -> None:
    assert place(kinds, "codex", SESSION, CODEX_HOME="relative") is None


@pytest.fixture
def opencode_store() -> Iterator[sqlite3.Connection]:
    store = sqlite3.connect(":memory:")
    store.executescript(
        """
        CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
        INSERT INTO session VALUES ('ses_1', NULL, '/p', ''), ('ses_2', 'ses_1', '/p', '');
        """
    )
    yield store
    store.close()


def said(
    store: sqlite3.Connection, at: int, *, session: str = "ses_1", role: str = "user",
    kind: str = "text", data: str | None = None,
) -> None:  # fmt: skip
    store.execute(
        "INSERT INTO message VALUES (?, ?, ?, ?)",
        (f"msg_{at}", session, at, json.dumps({"role": role})),
    )
    part = data if data is not None else json.dumps({"type": kind, "text": f"{TEXT} "})
    store.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"prt_{at}", f"msg_{at}", session, part))


def asked(
    kinds: Mapping[str, AgentKind], store: sqlite3.Connection, after: int,
    session: str | None = "ses_1", directory: str = "/p",
) -> list[tuple[str]]:  # fmt: skip
    transcript = kinds["opencode"].transcript
    assert transcript is not None
    values = {"after": after, "session": session, "directory": directory, "needle": NEEDLE}
    return store.execute(transcript.query, values).fetchall()


def test_opencode_rows_that_prove_and_that_do_not(
    kinds: Mapping[str, AgentKind], opencode_store: sqlite3.Connection
) -> None:
    """A user's text part in the right session, newer than the noted position."""
    said(opencode_store, 10, role="assistant")
    said(opencode_store, 11, kind="tool")
    said(opencode_store, 12, session="ses_2")
    said(opencode_store, 13, data="{broken")
    assert asked(kinds, opencode_store, 0) == []
    assert asked(kinds, opencode_store, 0, None) == []
    said(opencode_store, 14)
    assert asked(kinds, opencode_store, 0) == [("msg_14",)]
    assert asked(kinds, opencode_store, 13, None) == [("msg_14",)]
    assert asked(kinds, opencode_store, 14) == []
    assert asked(kinds, opencode_store, 0, "ses_9") == []
    assert asked(kinds, opencode_store, 0, None, "/elsewhere") == []


def test_opencode_position_is_the_newest_message(
    kinds: Mapping[str, AgentKind], opencode_store: sqlite3.Connection
) -> None:
    transcript = kinds["opencode"].transcript
    assert transcript is not None
    assert opencode_store.execute(transcript.position).fetchone() == (0,)
    said(opencode_store, 14)
    assert opencode_store.execute(transcript.position).fetchone() == (14,)
