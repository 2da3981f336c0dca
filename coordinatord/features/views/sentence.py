"""Where a record stands, in one sentence. Pure: the facts are handed in."""

from __future__ import annotations

from typing import Final

from coordinatord.features.delivery.pacing import RELOOKS_S, Class, classify
from coordinatord.features.delivery.records import Attempt, Hold, HoldRecord, Stage, Told
from coordinatord.features.obligations.records import Obligation

HELD: Final[dict[Hold, str]] = {
    "busy": "its agent is working",
    "blocked": "its agent waits for a person's answer",
    "draft": "somebody's draft stands in its composer",
    "dialog": "a dialog or menu is on its screen",
    "no-composer": "no empty composer is on its screen",
    "launching": "its agent is starting",
    "unknown": "the terminal host does not know its agent's state",
    "absent": "its pane is gone",
    "replaced": "another agent sits in its pane",
    "unobservable": "its pane's occupant cannot be proven now",
    "not-agent": "no agent is in front in its pane",
    "host-unreachable": "the terminal host does not answer",
    "pacing": "the next try is due in a moment",
    "stalled": "three tries did not get through; its next idle moment tries again",
    "uncertain": "what may have been typed is never typed again by a machine",
    "coalesced": "an earlier notice is still unread",
    "disabled": "delivery by events is switched off",
    "paused": "typing is paused",
    "unbound": "no pane is recorded for it",
    "shadow": "shadow mode only records what would be typed",
    "host-protocol": "the terminal host speaks an unknown protocol",
}
"""Hold reasons in words, to follow "… waits: "."""

OWN_REASONS: Final[dict[Class, Hold]] = {
    "typed": "draft",
    "not-delivered": "pacing",
    "stalled": "stalled",
    "uncertain": "uncertain",
}
"""Why a thing waits that was tried before, where nothing about its seat holds it."""


def ago(seconds: float) -> str:
    """An age in words, for example ``3 min``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def of_debt(
    item: Obligation,
    told: Told | None,
    hold: HoldRecord | None,
    now: float,
    attempt: Attempt | None = None,
) -> str:
    """One thing that is owed. ``attempt`` is the last one that told it."""
    age = ago(now - item.since)
    match classify(told):
        case "submitted":
            since = ago(now - told.at) if told else age
            how = f" ({steps(attempt)}{unproven(attempt)})" if attempt else ""
            return f"{item.to} was told {since} ago{how} and has not dealt with it yet."
        case "in-hand":
            return f"{item.to} is being told now."
        case "typed":
            return (
                f"Typed to {item.to} {ago(now - told.at if told else 0)} ago and not submitted yet."
            )
        case "uncertain":
            return f"Waiting {age}: {item.to} may have been told; {HELD['uncertain']}."
        case _:
            why = _held(hold) if hold else _unheld(told)
            return f"Waiting {age} for {item.to}: {why}."


def of_attempt(attempt: Attempt) -> str:
    """One attempt, from its trail."""
    first, last = attempt.trail[0], attempt.trail[-1]
    took = f" {last.at - first.at:.1f} s later" if last is not first else ""
    what = f"{attempt.seat} {_TOLD.get(last.stage, 'was told')} about {', '.join(attempt.records)}"
    if attempt.stranded:
        return f"{what}: {last.evidence}. Press Enter there, or delete it."
    return f"{what}: {last.stage}{took} ({last.evidence}){unproven(attempt)}."


_TOLD: Final[dict[Stage, str]] = {
    "claimed": "is being told",
    "typed": "is being told",
    "not-delivered": "was not told",
    "uncertain": "may have been told",
}


def unproven(attempt: Attempt) -> str:
    """What is not known of an attempt that stays short of *seen*, for the end of a sentence."""
    if attempt.stage not in ("submitted", "turn-started") or attempt.transport != "prompt":
        return ""
    if attempt.mark is None:
        return "; no transcript is known that could prove that it was read"
    return "; its agent's transcript does not show it yet"


def steps(attempt: Attempt) -> str:
    """How far an attempt came and how fast, for example ``typed, turn-started 0.4 s later``."""
    typed = next((each for each in attempt.trail if each.stage == "typed"), attempt.trail[0])
    last = attempt.trail[-1]
    return (
        typed.stage
        if last is typed
        else f"{typed.stage}, {last.stage} {last.at - typed.at:.1f} s later"
    )


def _unheld(told: Told | None) -> str:
    own = OWN_REASONS.get(classify(told))
    return HELD[own] if own else "it is next to be told"


def _held(hold: HoldRecord) -> str:
    words = f"{HELD[hold.reason]} ({hold.detail})" if hold.detail else HELD[hold.reason]
    if hold.reason in ("draft", "dialog", "no-composer"):
        words += f"; looked at again within {RELOOKS_S[-1]:.0f} s"
    return words
