"""Key names as clients write them, and the bytes that a terminal sends for them.

Names are Herdr's: ``enter``, ``esc``, ``up``, ``f1``, ``plus``, one character, and combinations
such as ``ctrl+c``, ``C-c``, ``shift+tab``. Source: herdr-protocol.md §2.4; the bytes are xterm's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHIFT, _ALT, _CTRL = 1, 2, 4

_MODIFIERS: Final = {
    "shift": _SHIFT,
    "alt": _ALT,
    "meta": _ALT,
    "option": _ALT,
    "ctrl": _CTRL,
    "control": _CTRL,
}
_LETTER_MODIFIERS: Final = {"S-": _SHIFT, "M-": _ALT, "A-": _ALT, "C-": _CTRL}
_NAMED_CHARACTERS: Final = {
    "space": " ",
    "plus": "+",
    "minus": "-",
    "comma": ",",
    "period": ".",
    "dot": ".",
    "slash": "/",
    "backslash": "\\",
    "semicolon": ";",
    "equal": "=",
    "equals": "=",
    "underscore": "_",
    "backtick": "`",
    "quote": "'",
}
_CURSOR: Final = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_FUNCTION: Final = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_NUMBERED: Final = {
    "insert": 2,
    "ins": 2,
    "delete": 3,
    "del": 3,
    "pageup": 5,
    "pgup": 5,
    "page_up": 5,
    "pagedown": 6,
    "pgdn": 6,
    "page_down": 6,
    "f5": 15,
    "f6": 17,
    "f7": 18,
    "f8": 19,
    "f9": 20,
    "f10": 21,
    "f11": 23,
    "f12": 24,
}
_SIMPLE: Final = {
    "enter": b"\r",
    "return": b"\r",
    "tab": b"\t",
    "esc": b"\x1b",
    "escape": b"\x1b",
    "backspace": b"\x7f",
    "bspace": b"\x7f",
}
_CODEPOINTS: Final = {
    "enter": 13,
    "return": 13,
    "tab": 9,
    "esc": 27,
    "escape": 27,
    "backspace": 127,
}
_CTRL_SIGNS: Final = {
    " ": 0,
    "@": 0,
    "2": 0,
    "[": 27,
    "\\": 28,
    "]": 29,
    "^": 30,
    "_": 31,
    "/": 31,
    "?": 127,
}


class InvalidKey(ValueError):
    """No key has this name. ``code`` is the host's error code."""

    code: Final = "invalid_key"

    def __init__(self, key: str) -> None:
        super().__init__(f"unsupported key {key}")
        self.key = key


def encode_keys(keys: Sequence[str], *, application_cursor: bool = False) -> list[bytes]:
    """The bytes of each key, in order.

    Args:
        application_cursor: the application has asked for cursor keys as ``ESC O x``.

    Raises:
        InvalidKey: at the first unknown name; so nothing is typed unless all are known.
    """
    return [encode_key(key, application_cursor=application_cursor) for key in keys]


def encode_key(key: str, *, application_cursor: bool = False) -> bytes:
    """The bytes of one key. Raises `InvalidKey`."""
    modifiers, name = _split(key)
    if len(name) == 1:
        return _character(key, name, modifiers)
    name = name.lower()
    if name in _NAMED_CHARACTERS:
        return _character(key, _NAMED_CHARACTERS[name], modifiers)
    if name in _SIMPLE:
        return _simple(name, modifiers)
    if name in _CURSOR:
        return _lettered(_CURSOR[name], modifiers, b"\x1bO" if application_cursor else b"\x1b[")
    if name in _FUNCTION:
        return _lettered(_FUNCTION[name], modifiers, b"\x1bO")
    if name in _NUMBERED:
        return (
            b"\x1b[%d;%d~" % (_NUMBERED[name], modifiers + 1)
            if modifiers
            else (b"\x1b[%d~" % _NUMBERED[name])
        )
    raise InvalidKey(key)


def _split(key: str) -> tuple[int, str]:
    """Modifiers and the bare name; both ``ctrl+x`` and ``C-x`` are understood."""
    modifiers, rest = 0, key
    while len(rest) > 2:
        word, plus, after = rest.partition("+")
        if rest[:2] in _LETTER_MODIFIERS:
            modifiers |= _LETTER_MODIFIERS[rest[:2]]
            rest = rest[2:]
        elif plus and after and word.lower() in _MODIFIERS:
            modifiers |= _MODIFIERS[word.lower()]
            rest = after
        else:
            break
    return modifiers, rest


def _character(key: str, character: str, modifiers: int) -> bytes:
    if not character.isprintable() or "\ud800" <= character <= "\udfff":
        raise InvalidKey(key)
    if modifiers & _SHIFT:
        character = character.upper()
    encoded = character.encode()
    if modifiers & _CTRL:
        encoded = bytes([_control_code(key, character)])
    return b"\x1b" + encoded if modifiers & _ALT else encoded


def _control_code(key: str, character: str) -> int:
    if "A" <= character.upper() <= "Z":
        return ord(character.upper()) & 0x1F
    try:
        return _CTRL_SIGNS[character]
    except KeyError:
        raise InvalidKey(key) from None


def _simple(name: str, modifiers: int) -> bytes:
    if name == "tab" and modifiers == _SHIFT:
        return b"\x1b[Z"
    if modifiers == _ALT:
        return b"\x1b" + _SIMPLE[name]
    if not modifiers or name not in _CODEPOINTS:
        return _SIMPLE[name]
    # xterm's modifyOtherKeys form: with a plain carriage return a "new line" key would submit
    return b"\x1b[27;%d;%d~" % (modifiers + 1, _CODEPOINTS[name])


def _lettered(letter: str, modifiers: int, plain: bytes) -> bytes:
    if modifiers:
        return b"\x1b[1;%d%s" % (modifiers + 1, letter.encode())
    return plain + letter.encode()
