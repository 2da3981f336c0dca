"""Command lines → an `Invocation`: which command, with which parameters.

Small on purpose, since every call imports it: what to say about mistakes stands in `mistakes.py`.
Flags may stand anywhere before ``--``; everything after it is text, also what looks like a flag.
"""

from __future__ import annotations

import os

from coordctl import own, table
from coordctl.grammar import GLOBAL, HelpWanted, Invocation, VersionWanted, flag_of, specification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final


def parse(arguments: Sequence[str], read_text: Callable[[str], str]) -> Invocation:
    """Read a command line (without the program's name).

    Args:
        read_text: reads a whole file, ``-`` for standard input; raises `Failure`.

    Raises:
        Failure: the usage is wrong, or a text cannot be read.
        HelpWanted, VersionWanted: instead of a command.
    """
    before, words, after = _command(arguments)
    spec = specification(words)
    literal: list[str] = []
    if spec.get("passthrough"):
        after, literal = [], after
    elif "--" in after:
        index = after.index("--")
        after, literal = after[:index], after[index + 1 :]
    options, given, typed = _flags(words, spec, [*before, *after])
    if "version" in options:
        raise VersionWanted
    if "help" in options:
        from coordctl import helping

        raise HelpWanted(helping.of_command(words, spec))
    invocation = Invocation(words, spec, options)
    if spec.get("passthrough"):
        invocation.rest = literal
        return invocation
    if spec.get("rest"):
        given[spec["rest"]] = literal or None
    else:
        typed += literal
    _place(words, spec, given, typed)
    _read_texts(spec, given, read_text)
    _fill(invocation, spec, given)
    return invocation


def _command(arguments: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Flags that stand before the command, the command, and what follows it."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        index += 2 if GLOBAL.get(arguments[index], ("", False))[1] else 1
    before, rest = list(arguments[:index]), list(arguments[index:])
    for length in (3, 2, 1):
        typed = " ".join(rest[:length])
        words = table.ALIASES.get(typed, typed)
        if len(rest) >= length and (words in table.COMMANDS or words in own.COMMANDS):
            return before, words, rest[length:]
    from coordctl import helping

    raise helping.no_command(before, rest)


def _flags(
    words: str, spec: dict[str, Any], arguments: list[str]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The options of every command, the fields given by flag, and the words without one."""
    known = _known(spec)
    options: dict[str, Any] = {}
    given: dict[str, Any] = {}
    typed: list[str] = []
    left = iter(arguments)
    for argument in left:
        if not argument.startswith("-") or argument == "-":
            typed.append(argument)
            continue
        flag, joined, value = argument.partition("=")
        if argument[:2] == "-C" and argument != "-C":
            flag, joined, value = "-C", "=", argument[2:]
        name, count = _expected(words, spec, known, flag)
        values = [value] if joined else [each for _, each in zip(range(count), left, strict=False)]
        if len(values) != count:
            raise _mistake().values(words, flag, count)
        where = options if flag in GLOBAL else given
        found = values[0] if count == 1 else (values or True)
        if name == "directory" and "directory" in options:
            found = os.path.join(options[name], str(found))
        where[name] = found
    return options, given, typed


def _known(spec: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """The command's own flags: the field, and how many values follow."""
    known = {
        flag_of(name): (name, {"switch": 0, "pair": 2}.get(field["kind"], 1))
        for name, field in spec["fields"].items()
        if name not in spec.get("positional", ()) and name != spec.get("rest")
    }
    for name in spec.get("files", ()):
        known[f"{flag_of(name)}-file"] = (f"file:{name}", 1)
    return known


def _expected(
    words: str, spec: dict[str, Any], known: dict[str, tuple[str, int]], flag: str
) -> tuple[str, int]:
    if flag in known:
        return known[flag]
    if flag in GLOBAL:
        name, takes = GLOBAL[flag]
        return name, int(takes)
    raise _mistake().flag(words, spec, flag)


def _place(words: str, spec: dict[str, Any], given: dict[str, Any], typed: list[str]) -> None:
    names = spec.get("positional", ())
    if len(typed) > len(names):
        raise _mistake().surplus(words, typed[len(names)])
    given.update(zip(names, typed, strict=False))


def _read_texts(
    spec: dict[str, Any], given: dict[str, Any], read_text: Callable[[str], str]
) -> None:
    for name in spec.get("files", ()):
        path = given.pop(f"file:{name}", None)
        if path is not None:
            if name in given:
                raise _mistake().both(name)
            given[name] = read_text(path)
    name = spec.get("text")
    if name and given.get(name) == "-":
        given[name] = read_text("-")


def _fill(invocation: Invocation, spec: dict[str, Any], given: dict[str, Any]) -> None:
    for name, field in spec["fields"].items():
        value = given.get(name)
        if value is not None:
            invocation.params[name] = _converted(name, field, value)
        elif field.get("required"):
            raise _mistake().missing(invocation.words, name, name in spec.get("positional", ()))


def _converted(name: str, field: dict[str, Any], value: Any) -> Any:
    convert = _CONVERSIONS.get(field["kind"])
    try:
        if convert is not None:
            return convert(value)
        for text in (value,) if isinstance(value, str) else value:
            text.encode()
    except UnicodeEncodeError as error:
        raise _mistake().not_unicode(name, error.start) from None
    except ValueError:
        raise _mistake().value(name, field, value) from None
    if "choices" in field and value not in field["choices"]:
        raise _mistake().value(name, field, value)
    return value


def _seconds(text: str) -> float:
    """``90``, ``90s``, ``10m``, ``2h``, ``1d``."""
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}.get(text[-1:])
    return float(text) if unit is None else float(text[:-1]) * unit


_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "integer": int,
    "number": float,
    "duration": _seconds,
    "switch": bool,
}


def _mistake() -> Any:
    from coordctl import mistakes

    return mistakes
