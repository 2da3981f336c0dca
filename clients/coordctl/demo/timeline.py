"""The demo's picture at the end: what was read back from the daemon, in order, with times. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Moment:
    """One line: when (wall seconds), who, what, and the detail."""

    at: float
    who: str
    what: str
    detail: str = ""


def of_question(question: dict[str, Any]) -> list[Moment]:
    """Asked, answered, applied."""
    moments = [Moment(question["at"], question["by"], "asked", question["id"])]
    state = question["state"]
    answer = state.get("answer", state if state["kind"] == "answered" else None)
    if answer is not None:
        moments.append(Moment(answer["at"], answer["by"], "answered", question["id"]))
    if state["kind"] == "applied":
        moments.append(Moment(state["at"], question["by"], "resolved", question["id"]))
    return moments


def of_attempt(attempt: dict[str, Any]) -> list[Moment]:
    """Idle, and every stage that the attempt reached."""
    seat, names = attempt["seat"], ", ".join(attempt["records"])
    moments = []
    if attempt.get("settled_at"):
        moments.append(Moment(attempt["settled_at"], seat, "idle", "seen settled"))
    for step in attempt["trail"]:
        moments.append(
            Moment(
                step["at"], seat, step["stage"].replace("-", " "), f"{attempt['id']} about {names}"
            )
        )
    return moments


def render(moments: Iterable[Moment]) -> str:
    """Lines with the seconds since the first moment."""
    ordered = sorted(moments, key=lambda moment: moment.at)
    if not ordered:
        return ""
    start = ordered[0].at
    width = max(len(moment.who) for moment in ordered)
    return "\n".join(
        f"  {moment.at - start:7.3f} s  {moment.who:<{width}}  {moment.what:<14} {moment.detail}".rstrip()
        for moment in ordered
    )


def measured(question: dict[str, Any], held_at: float | None, attempt: dict[str, Any]) -> str:
    """The one row of figures: asked, held, idle, typed, turn started."""
    stages = {step["stage"]: step["at"] for step in attempt["trail"]}
    asked, idle = question["at"], attempt["settled_at"]
    parts = [
        ("asked → held", held_at, asked),
        ("held", idle, held_at),
        ("idle → typed", stages.get("typed"), idle),
        ("typed → turn started", stages.get("turn-started"), stages.get("typed")),
    ]
    return "  ·  ".join(
        f"{name} {1000 * (end - begin):.0f} ms" for name, end, begin in parts if end and begin
    )
