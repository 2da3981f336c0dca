"""Command lines become requests: `coordctl.parsing`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from coordctl import grammar, helping, own, table
from coordctl.commands.handoff import handoff
from coordctl.failures import Failure
from coordctl.grammar import HelpWanted, VersionWanted
from coordctl.parsing import parse
from coordinatord import catalogue

FILES = {"-": "from standard input", "brief.md": "from a file"}


def params(*arguments: str) -> dict[str, Any]:
    return parse(arguments, FILES.__getitem__).params


def failure(*arguments: str) -> Failure:
    with pytest.raises(Failure) as caught:
        parse(arguments, FILES.__getitem__)
    return caught.value


def test_flags_and_positionals_in_any_order() -> None:
    expected = {"task": "t-1h6v5w0z", "text": "Which port?"}
    assert params("ask", "--task", "t-1h6v5w0z", "Which port?") == expected
    assert params("ask", "Which port?", "--task=t-1h6v5w0z") == expected


def test_what_stands_after_two_dashes_is_text() -> None:
    """G-10: no option is parsed from a body."""
    for body in ("-v", "--json", "--", "--task", "-", "-C", ""):
        if body != "-":
            assert params("answer", "q-9f3t8b2c", "--", body)["text"] == body
        assert params("ask", "--task", "t", "--", f"--{body}")["text"] == f"--{body}"
    assert params("answer", "--", "q-9f3t8b2c", "-x") == {"question": "q-9f3t8b2c", "text": "-x"}


def test_a_text_that_looks_like_a_flag_is_refused_with_the_way_out() -> None:
    refused = failure("ask", "--task", "t", "-v or -q?")
    assert refused.status == 2
    assert "--" in (refused.hint or "")


def test_a_dash_reads_standard_input_only_where_a_text_stands() -> None:
    assert params("ask", "--task", "t", "-")["text"] == "from standard input"
    assert params("answer", "-", "-") == {"question": "-", "text": "from standard input"}
    assert params("task", "new", "-")["title"] == "-"


def test_a_brief_comes_from_a_flag_or_a_file() -> None:
    assert params("task", "new", "T", "--brief", "b")["brief"] == "b"
    assert params("task", "new", "T", "--brief-file", "brief.md")["brief"] == "from a file"
    assert params("task", "new", "T", "--brief-file", "-")["brief"] == "from standard input"
    assert failure("task", "new", "T", "--brief", "b", "--brief-file", "brief.md").status == 2


def test_global_flags_stand_anywhere() -> None:
    for arguments in (
        ("-C", "a", "-C", "b", "--json", "--no-start", "--socket", "s", "inbox"),
        ("inbox", "-C", "a", "-Cb", "--json", "--no-start", "--socket=s"),
        ("-C", "a", "inbox", "--socket", "s", "-C", "b", "--no-start", "--json"),
    ):
        found = parse(arguments, FILES.__getitem__)
        assert (found.words, found.directory, found.socket) == ("inbox", "a/b", "s")
        assert (found.as_json, found.start) == (True, False)


def test_what_follows_the_dashes_of_a_pane_is_its_command() -> None:
    found = params("pane", "open", "--label", "l", "--", "sh", "-c", "x -- y", "--json")
    assert found == {"label": "l", "command": ["sh", "-c", "x -- y", "--json"]}
    assert "command" not in params("pane", "open")
    assert params("pane", "open", "--split", "w1:p2", "down")["split"] == ["w1:p2", "down"]
    assert failure("pane", "open", "sh").status == 2


def test_values_are_converted_and_checked() -> None:
    assert params("watch", "--since", "12") == {"since": 12}
    assert params("pane", "send", "p", "text", "--enter")["enter"] is True
    for written, seconds in (("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400)):
        assert params("send", "p", "t", "--expires", written)["expires_s"] == seconds
    for wrong in (
        ("watch", "--since", "x"),
        ("send", "p", "t", "--expires", "soon"),
        ("report", "--task", "t", "--outcome", "great", "text"),
        ("pane", "send", "p", "t", "--enter=yes"),
        ("ask", "--task"),
        ("pane", "open", "--split", "w1:p2"),
        ("ask", "text"),
        ("ask", "--task", "t"),
        ("show", "a", "b"),
        ("inbox", "--nope"),
        ("--nope",),
        ("inbox", "--socket"),
    ):
        assert failure(*wrong).status == 2, wrong


def test_bytes_that_are_no_text_are_refused() -> None:
    """G-10: not valid Unicode."""
    refused = failure("ask", "--task", "t", "caf\udce9")
    assert (refused.reason, refused.status) == ("not-unicode", 1)


def test_the_nearest_name_is_suggested() -> None:
    assert "coordctl status" in (failure("statsu").hint or "")
    assert "coordctl pane list" in (failure("pane", "lits").hint or "")
    assert "--task" in (failure("ask", "--tusk", "t", "x").hint or "")


def test_help_is_asked_for_in_many_ways() -> None:
    for arguments in (
        ("--help",), ("-h",), ("help",), ("pane", "--help"), ("ask", "--help"), ("help", "ask"),
        ("--help", "ask"), ("ask", "--task", "--help", "--help"), ("help", "pane"),
    ):  # fmt: skip
        with pytest.raises(HelpWanted) as wanted:
            parse(arguments, FILES.__getitem__)
        assert wanted.value.asked, arguments
        assert wanted.value.text.startswith("usage: coordctl")
    for needy in ([], ["pane"], ["--json"]):
        with pytest.raises(HelpWanted) as wanted:
            parse(needy, FILES.__getitem__)
        assert not wanted.value.asked
    for arguments in (("--version",), ("inbox", "--version")):
        with pytest.raises(VersionWanted):
            parse(arguments, FILES.__getitem__)


@pytest.mark.parametrize("words", grammar.all_words())
def test_every_command_has_a_help_that_fits(words: str) -> None:
    text = helping.of_command(words, grammar.specification(words))
    assert text.startswith(f"usage: coordctl {words}")
    assert max(map(len, text.split("\n")[1:])) <= 100
    for name, field in grammar.specification(words)["fields"].items():
        assert field["help"], name


@pytest.mark.parametrize("words", [words for words in helping.EXAMPLES if words])
def test_every_example_parses(words: str) -> None:
    import shlex

    for example in helping.EXAMPLES[words]:
        command = example.partition(" <")[0].partition(" >")[0]
        arguments = shlex.split(command.replace("$(git rev-parse HEAD)", "c" * 40))[1:]
        assert parse(arguments, FILES.__getitem__).words == words


def test_what_is_parsed_is_what_the_request_takes() -> None:
    """A request of each command can be made from its required fields.

    ``handoff`` makes its request from a file instead.
    """
    values = {"text": "t", "choice": None, "integer": 1, "duration": 1.0, "list": ["t"]}
    for command in catalogue.COMMANDS:
        if command.words == "handoff":
            continue
        spec = table.COMMANDS[command.words]
        given = {
            name: field["choices"][0] if field["kind"] == "choice" else values[field["kind"]]
            for name, field in spec["fields"].items()
            if field.get("required")
        }
        msgspec.convert(given, command.request)


def test_the_demo_keeps_its_words_for_itself() -> None:
    found = parse(("demo", "--json", "--", "x"), FILES.__getitem__)
    assert found.rest == ["--json", "--", "x"]


def test_every_runner_exists() -> None:
    import importlib

    for words, (module, function) in own.RUNNERS.items():
        grammar.specification(words)
        assert callable(getattr(importlib.import_module(f"coordctl.commands.{module}"), function))


@pytest.mark.parametrize(
    ("typed", "ours"), [("stop", "down"), ("ls", "pane list"), ("run", "tool run")]
)
def test_what_other_programs_call_it_is_named(typed: str, ours: str) -> None:
    assert failure(typed).hint == f"It is: coordctl {ours}"


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is not JSON."), ("[]", "must hold one JSON object.")]
)
def test_a_handoff_is_read_from_a_file_of_one_object(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "claim.json"
    path.write_text(text)
    found = parse(("handoff", "t-1h6v5w0z", "--claim", str(path)), FILES.__getitem__)
    with pytest.raises(Failure, match=said):
        handoff(found)
