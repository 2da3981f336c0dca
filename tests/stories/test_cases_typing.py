"""Cases from users of similar tools: G-1 to G-4 and G-10, with scaled waits."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from coordctl.demo.stage import Stage
from coordctl.failures import Failure
from tests.stories.bench import Attached, Fake

SCALE = float(os.environ.get("CASES_SCALE", "0.1"))
"""1: the waits of the cases in full."""


def holds(fake: Fake) -> list[dict[str, object]]:
    """The journal's lines about holds of this agent's seat."""
    return [line for line in fake.stage.journal() if line["kind"] == "hold"]


def test_a_question_is_on_the_screen(stage: Stage) -> None:
    """G-1: nothing is typed into a dialog; the state says why; one submit after it has closed."""
    fake = Fake(stage)
    fake.order("dialog")
    stage.until("the host shows the dialog", lambda: fake.status == "blocked")
    message = fake.send("please also run the linter")
    explained = fake.until_held(message, "blocked")
    assert "answer" in explained["sentence"]
    fake.wait_quietly(20 * SCALE)
    assert len(holds(fake)) == 1
    fake.order("close_dialog")
    fake.until_submitted(message, 3 + 3)
    assert len(fake.notes("submit")) == 1
    fake.never("dialog_key", "lost_text", "swallowed")


def test_somebody_is_half_way_through_a_sentence(stage: Stage) -> None:
    """G-2: the draft is left alone, its line goes first and unchanged, ours follows by itself."""
    fake = Fake(stage)
    fake.order("draft", text="could you look at the inv")
    stage.until("drawn", lambda: "the inv" in stage.call("pane.read", pane=fake.pane)["text"])
    message = fake.send("please also run the linter")
    explained = fake.until_held(message, "draft")
    assert "draft" in explained["sentence"]
    assert "25 characters" in explained["sentence"]
    fake.wait_quietly(30 * SCALE)
    fake.order("work", s=2)
    person = Attached(stage, fake.pane, 100)
    person.type("oice")
    person.type("\r")
    stage.until("the person's line", lambda: fake.notes("submit"))
    assert fake.notes("submit")[0]["head"] == "could you look at the invoice"
    fake.until_submitted(message)
    person.close()
    assert len(fake.notes("submit")) == 2
    fake.never("ctrl_c", "ctrl_u", "escape", "empty_submit", "lost_text")


def test_suggestion_text_is_no_draft(stage: Stage) -> None:
    """G-2: grey text in an otherwise empty composer holds nothing back."""
    fake = Fake(stage)
    fake.order("ghost", text="try: fix the tests")
    stage.until("drawn", lambda: "try: fix" in stage.call("pane.read", pane=fake.pane)["text"])
    fake.until_submitted(fake.send("please also run the linter"))
    assert len(fake.notes("submit")) == 1


def test_enter_is_lost_once(stage: Stage) -> None:
    """G-3: the text is typed once, Enter is repeated once, and the record says so."""
    fake = Fake(stage)
    fake.order("swallow", n=1)
    message = fake.send("please also run the linter")
    fake.until_submitted(message)
    assert len(fake.notes("swallowed")) == 1
    assert len(fake.notes("submit")) == 1
    assert "Enter repeated once" in str(fake.attempts()[0]["trail"])


def test_enter_is_lost_for_good(stage: Stage) -> None:
    """G-3: two repeats, then *typed, not submitted*, told once; nothing is typed behind it. A person
    who presses Enter settles it."""
    fake = Fake(stage)
    fake.order("swallow", n=50)
    message = fake.send("please also run the linter")
    stage.until("given up", lambda: fake.attempts() and fake.attempts()[-1]["stranded"], 12)
    (attempt,) = fake.attempts()
    assert attempt["trail"][-1]["stage"] == "typed"
    assert "typed, not submitted" in attempt["trail"][-1]["evidence"]
    assert "Enter repeated twice" in attempt["trail"][-1]["evidence"]
    assert len(fake.notes("swallowed")) == 3
    assert stage.call("daemon.status")["stranded"] == [attempt["id"]]
    behind = fake.send("and this")
    assert "not submitted" in fake.why(message)["sentence"]
    fake.until_held(behind, "draft")
    fake.wait_quietly(20 * SCALE)
    assert [line["id"] for line in stage.journal() if line["kind"] == "alert"] == [attempt["id"]]
    assert fake.state(message)["kind"] == "in-hand"
    fake.order("swallow", n=0)
    fake.order("work", s=0.5)
    stage.act("pane.send", pane=fake.pane, text="", enter=True)
    fake.until_submitted(message)
    fake.until_submitted(behind, 25)
    assert len(fake.notes("submit")) == 2


def paragraphs() -> str:
    long = " ".join(f"word{n}" for n in range(100))[:700]
    return f"{long}\n\n- first  item\n\n* second   item\n\n1. third item"


@pytest.mark.parametrize("body", [paragraphs, lambda: "x" * 700], ids=["paragraphs", "one-line"])
def test_the_screen_wraps_the_text(stage: Stage, body: Callable[[], str]) -> None:
    """G-4: a narrow pane; one submit with the right hash, reported as delivered."""
    fake = Fake(stage)
    window = Attached(stage, fake.pane, 40)
    stage.until("the window shows the agent", lambda: b"shortcuts" in window.shown)
    message = fake.send(body())
    stage.until("it is typed", lambda: fake.attempts() and fake.attempts()[-1]["trail"][1:])
    window.resize(38)
    fake.until_submitted(message)
    window.close()
    assert len(fake.notes("submit")) == 1
    assert len(fake.attempts()) == 1


@pytest.mark.parametrize("lost", [1, 50])
def test_a_wrapped_text_is_known_again(stage: Stage, lost: int) -> None:
    """G-3, G-4: Enter is lost below a wrapped text and below a sign for a long paste."""
    fake = Fake(stage)
    window = Attached(stage, fake.pane, 40)
    stage.until("the window shows the agent", lambda: b"shortcuts" in window.shown)
    fake.order("swallow", n=lost)
    message = fake.send(paragraphs() + "\n" + "y" * 200 * (lost == 1))
    if lost == 1:
        fake.until_submitted(message)
    else:
        stage.until("given up", lambda: fake.attempts() and fake.attempts()[-1]["stranded"], 12)
    window.close()
    assert len(fake.notes("submit")) == (lost == 1)
    assert len(fake.notes("swallowed")) == min(lost, 3)


ODD = {
    "cr-lf": ("a\r\nb", ()),
    "tab": ("a\tb", ()),
    "esc": ("a\x1bb", ("ESC",)),
    "end-of-paste": ("a\x1b[201~\rrm -rf x", ("paste-end", "CR")),
    "nul": ("a\x00b", ("NUL",)),
    "c1": ("a\x85\x9bb", ("U+0085", "U+009B")),
    "emoji": ("👨‍👩‍👧‍👦 family", ()),
    "right-to-left": ("שלום עולם", ()),
    "combining": ("e\u0301 a\u0308", ()),
    "command": ("/help", ()),
    "shell": ("!rm -rf x", ()),
    "hash": ("# note", ()),
    "mention": ("@README", ()),
    "option": ("--inline", ()),
    "backslash": ("ends in \\", ()),
    "breaks": ("\n".join("x" for _ in range(1000)), ()),
}


def test_odd_text(stage: Stage) -> None:
    """G-10: each arrives as one submit; what was taken out is named; nothing acts as a key."""
    fake = Fake(stage)
    fake.order("work", s=0.2)
    for number, (text, removed) in enumerate(ODD.values(), 1):
        receipt = fake.until_submitted(fake.send(text), 15)
        assert tuple(receipt["removed"]) == removed
        assert len(fake.notes("submit")) == number
    fake.never("escape", "ctrl_c", "ctrl_u", "queued", "lost_text", "empty_submit")


@pytest.mark.parametrize("text", ["", " \n\r\n "])
def test_empty_text_is_refused(stage: Stage, text: str) -> None:
    """G-10: at once, with a reason of its own."""
    fake = Fake(stage)
    with pytest.raises(Failure) as refusal:
        fake.send(text)
    assert "empty" in str(refusal.value.__dict__)
    fake.wait_quietly(0.5)
