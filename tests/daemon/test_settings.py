"""Settings: who wins, what is refused, and that each refusal names the key and the place."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.daemon import settings, settings_files
from coordinatord.errors import Refused

OURS = ("HERDR_", "COORDINATORD_")


def load(
    tmp_path: Path,
    *,
    flags: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    workspace: str | None = None,
    user: str | None = None,
) -> settings.Resolved:
    files = {"workspace.toml": workspace, "user.toml": user}
    for name, text in files.items():
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
            (tmp_path / name).chmod(0o600)
    return settings_files.load(
        flags or {}, environ or {}, tmp_path / "workspace.toml", tmp_path / "user.toml"
    )


def source_of(resolved: settings.Resolved, key: str) -> tuple[object, str]:
    (line,) = [line for line in resolved.explain() if line.key == key]
    return line.value, line.source


def test_the_strongest_place_wins_and_is_named(tmp_path: Path) -> None:
    """A flag, then the variable, then the workspace's file, then the user's, then the default."""
    key, variable = "delivery.queue_limit", "COORDINATORD_DELIVERY_QUEUE_LIMIT"
    places: dict[str, object] = {}
    assert source_of(load(tmp_path), key) == (200, "built-in")
    for place, value, expected in [
        ("user", "[delivery]\nqueue_limit = 4", (4, str(tmp_path / "user.toml"))),
        ("workspace", "delivery.queue_limit = 3", (3, str(tmp_path / "workspace.toml"))),
        ("environ", {variable: "2"}, (2, "environment")),
        ("flags", {key: "1"}, (1, "flag")),
    ]:
        places[place] = value
        assert source_of(load(tmp_path, **places), key) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ({"workspace": "backstop = 3"}, ("workspace.toml", "backstop", "backstop_s")),
        ({"user": "[delivery]\nevent = true"}, ("user.toml", "delivery.event", "delivery.events")),
        ({"user": "[deliver]\nevents = true"}, ("user.toml", "deliver.events", "delivery.events")),
        ({"flags": {"log_levle": "info"}}, ("flag", "log_levle", "log_level")),
        (
            {"environ": {"COORDINATORD_LOGLEVEL": "info"}},
            ("environment", "COORDINATORD_LOGLEVEL", "COORDINATORD_LOG_LEVEL"),
        ),
    ],
)
def test_an_unknown_key_is_refused_with_key_place_and_nearest(
    tmp_path: Path, place: dict[str, object], named: tuple[str, str, str]
) -> None:
    with pytest.raises(Refused) as caught:
        load(tmp_path, **place)  # type: ignore[arg-type]
    assert caught.value.reason == "bad-setting"
    assert named[0] in caught.value.message
    assert named[1] in caught.value.message
    assert caught.value.hint == f"The nearest known is {named[2]}."


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("terminal", '"tmux"'),
        ("backstop_s", "0"),
        ("backstop_s", "nan"),
        ("backstop_s", '"15"'),
        ("log_level", "true"),
        ("delivery.events", "1"),
        ("delivery.queue_limit", "2.5"),
        ("typing.inline_limit_bytes", "9999999"),
        ("herdr_socket", '"relative.sock"'),
        ("herdr_socket", '""'),
    ],
)
def test_a_wrong_value_is_refused_with_key_and_file(tmp_path: Path, key: str, text: str) -> None:
    with pytest.raises(Refused, match=re.escape(key)) as caught:
        load(tmp_path, workspace=f"{key} = {text}")
    assert caught.value.reason == "bad-setting"
    assert "workspace.toml" in caught.value.message


@pytest.mark.parametrize("text", ["nan", "inf", "fast", "-1"])
def test_a_wrong_variable_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused, match="variable COORDINATORD_BACKSTOP_S has a wrong value"):
        load(tmp_path, environ={"COORDINATORD_BACKSTOP_S": text})


def test_a_mistake_is_told_although_a_stronger_place_hides_it(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="log_level"):
        load(tmp_path, user='log_level = "loud"', flags={"log_level": "info"})


def test_variables_are_text_and_an_empty_one_is_unset(tmp_path: Path) -> None:
    resolved = load(
        tmp_path,
        environ={
            "COORDINATORD_DELIVERY_EVENTS": "false",
            "COORDINATORD_BACKSTOP_S": "2",
            "COORDINATORD_LOG_LEVEL": "",
            "PATH": "/bin",
        },
    )
    assert resolved.settings.delivery.events is False
    assert resolved.settings.backstop_s == 2.0
    assert resolved.settings.log_level == "info"


def test_socket_root_and_token_are_no_settings(tmp_path: Path) -> None:
    resolved = load(tmp_path, environ=dict.fromkeys(settings.NOT_SETTINGS, "x"))
    assert resolved.sources == {}


@pytest.mark.parametrize("content", [b"backstop_s = = 3", b"\xff\xfe", b"#" * 70_000])
def test_a_file_that_is_no_configuration_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "workspace.toml").write_bytes(content)
    (tmp_path / "workspace.toml").chmod(0o600)
    with pytest.raises(Refused, match=r"workspace\.toml") as caught:
        load(tmp_path)
    assert caught.value.reason == "bad-setting"


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text("", encoding="utf-8")
    (tmp_path / "user.toml").chmod(0o622)
    with pytest.raises(Refused) as caught:
        load(tmp_path)
    assert caught.value.reason == "folder-unsafe"


def test_a_home_that_is_no_folder_has_no_configuration(tmp_path: Path) -> None:
    """Services run with ``HOME=/dev/null``."""
    nowhere = Path(os.devnull) / ".config" / "coordinatord" / "config.toml"
    assert settings_files.load({}, {}, None, nowhere).settings == load(tmp_path).settings


def test_a_pipe_in_place_of_the_file_is_refused_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "workspace.toml")
    with pytest.raises(Refused, match="not a regular file"):
        load(tmp_path)


def test_every_key_says_what_it_is_for_and_names_no_command() -> None:
    """A number has a unit, every key a sentence; a cloned repository's file can start nothing."""
    for key in settings.keys().values():
        assert key.doc.endswith("."), key.name
        assert (
            key.unit is not None
            or not isinstance(key.default, int | float)
            or key.default
            in (
                True,
                False,
            )
        ), key.name
        assert not re.search(r"command|exec|shell|argv|program|hook|editor", key.name), key.name


def test_keys_and_structs_agree() -> None:
    """Every leaf of the built-in settings is a key with the same default."""
    leaves = dict(settings._flattened(msgspec.to_builtins(settings.Settings()), ""))
    assert {key.name: key.default for key in settings.keys().values()} == leaves


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_nothing_of_ours_or_herdrs_is_handed_on(others: dict[str, str]) -> None:
    foreign = {name: text for name, text in others.items() if not name.startswith(OURS)}
    ours = {"COORDINATORD_TOKEN": "t", "HERDR_PANE_ID": "w1:p1", "HERDR_ENV": "1"}
    assert settings.without_ours(foreign | ours) == foreign
