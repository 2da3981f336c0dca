"""Tokens and presentation: limits, sequence numbers, expiry."""

from __future__ import annotations

import pytest

from coordinatord.panehost.failures import Failed
from coordinatord.panehost.metadata import (
    Presentation,
    PresentationReport,
    Sequences,
    Shown,
    Tokens,
    check_keys,
    check_source,
    check_ttl,
    clean,
)


def test_values_are_trimmed_bare_of_controls_and_cut_at_eighty() -> None:
    assert clean("  two\nwords\x1b[31m  ") == "twowords[31m"
    assert clean("長" * 90) == "長" * 80
    assert clean(" \n ") is None


@pytest.mark.parametrize("source", ["", "x" * 81, "bad source"])
def test_bad_sources_are_refused(source: str) -> None:
    with pytest.raises(Failed, match="invalid_metadata_source"):
        check_source(source)


@pytest.mark.parametrize("tokens", [{"a.b": "c"}, {"": "c"}, {"k" * 33: "c"}])
def test_bad_names_are_refused(tokens: dict[str, str | None]) -> None:
    with pytest.raises(Failed, match="invalid_metadata_token"):
        check_keys(tokens)


def test_seventeen_keys_in_one_report_are_refused() -> None:
    with pytest.raises(Failed, match="at most 16"):
        check_keys({f"k{n}": "v" for n in range(17)})


@pytest.mark.parametrize("ttl_ms", [0, 86_400_001])
def test_bad_times_are_refused(ttl_ms: int) -> None:
    with pytest.raises(Failed, match="invalid_metadata_ttl"):
        check_ttl(ttl_ms)


def test_any_source_may_overwrite_and_clear() -> None:
    """T-17: one flat map without a namespace."""
    tokens = Tokens("pane")
    assert tokens.report({"role": "review"}, None, 0.0)
    assert tokens.report({"role": "author"}, None, 0.0)
    assert not tokens.report({"role": "author"}, None, 0.0)
    assert tokens.report({"role": None}, None, 0.0)
    assert tokens.values() == {}


def test_thirty_two_tokens_fit_and_one_more_is_refused_as_a_whole() -> None:
    tokens = Tokens("pane")
    tokens.report({f"k{n}": "v" for n in range(32)}, None, 0.0)
    with pytest.raises(Failed, match="metadata_token_limit"):
        tokens.report({"k1": None, "a": "v", "b": "v"}, None, 0.0)
    assert "k1" in tokens.values()
    tokens.report({"k1": None, "a": "v"}, None, 0.0)
    assert "a" in tokens.values()


def test_a_token_ends_with_its_time_unless_it_is_written_again_without() -> None:
    tokens = Tokens("pane")
    tokens.report({"short": "a", "kept": "b"}, 600, 0.0)
    tokens.report({"kept": "c"}, None, 0.1)
    assert tokens.next_end() == 0.6
    assert not tokens.expire(0.5)
    assert tokens.expire(0.6)
    assert tokens.values() == {"kept": "c"}


def test_a_number_not_above_the_last_is_ignored_and_none_is_always_taken() -> None:
    """T-16: a seq that starts again at 1 is silently ignored."""
    sequences = Sequences("pane")
    assert sequences.admit("demo", 10)
    assert not sequences.admit("demo", 10)
    assert not sequences.admit("demo", 1)
    assert sequences.admit("demo", None)
    assert sequences.admit("other", 1)


def test_the_thirty_third_source_with_numbers_is_refused() -> None:
    sequences = Sequences("pane")
    for number in range(32):
        sequences.admit(f"run-{number}", 1)
    with pytest.raises(Failed, match="metadata_sequence_source_limit"):
        sequences.admit("run-32", 1)
    assert sequences.admit("run-0", 2)


def test_a_report_replaces_all_that_its_source_said() -> None:
    """T-18: a second report without the earlier fields erases them."""
    presentation = Presentation()
    first = PresentationReport(title="A", display_agent="X", state_labels={"idle": "resting"})
    presentation.report("demo", first, None, 0.0)
    presentation.report("demo", PresentationReport(display_agent="Y"), None, 0.0)
    assert presentation.shown(None) == Shown(display_agent="Y")
    presentation.report("two", PresentationReport(title="T"), None, 0.0)
    presentation.report("two", PresentationReport(clear_title=True), None, 0.0)
    assert presentation.shown(None) == Shown(display_agent="Y")


def test_a_record_for_a_kind_shows_only_while_that_kind_is_there() -> None:
    presentation = Presentation()
    presentation.report("demo", PresentationReport(agent="codex", title="only"), None, 0.0)
    assert presentation.shown(None).title is None
    assert presentation.shown("codex").title == "only"
    presentation.forget_kind("codex")
    assert presentation.shown("codex").title is None


def test_presentation_ends_with_its_time() -> None:
    presentation = Presentation()
    presentation.report("demo", PresentationReport(title="short"), 700, 1.0)
    presentation.expire(1.6)
    assert presentation.shown(None).title == "short"
    presentation.expire(1.7)
    assert presentation.shown(None).title is None
