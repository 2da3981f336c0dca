"""Every method refuses whatever is wrong with a request, says what, and has changed nothing.

The bad requests are made from the request classes: a new field is tried without a word here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from coordinatord import catalogue
from coordinatord.errors import REASONS
from coordinatord.sockets.bind import BoundSocket
from tests.daemon.answering import METHODS, UNPLAYED, Scene, good_requests, scene

LONG: Final = "x" * (300 * 1024)
"""Over the limit of every text (256 KiB), below that of a line (1 MiB)."""

BLANKS: Final = ("", " \n\t ")
FREE: Final = {("hello", "client"), ("hello", "version"), ("tool.runner-done", "detail")}
"""Texts that are only shown: a blank one harms nobody."""

MAY_BE_BLANK: Final = {"key", "pane_id", "terminal_socket", "token"}
"""No key, no claim and no token are written as empty texts too."""

NOBODY: Final = {
    "task": "t-00000000",
    "question": "q-00000000",
    "message": "m-00000000",
    "id": "r-00000000",
    "seat": "peer:term_ffff",
    "pane": "w9:p9",
    "worker_pane": "w9:p9",
    "split": "w9:p9",
    "to": "w9:p9",
    "run": "x-00000000",
    "brief": "t-00000000.r1",
    "alert": "a-00000000",
    "target": "worker:t-00000000",
}
"""Well written, and not there: for every field that names something by id or address."""

FREE_NAMES: Final = {("verification.record", "run"), ("handoff.file", "run"), ("task.new", "brief")}
"""Fields of the same name that name nothing of ours."""

MISSPELLED: Final = ("1", "q-1", "Q-00000000", "t-0000000i", "w1-p1", "../t-00000000", "%s", "1-1")
UNHELPFUL: Final = {"pane-missing"}
"""Reasons whose sentence says all."""

Bad = tuple[str, Any]


def fields(method: str) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(catalogue.BY_METHOD[method])


def takes_text(field: msgspec.structs.FieldInfo) -> bool:
    return _accepts("x", field) or _accepts("x" * 9, field)


def _accepts(value: Any, field: msgspec.structs.FieldInfo) -> bool:
    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError:
        return False
    return True


def malformed(method: str, good: dict[str, Any]) -> Iterator[Bad]:
    """What the shape of the request alone forbids."""
    yield "positional", [1]
    yield "unknown field", {**good, "surprise": 1}
    for field in fields(method):
        if field.required:
            yield f"no {field.name}", {k: v for k, v in good.items() if k != field.name}
        for value in (7, -1, 1.5, True, None, "text", {}, {"a": 1}, [], [7], ["x", None]):
            if not _accepts(value, field):
                yield f"{field.name} is {value!r}", {**good, field.name: value}


def texts(method: str, good: dict[str, Any]) -> Iterator[Bad]:
    """What no text may be."""
    for field in fields(method):
        wrap = (lambda text: [text]) if field.name == "command" else (lambda text: text)
        if not takes_text(field) and field.name != "command":
            continue
        yield f"{field.name} is too long", {**good, field.name: wrap(LONG)}
        yield f"{field.name} is half a pair", {**good, field.name: wrap("a\ud800b")}
        if field.name not in MAY_BE_BLANK and (method, field.name) not in FREE:
            for blank in BLANKS:
                yield f"{field.name} is {blank!r}", {**good, field.name: wrap(blank)}


def names(method: str, good: dict[str, Any]) -> Iterator[Bad]:
    """Names of nothing."""
    for field in fields(method):
        if field.name in NOBODY and (method, field.name) not in FREE_NAMES:
            yield f"{field.name} is nobody's", {**good, field.name: NOBODY[field.name]}
            for name in MISSPELLED:
                yield f"{field.name} is {name}", {**good, field.name: name}


def check(answer: dict[str, Any]) -> str | None:
    """What is wrong with this error, if anything."""
    error = answer.get("error")
    if error is None:
        return f"it was accepted: {str(answer)[:200]}"
    reason, message = error["data"].get("reason"), error["message"]
    if reason not in REASONS or reason == "internal":
        return f"the reason is {reason}"
    if not message.strip() or len(message) > 400 or "Traceback" in message:
        return f"the sentence is {message[:200]!r}"
    if len(error["data"].get("hint") or "") > 400:
        return "the hint is too long"
    if not error["data"].get("hint") and reason not in UNHELPFUL:
        return f"{reason} ({message}) has no hint"
    return None


async def refuses(stage: Scene, method: str, cases: Iterator[Bad]) -> None:
    stored, typed = await stage.stored(), stage.typed()
    offences: list[str] = []
    for case, params in cases:
        if wrong := check(await stage.call(method, params)):
            offences.append(f"{case}: {wrong}")
        now = await stage.stored()
        offences += [f"{case}: {table} changed" for table in now if now[table] != stored[table]]
        if stage.typed() != typed:
            offences.append(f"{case}: the host was touched")
        stored, typed = now, stage.typed()
    assert offences == []
    assert stage.log.bugs == []


@pytest.mark.parametrize("method", sorted(set(METHODS) - UNPLAYED))
async def test_a_good_request_is_accepted(method: str, tmp_path: Path, bound: BoundSocket) -> None:
    """Else the refusals below would prove nothing."""
    async with scene(tmp_path, bound) as stage:
        _, params = stage.good[method]
        answer = await stage.call(method, params)
        assert "result" in answer, answer
        assert stage.log.bugs == []


def test_there_is_a_good_request_of_every_method() -> None:
    assert good_requests(defaultdict(str)).keys() == set(METHODS)


@pytest.mark.parametrize("method", METHODS)
async def test_wrong_shapes_are_refused(method: str, tmp_path: Path, bound: BoundSocket) -> None:
    async with scene(tmp_path, bound) as stage:
        await refuses(stage, method, malformed(method, stage.good[method][1]))


@pytest.mark.parametrize("method", METHODS)
async def test_bad_texts_are_refused(method: str, tmp_path: Path, bound: BoundSocket) -> None:
    """Too long, blank, not Unicode."""
    async with scene(tmp_path, bound) as stage:
        await refuses(stage, method, texts(method, stage.good[method][1]))


@pytest.mark.parametrize("method", METHODS)
async def test_names_of_nothing_are_refused(
    method: str, tmp_path: Path, bound: BoundSocket
) -> None:
    """T-21: also before the host could read them as something else."""
    async with scene(tmp_path, bound) as stage:
        await refuses(stage, method, names(method, stage.good[method][1]))


@pytest.mark.parametrize(
    ("method", "who", "changes", "reason"),
    [
        ("question.resolve", "worker", {"question": "open"}, "wrong-state"),
        ("question.answer", "boss", {"question": "answered"}, "wrong-state"),
        ("question.answer", "worker", {}, "not-allowed"),
        ("question.resolve", "boss", {}, "not-allowed"),
        ("question.ask", "person", {"text": " "}, "empty"),
        ("report.file", "boss", {}, "not-allowed"),
        ("report.file", "person", {}, "not-allowed"),
        ("verification.record", "worker", {}, "not-allowed"),
        ("message.ack", "boss", {}, "not-allowed"),
        ("seat.bind", "worker", {}, "not-allowed"),
        ("seat.bind", "boss", {"worker_pane": "boss"}, "seat-taken"),
        ("seat.init", "worker", {}, "not-allowed"),
        ("seat.init", "person", {}, "no-pane"),
        ("task.new", "worker", {}, "not-allowed"),
        ("pane.send", "boss", {}, "not-allowed"),
        ("pane.close", "worker", {}, "not-allowed"),
        ("pane.open", "worker", {}, "not-allowed"),
        ("daemon.stop", "worker", {}, "not-allowed"),
        ("delivery.notice", "worker", {}, "not-allowed"),
    ],
)
async def test_what_is_not_to_be_done_now_or_by_this_caller(
    method: str,
    who: Any,
    changes: dict[str, str],
    reason: str,
    tmp_path: Path,
    bound: BoundSocket,
) -> None:
    """C-17, C-20: and the refusal has written nothing."""
    async with scene(tmp_path, bound) as stage:
        stored = await stage.stored()
        named = {key: stage.names.get(name, name) for key, name in changes.items()}
        answer = await stage.call(method, {**stage.good[method][1], **named}, who)
        assert answer["error"]["data"]["reason"] == reason
        assert check(answer) is None
        assert await stage.stored() == stored


@pytest.mark.parametrize("method", METHODS)
async def test_whoever_only_claims_a_pane_changes_nothing(
    method: str, tmp_path: Path, bound: BoundSocket
) -> None:
    """Reading needs no proof; nothing else goes without."""
    async with scene(tmp_path, bound) as stage:
        hello = {"client": "test", "version": "1", "pane_id": stage.names["boss"]}
        hello["terminal_socket"] = stage.house.parts.ground.host_socket
        greeted = await stage.call("hello", hello, "person")
        assert (greeted["result"]["proof"], greeted["result"]["seat"]) == ("claim", "coordinator")
        stored, typed = await stage.stored(), stage.typed()
        answer = await stage.call(method, stage.good[method][1], "person")
        if method == "hello":
            return
        if "error" in answer:
            reason = answer["error"]["data"]["reason"]
            # whoever asks, that run is over, and nobody was woken
            public = method.startswith("tool.runner") or method == "wake.show"
            assert reason in ("wrong-state", "unknown-id") if public else reason == "not-proven"
            assert public or check(answer) is None
        assert (await stage.stored(), stage.typed()) == (stored, typed)


async def test_an_unknown_method_is_named(tmp_path: Path, bound: BoundSocket) -> None:
    async with scene(tmp_path, bound) as stage:
        answer = await stage.call("question.erase", {}, "person")
        assert answer["error"]["data"]["reason"] == "unknown-method"
        assert check(answer) is None


async def test_the_longest_text_is_kept_whole(tmp_path: Path, bound: BoundSocket) -> None:
    """256 KiB of UTF-8 are accepted, one byte more is not."""
    async with scene(tmp_path, bound) as stage:
        longest = "ü" * (128 * 1024)
        kept = await stage.call(
            "question.ask", {"task": stage.names["task"], "text": longest}, "worker"
        )
        shown = await stage.call("record.show", {"id": kept["result"]["id"]})
        assert shown["result"]["text"] == longest
        over = await stage.call(
            "question.ask", {"task": stage.names["task"], "text": longest + "x"}, "worker"
        )
        assert over["error"]["data"]["reason"] == "too-long"
