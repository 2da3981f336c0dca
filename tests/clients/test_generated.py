"""What is derived from the catalogue is up to date, and says what the catalogue says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coordctl import generate
from coordinatord import catalogue
from coordinatord.errors import REASONS
from coordinatord.wire import openrpc
from coordinatord.wire.requests import method_of


@pytest.mark.parametrize("path", generate.artefacts(), ids=lambda path: path.name)
def test_generated_files_are_not_stale(path: Any) -> None:
    """Write them anew: python -m coordctl.generate"""
    assert path.read_text(encoding="utf-8") == generate.artefacts()[path]


def test_the_check_fails_on_a_stale_file(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "table.py"
    stale.write_text("old")
    monkeypatch.setattr(generate, "artefacts", lambda: {stale: "new"})
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["generate", "--check"])
    assert generate.main() == 1
    assert stale.read_text() == "old"
    assert "table.py" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["generate"])
    assert generate.main() == 0
    assert stale.read_text() == "new"


def test_the_protocol_page_names_every_method_and_reason() -> None:
    page = generate.artefacts()[generate.ROOT / "docs" / "protocol.md"]
    for request in catalogue.REQUESTS:
        assert f"### `{method_of(request)}`" in page
    for reason in REASONS:
        assert f"| `{reason}` |" in page


def test_openrpc_describes_every_method_without_its_tag() -> None:
    document = json.loads(json.dumps(openrpc.document(catalogue.REQUESTS, "1.2.3")))
    assert document["info"]["version"] == "1.2.3"
    methods = {method["name"]: method for method in document["methods"]}
    assert list(methods) == [method_of(each) for each in catalogue.REQUESTS]
    ask = {param["name"]: param for param in methods["question.ask"]["params"]}
    assert set(ask) == {"task", "text", "key"}
    assert ask["task"]["required"]
    assert not ask["key"]["required"]
    assert ask["task"]["description"]
    assert methods["question.ask"]["x-mutates"]
    assert not methods["inbox.read"]["x-mutates"]


def test_every_reference_of_openrpc_leads_somewhere() -> None:
    document = openrpc.document(catalogue.REQUESTS, "1.2.3")
    references = set(_references(document))
    assert "#/components/schemas/Question" in references
    for reference in references:
        found: Any = document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [each for value in node.values() for each in _references(value)]
    if isinstance(node, list):
        return [each for value in node for each in _references(value)]
    return []
