"""What the scripted agents were told, and what the daemon says it told them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from coordctl.demo.stage import Actor, Stage

RECORD = re.compile(r"\b[qrm]-[0-9a-hjkmnp-tv-z]{8}\b")
ATTEMPT = re.compile(r"^\[coord (d-[0-9a-hjkmnp-tv-z]{8}): ")


def named(actor: Actor) -> list[str]:
    """Every record id that stood in a submitted text, in order, as often as it stood there."""
    texts = [note["text"] for note in actor.notes("submit") + actor.notes("queued")]
    return [name for text in texts for name in RECORD.findall(text)]


def repeated(actor: Actor) -> dict[str, int]:
    """Debts that were announced to this agent more than once. A question and its answer are two."""
    texts = [note["text"] for note in actor.notes("submit") + actor.notes("queued")]
    phrases = [
        part for text in texts for part in re.split(r"; |: |\. Read", text) if RECORD.search(part)
    ]
    return {phrase: count for phrase, count in Counter(phrases).items() if count > 1}


def attempts(stage: Stage) -> list[dict[str, Any]]:
    """Every attempt there ever was, as the daemon shows it."""
    names = [line["id"] for line in stage.journal() if line["kind"] == "attempt"]
    return [stage.call("record.show", id=name) for name in dict.fromkeys(names)]
