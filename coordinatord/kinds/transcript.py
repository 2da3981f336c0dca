"""Find a notice in what an agent stored: which line is a message that was typed to it.

Pure: the caller reads the file from the position that it noted before typing and passes the lines.
That position matters, since a fork or copy repeats old messages, some with the very same ids
(agents.md §1 fact 11). A line that cannot be read is no message. Rules: agents.md §2.1 (pi), §3.1
(claude), §4.1 (codex), §5 (opencode, which stores rows instead of lines: see
`AgentKind.transcript.query`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from coordinatord.kinds.agent_kind import Transcript

LineFormat: TypeAlias = Literal["claude", "codex", "pi"]

_SESSION_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that reached the agent as from its user.

    Attributes:
        text: as stored; the agent may have wrapped it.
        session: the session's id as the line states it, None where lines do not state one (pi).
        entry: the agent's own id of the line.
        at: the agent's own time of the line, ISO 8601; copied lines keep the old one.
    """

    text: str
    session: str | None = None
    entry: str | None = None
    at: str | None = None


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """A session file's first line: its id, its folder, and the session that it was forked from."""

    session: str
    cwd: str | None = None
    forked_from: str | None = None


def user_message(format: LineFormat, line: str | bytes) -> UserMessage | None:
    """The message this line records; None for hook text, a repetition, other lines, garbage."""
    return _READERS[format](_decoded(line))


def tells(format: LineFormat, line: str | bytes, needle: str, session: str | None = None) -> bool:
    """Does this line prove that a message with ``needle`` (a record id) reached the agent?

    With ``session`` the line must not state another one: forks and hidden threads are not the
    addressee.
    """
    found = user_message(format, line)
    if found is None or not needle or needle not in found.text:
        return False
    return session is None or found.session is None or found.session == session


def header(format: LineFormat, line: str | bytes) -> Header | None:
    """What the first line of a session file says; None where it is no header (claude has none)."""
    content = _decoded(line)
    match format, content:
        case "codex", {"type": "session_meta", "payload": {"id": str(session)} as payload}:
            return _header(session, payload, payload.get("forked_from_id"))
        case "pi", {"type": "session", "id": str(session)}:
            return _header(session, content, content.get("parentSession"))
    return None


def location(
    transcript: Transcript, session: str | None, home: str, environ: Mapping[str, str]
) -> str | None:
    """Where to look, as an absolute glob; None if the session is unknown or not to be trusted.

    ``session`` is None where it is not known: then every session's file matches, except where the
    session is itself the path. A value that could leave the agent's folder is refused: it comes
    from a report.
    """
    if not transcript.pattern or (session is not None and transcript.format == "pi"):
        return _literal(session) if session and _is_session_path(session) else None
    if session is not None and not _SESSION_ID.fullmatch(session):
        return None
    moved = environ.get(transcript.root_variable) if transcript.root_variable else None
    root = moved or re.sub(r"^~(?=/|$)", lambda _: home, transcript.root)
    if not root.startswith("/"):
        return None
    return f"{_literal(root)}/{transcript.pattern.replace('{session}', session or '*')}"


def _claude(content: Any) -> UserMessage | None:
    match content:
        case {
            "type": "user",
            "message": {"role": "user", "content": str(text)},
            "origin": {"kind": "human"},
            "promptSource": "typed" | "queued",
        } if not content.get("isMeta") and not content.get("isSidechain"):
            return _message(text, content, content.get("sessionId"), content.get("uuid"))
    return None


def _codex(content: Any) -> UserMessage | None:
    match content:
        case {
            "type": "event_msg",
            "payload": {
                "type": "item_completed",
                "item": {"type": "UserMessage", "content": list(parts)} as item,
            } as payload,
        }:
            return _message(_texts(parts), content, payload.get("thread_id"), item.get("id"))
    return None


def _pi(content: Any) -> UserMessage | None:
    match content:
        case {"type": "message", "message": {"role": "user", "content": str(text)}}:
            return _message(text, content, None, content.get("id"))
        case {"type": "message", "message": {"role": "user", "content": list(parts)}}:
            return _message(_texts(parts), content, None, content.get("id"))
    return None


_READERS: Final[dict[LineFormat, Callable[[Any], UserMessage | None]]] = {
    "claude": _claude,
    "codex": _codex,
    "pi": _pi,
}


def _message(text: str, line: dict[str, Any], session: Any, entry: Any) -> UserMessage:
    return UserMessage(
        text=text, session=_text(session), entry=_text(entry), at=_text(line.get("timestamp"))
    )


def _header(session: str, stated: dict[str, Any], forked_from: Any) -> Header:
    return Header(session=session, cwd=_text(stated.get("cwd")), forked_from=_text(forked_from))


def _texts(parts: list[Any]) -> str:
    texts = (
        part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )
    return "\n".join(text for text in texts if isinstance(text, str))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _decoded(line: str | bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _is_session_path(value: str) -> bool:
    whole = value.startswith("/") and value.endswith(".jsonl") and "\0" not in value
    return whole and ".." not in value.split("/")


def _literal(path: str) -> str:
    """The path as a glob that matches just itself."""
    return re.sub(r"[*?\[]", lambda match: f"[{match[0]}]", path.rstrip("/"))
