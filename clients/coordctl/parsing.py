"""Command lines → an `Invocation`: which command, with which parameters.

Only the parser of the command at hand is built. argparse sees the flags; positionals and everything
after ``--`` are placed here, so that a text may begin with a dash and is never read as a flag.
"""

from __future__ import annotations

import argparse
import os

from coordctl import own, table
from coordctl.failures import Failure, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Final, NoReturn

_TAKES_VALUE: Final = ("-C", "--socket")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Invocation:
    """One command as it was typed. ``params`` holds the fields that were given."""

    def __init__(self, words: str, spec: dict[str, Any], parsed: argparse.Namespace) -> None:
        self.words = words
        self.method: str = spec.get("method", "")
        self.mutates: bool = spec.get("mutates", False)
        self.directory: str | None = os.path.join(*parsed.directory) if parsed.directory else None
        self.socket: str | None = parsed.socket
        self.start: bool = parsed.start
        self.as_json: bool = parsed.as_json
        self.params: dict[str, Any] = {}
        self.rest: list[str] = []


class HelpWanted(Exception):
    """Somebody asked for help, or (not ``asked``) needs it: ``text``."""

    def __init__(self, text: str, *, asked: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.asked = asked


class VersionWanted(Exception):
    """Somebody asked for the version."""


def parse(arguments: Sequence[str], read_text: Callable[[str], str]) -> Invocation:
    """Read a command line (without the program's name).

    Args:
        read_text: reads a whole file, ``-`` for standard input; raises `Failure`.

    Raises:
        Failure: the usage is wrong, or a text cannot be read.
        HelpWanted, VersionWanted: instead of a command.
    """
    before, rest = _split_global(arguments)
    words, rest = _command(before, rest)
    spec = specification(words)
    flags, literal, dashes = _split_dashes(rest)
    if spec.get("passthrough"):
        own_flags, extra = before, list(rest)
    else:
        own_flags, extra = [*before, *flags], []
    parsed, loose = _Parser(words, spec).parse_known_args(own_flags)
    if parsed.version:
        raise VersionWanted
    if parsed.help:
        from coordctl import helping

        raise HelpWanted(helping.of_command(words, spec))
    invocation = Invocation(words, spec, parsed)
    if spec.get("passthrough"):
        invocation.rest = extra
        return invocation
    _refuse_flags(words, spec, loose)
    if spec.get("rest") and dashes:
        positionals, remaining = loose, literal
    else:
        positionals, remaining = [*loose, *literal], []
    _fill(invocation, spec, parsed, positionals, remaining, read_text)
    return invocation


def specification(words: str) -> dict[str, Any]:
    """The entry of a command: from the table, or our own."""
    found: dict[str, Any] | None = table.COMMANDS.get(words) or own.COMMANDS.get(words)
    assert found is not None, words
    return found


def all_words() -> list[str]:
    """Every command, as it is typed."""
    return sorted({*table.COMMANDS, *own.COMMANDS})


def _split_global(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags that stand before the command, and the rest."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        index += 2 if arguments[index] in _TAKES_VALUE else 1
    return list(arguments[:index]), list(arguments[index:])


def _command(before: list[str], rest: list[str]) -> tuple[str, list[str]]:
    for length in (3, 2, 1):
        typed = " ".join(rest[:length])
        words = table.ALIASES.get(typed, typed)
        if len(rest) >= length and (words in table.COMMANDS or words in own.COMMANDS):
            return words, rest[length:]
    raise _no_command(before, rest)


def _no_command(before: list[str], rest: list[str]) -> Exception:
    """What to say where no command was typed: the version, help, or what was meant."""
    if "--version" in before:
        return VersionWanted()
    from coordctl import helping

    asked = "--help" in before or "-h" in before
    if rest[:1] == ["help"]:
        asked, rest = True, rest[1:]
    if not rest:
        return _nothing_typed(before, asked)
    typed = [each for each in rest if not each.startswith("-")]
    words = " ".join(typed)
    if words in all_words():
        return HelpWanted(helping.of_command(words, specification(words)))
    inside = [each for each in all_words() if each.startswith(f"{rest[0]} ")]
    if inside and len(typed) == 1:
        return HelpWanted(helping.of_group(rest[0], inside), asked=asked or len(rest) > 1)
    return helping.unknown(" ".join(rest[:2] if inside else rest[:1]), all_words())


def _nothing_typed(before: list[str], asked: bool) -> Exception:
    from coordctl import helping

    if before and before[-1].startswith("-") and before[-1] not in _GLOBAL_FLAGS:
        return usage(f"There is no option {before[-1]}.", "See coordctl --help")
    return HelpWanted(helping.of_all(), asked=asked)


_GLOBAL_FLAGS: Final = ("-C", "--socket", "--no-start", "--json", "--version", "--help", "-h")


def _split_dashes(rest: list[str]) -> tuple[list[str], list[str], bool]:
    if "--" not in rest:
        return rest, [], False
    index = rest.index("--")
    return rest[:index], rest[index + 1 :], True


class _Parser(argparse.ArgumentParser):
    """The flags of one command; errors become `Failure`, help is written elsewhere."""

    def __init__(self, words: str, spec: dict[str, Any]) -> None:
        super().__init__(prog=f"coordctl {words}", add_help=False, allow_abbrev=False)
        self._words = words
        self.add_argument("-C", dest="directory", action="append")
        self.add_argument("--socket")
        self.add_argument("--no-start", dest="start", action="store_false")
        self.add_argument("--json", dest="as_json", action="store_true")
        self.add_argument("--version", action="store_true")
        self.add_argument("--help", "-h", action="store_true")
        for name, field in spec["fields"].items():
            if name not in spec.get("positional", ()) and name != spec.get("rest"):
                self._add_flag(name, field)
        for name in spec.get("files", ()):
            self.add_argument(f"--{name}-file", dest=f"file:{name}", metavar="FILE")

    def _add_flag(self, name: str, field: dict[str, Any]) -> None:
        dest = f"field:{name}"
        if field["kind"] == "switch":
            self.add_argument(flag_of(name), dest=dest, action="store_true", default=None)
        elif field["kind"] == "pair":
            self.add_argument(flag_of(name), dest=dest, nargs=2)
        else:
            self.add_argument(flag_of(name), dest=dest)

    def error(self, message: str) -> NoReturn:
        text = message.replace("argument ", "", 1)
        raise usage(f"{text[:1].upper()}{text[1:]}.", f"See coordctl {self._words} --help")


def flag_of(name: str) -> str:
    """How a field's flag is written; durations drop their unit: ``expires_s`` is ``--expires``."""
    return "--" + name.removesuffix("_s").replace("_", "-")


def _refuse_flags(words: str, spec: dict[str, Any], loose: list[str]) -> None:
    for each in loose:
        if each.startswith("-") and each != "-":
            from coordctl import helping

            raise helping.unknown_flag(words, spec, each)


def _fill(
    invocation: Invocation,
    spec: dict[str, Any],
    parsed: argparse.Namespace,
    positionals: list[str],
    remaining: list[str],
    read_text: Callable[[str], str],
) -> None:
    fields = spec["fields"]
    given = {name: getattr(parsed, f"field:{name}", None) for name in fields}
    given.update(_placed(invocation.words, spec, positionals))
    for name in spec.get("files", ()):
        _from_file(given, name, getattr(parsed, f"file:{name}"), read_text)
    if given.get(spec.get("text", "")) == "-":
        given[spec["text"]] = read_text("-")
    if remaining:
        given[spec["rest"]] = remaining
    for name, value in given.items():
        if value is not None:
            invocation.params[name] = _converted(name, fields[name], value)
        elif fields[name].get("required"):
            raise _missing(invocation.words, name, name in spec.get("positional", ()))


def _placed(words: str, spec: dict[str, Any], positionals: list[str]) -> dict[str, str]:
    names = spec.get("positional", ())
    if len(positionals) > len(names):
        hint = f"Quote a text with blanks. See coordctl {words} --help"
        raise usage(f"There is one word too many: {positionals[len(names)]!r}.", hint)
    return dict(zip(names, positionals, strict=False))


def _from_file(
    given: dict[str, Any], name: str, path: str | None, read_text: Callable[[str], str]
) -> None:
    if path is None:
        return
    if given.get(name) is not None:
        raise usage(f"{flag_of(name)} and {flag_of(name)}-file exclude each other.")
    given[name] = read_text(path)


def _missing(words: str, name: str, positional: bool) -> Failure:
    shown = name.replace("_", "-").upper() if positional else flag_of(name)
    return usage(f"{shown} is missing.", f"See coordctl {words} --help")


def _converted(name: str, field: dict[str, Any], value: Any) -> Any:
    convert = _CONVERSIONS.get(field["kind"])
    if convert is None:
        _check_text(name, value)
        _check_choice(name, field, value)
        return value
    try:
        return convert(value)
    except ValueError:
        raise usage(f"{flag_of(name)} {value!r} is not {_EXPECTED[field['kind']]}.") from None


def _check_choice(name: str, field: dict[str, Any], value: Any) -> None:
    choices = field.get("choices")
    if choices and value not in choices:
        raise usage(f"{flag_of(name)} is one of {', '.join(choices)}, not {value!r}.")


def _check_text(name: str, value: str | Iterable[str]) -> None:
    for text in (value,) if isinstance(value, str) else value:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Failure(
                "not-unicode",
                f"{name} is not valid UTF-8 at character {error.start + 1}.",
                "Give it as UTF-8.",
            ) from None


def _duration(text: str) -> float:
    """Seconds: ``90``, ``90s``, ``10m``, ``2h``, ``1d``."""
    unit = _UNITS.get(text[-1:])
    return float(text) if unit is None else float(text[:-1]) * unit


_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "integer": int,
    "number": float,
    "duration": _duration,
    "switch": bool,
}
_EXPECTED: Final = {
    "integer": "a whole number",
    "number": "a number",
    "duration": "a time such as 90s, 10m or 2h",
    "switch": "",
}
