"""Key names and the bytes that a terminal sends for them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinatord.panehost.keys import InvalidKey, encode_key, encode_keys


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("enter", b"\r"),
        ("Enter", b"\r"),
        ("esc", b"\x1b"),
        ("escape", b"\x1b"),
        ("tab", b"\t"),
        ("shift+tab", b"\x1b[Z"),
        ("backspace", b"\x7f"),
        ("space", b" "),
        ("plus", b"+"),
        ("minus", b"-"),
        ("+", b"+"),
        ("-", b"-"),
        ("a", b"a"),
        ("A", b"A"),
        ("shift+a", b"A"),
        ("é", "é".encode()),
        ("漢", "漢".encode()),
        ("ctrl+c", b"\x03"),
        ("ctrl+C", b"\x03"),
        ("Ctrl+c", b"\x03"),
        ("control+c", b"\x03"),
        ("C-c", b"\x03"),
        ("C-d", b"\x04"),
        ("ctrl+z", b"\x1a"),
        ("ctrl+space", b"\x00"),
        ("ctrl+[", b"\x1b"),
        ("ctrl+\\", b"\x1c"),
        ("ctrl+_", b"\x1f"),
        ("alt+x", b"\x1bx"),
        ("M-x", b"\x1bx"),
        ("alt+plus", b"\x1b+"),
        ("alt++", b"\x1b+"),
        ("ctrl+alt+d", b"\x1b\x04"),
        ("C-M-d", b"\x1b\x04"),
        ("alt+enter", b"\x1b\r"),
        ("shift+enter", b"\x1b[27;2;13~"),
        ("up", b"\x1b[A"),
        ("left", b"\x1b[D"),
        ("home", b"\x1b[H"),
        ("end", b"\x1b[F"),
        ("ctrl+right", b"\x1b[1;5C"),
        ("ctrl+shift+up", b"\x1b[1;6A"),
        ("pageup", b"\x1b[5~"),
        ("delete", b"\x1b[3~"),
        ("ctrl+delete", b"\x1b[3;5~"),
        ("f1", b"\x1bOP"),
        ("F4", b"\x1bOS"),
        ("shift+f1", b"\x1b[1;2P"),
        ("f5", b"\x1b[15~"),
        ("f12", b"\x1b[24~"),
    ],
)
def test_keys_send_what_a_terminal_sends(key: str, sent: bytes) -> None:
    """herdr-protocol.md §2.4: the names that clients use."""
    assert encode_key(key) == sent


def test_cursor_keys_follow_the_application_cursor_mode() -> None:
    keys = ["up", "down", "right", "left", "home", "end"]
    assert (
        b"".join(encode_keys(keys, application_cursor=True))
        == b"\x1bOA\x1bOB\x1bOC\x1bOD\x1bOH\x1bOF"
    )
    assert encode_key("ctrl+up", application_cursor=True) == b"\x1b[1;5A"
    assert encode_key("delete", application_cursor=True) == b"\x1b[3~"


@pytest.mark.parametrize(
    "key",
    [
        *("", "nokey", "hello", "f0", "f13", "\x03", "\n", "\ud800"),
        *("prefix+x", "ctrl+", "ctrl+nokey", "ctrl+é", "ctrl+ctrl", "c-c", "a+b", "+enter"),
    ],
)
def test_unknown_names_are_refused_by_name(key: str) -> None:
    with pytest.raises(InvalidKey) as refused:
        encode_key(key)
    assert (refused.value.code, refused.value.key) == ("invalid_key", key)
    assert str(refused.value) == f"unsupported key {key}"


def test_one_unknown_key_refuses_all() -> None:
    with pytest.raises(InvalidKey):
        encode_keys(["enter", "nokey"])


@given(st.text(max_size=12))
def test_any_name_is_bytes_or_refused(key: str) -> None:
    sent = b""
    with contextlib.suppress(InvalidKey):
        sent = encode_key(key)
        assert sent
    if len(key) == 1 and key.isprintable():
        assert sent == key.encode()
