"""Kind files: the packaged ones, and those of the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from coordinatord.errors import Refused
from coordinatord.kinds import AgentKind, load, read_title

OWN = """
name = "codex"
executables = ["my-codex"]

[screen.composer]
shape = "status"
glyph = "$"
status = "ready"
below = 1
"""


def test_the_packaged_kinds(kinds: Mapping[str, AgentKind]) -> None:
    assert sorted(kinds) == ["claude", "codex", "generic", "opencode", "pi"]
    assert all(kinds[name].name == name for name in kinds)


def test_commands_take_the_session(kinds: Mapping[str, AgentKind]) -> None:
    """agents.md §2 to §5: how each resumes and forks; bare, since launch flags are lost anyway."""
    resumed = {name: kind.command("resume", "S") for name, kind in kinds.items()}
    assert resumed == {
        "claude": ("claude", "--resume", "S"),
        "codex": ("codex", "resume", "S"),
        "generic": (),
        "opencode": ("opencode", "-s", "S"),
        "pi": ("pi", "--session", "S"),
    }
    assert kinds["claude"].command("fork", "S") == ("claude", "--resume", "S", "--fork-session")


def test_long_text_goes_by_file_where_it_would_be_changed(
    kinds: Mapping[str, AgentKind],
) -> None:
    """agents.md §1.1: Claude Code wraps several lines and long ones, the others nothing."""
    assert kinds["claude"].takes_inline("one line")
    assert not kinds["claude"].takes_inline("two\nlines")
    assert not kinds["claude"].takes_inline("x" * 5000)
    for name in ("codex", "generic", "opencode", "pi"):
        assert kinds[name].takes_inline("x\n" * 4096)
        assert not kinds[name].takes_inline("é" * 4097)


@pytest.mark.parametrize(
    ("kind", "title", "said"),
    [
        ("claude", "✳ project", None),
        ("claude", "◐ project", "busy"),
        ("codex", "⠙ project", "busy"),
        ("codex", "[ . ] Action Required", "blocked"),
        ("codex", "project", None),
        ("pi", "anything", None),
    ],
)
def test_titles_tell_what_screens_do_not(
    kinds: Mapping[str, AgentKind], kind: str, title: str, said: str | None
) -> None:
    """agents.md §1.4."""
    assert read_title(kinds[kind], title) == said


def test_a_users_file_replaces_a_kind_and_adds_others(tmp_path: Path) -> None:
    (tmp_path / "codex.toml").write_text(OWN)
    (tmp_path / "other.toml").write_text(OWN.replace('"codex"', '"other"', 1))
    (tmp_path / "notes.txt").write_text("not a kind")
    kinds = load(tmp_path)
    assert kinds["codex"].executables == kinds["other"].executables == ("my-codex",)
    assert "claude" in kinds


def test_a_folder_that_is_not_there_is_fine(tmp_path: Path) -> None:
    assert load(tmp_path / "none") == load()


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("executables", "executable", "executable"),
        ('glyph = "$"', 'glyph = "$"\ngliph = "$"', "gliph"),
        ('["my-codex"]', '"my-codex"', "executables"),
        ("below = 1", 'below = "one"', "below"),
        ('"status"', '"round"', "composer"),
        ('status = "ready"', 'status = "(ready"', "$.screen.composer.status"),
        ('name = "codex"', 'name = "codex"\nends = {"(" = "command"}', "$.ends.("),
        ('name = "codex"', 'name = "kodex"', "name"),
        ('name = "codex"', "name = codex", "codex.toml"),
        ("[screen.composer]", "[screen]\nplaceholders = ['[']\n[screen.composer]", "placeholders"),
    ],
)
def test_a_wrong_file_is_refused_by_key_and_file(
    tmp_path: Path, old: str, new: str, named: str
) -> None:
    file = tmp_path / "codex.toml"
    assert old in OWN
    file.write_text(OWN.replace(old, new, 1))
    with pytest.raises(Refused) as refusal:
        load(tmp_path)
    assert refusal.value.reason == "bad-setting"
    assert named in refusal.value.message
    assert str(file) in refusal.value.message


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "codex.toml").write_bytes(b"\xff\xfe\0")
    with pytest.raises(Refused, match=r"codex\.toml"):
        load(tmp_path)


def test_a_workspace_brings_no_kinds(tmp_path: Path) -> None:
    """A cloned repository could name a program to start."""
    folder = tmp_path / ".coordinatord" / "kinds"
    folder.mkdir(parents=True)
    with pytest.raises(Refused) as refusal:
        load(folder)
    assert refusal.value.reason == "folder-unsafe"
