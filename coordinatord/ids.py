"""How every identifier is written, and their types.

A record id is a letter, a dash and eight characters of Crockford base32 (no i, l, o, u), for example
``q-9f3t8b2c``. It is unique in its workspace. Ids are made from randomness that is passed in.
"""

from __future__ import annotations

import random
import re
from typing import Final, Literal, NewType

import msgspec

TaskId = NewType("TaskId", str)
QuestionId = NewType("QuestionId", str)
MessageId = NewType("MessageId", str)
ReportId = NewType("ReportId", str)
VerificationId = NewType("VerificationId", str)
ReviewId = NewType("ReviewId", str)
PublicationId = NewType("PublicationId", str)
NoteId = NewType("NoteId", str)
DecisionId = NewType("DecisionId", str)
AttemptId = NewType("AttemptId", str)
SeatId = NewType("SeatId", str)
"""``coordinator``, ``worker:<task>``, ``reviewer:<task>``, ``peer:<terminal_id>`` or ``operator``."""
PaneId = NewType("PaneId", str)
"""The terminal host's public handle, for example ``w1:p2``: an address, never an identity."""

Kind = Literal[
    "task", "question", "message", "report", "verification", "review", "attention", "attempt",
    "episode", "tool-run", "delegation", "loop", "session", "service", "host", "publication", "note",
    "decision", "shadow",
]  # fmt: skip

PREFIXES: Final[dict[Kind, str]] = {
    "task": "t", "question": "q", "message": "m", "report": "r", "verification": "v",
    "review": "w", "attention": "a", "attempt": "d", "episode": "e", "tool-run": "x",
    "delegation": "g", "loop": "l", "session": "s", "service": "n", "host": "h",
    "publication": "p", "note": "o", "decision": "c", "shadow": "b",
}  # fmt: skip

_KINDS: Final[dict[str, Kind]] = {prefix: kind for kind, prefix in PREFIXES.items()}
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_SHAPE: Final = re.compile(rf"([a-z])-[{_ALPHABET}]{{8}}")
_PANE: Final = re.compile(r"w[0-9A-Z]+:p[0-9A-Z]+")


class ProcessId(msgspec.Struct, frozen=True):
    """One process for as long as the machine runs: a pid alone is handed out again.

    ``start_ticks`` counts kernel ticks since boot, so a step of the wall clock changes nothing.
    """

    boot_id: str
    pid: int
    start_ticks: int


COORDINATOR: Final = SeatId("coordinator")
OPERATOR: Final = SeatId("operator")


def make(kind: Kind, source: random.Random) -> str:
    """A new id of ``kind``; the caller checks that it is not taken."""
    return f"{PREFIXES[kind]}-{''.join(source.choices(_ALPHABET, k=8))}"


def kind_of(text: str) -> Kind | None:
    """What sort of record ``text`` names, or None if it is not written like an id."""
    match = _SHAPE.fullmatch(text)
    return _KINDS.get(match[1]) if match else None


def is_pane(text: str) -> bool:
    """Is this written like a pane id? Other spellings resolve by position in the host (trap 21)."""
    return _PANE.fullmatch(text) is not None


def worker_of(task: str) -> SeatId:
    """The seat of the worker of ``task``."""
    return SeatId(f"worker:{task}")


def reviewer_of(task: str) -> SeatId:
    """The seat of the reviewer of ``task``."""
    return SeatId(f"reviewer:{task}")


def peer_of(terminal_id: str) -> SeatId:
    """The seat of an agent without a role, in the pane whose terminal this is."""
    return SeatId(f"peer:{terminal_id}")
