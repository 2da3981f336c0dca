"""``coordctl``: reads the command line, makes one call, prints the answer, and leaves.

It leaves by `os._exit` after flushing: tearing an interpreter down costs as much as the call.
"""

from __future__ import annotations

import os
import sys

from coordctl import calling, own, parsing
from coordctl.failures import INTERRUPTED, USAGE, Failure, tell, usage
from coordctl.grammar import HelpWanted, VersionWanted
from coordinatord import __version__
from coordinatord.locate import Misplaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

    from coordctl.grammar import Invocation

_LONGEST_TEXT: Final = 1 << 20
"""Most bytes of a text that are read: four times what a record may hold."""


def main() -> NoReturn:
    """The console script."""
    _occupy_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        # odd bytes in names and texts are shown, not raised about
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    status = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass  # whoever read it has read enough
        except OSError as error:
            status = status or tell(_as_failure(error), as_json=False)
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Run one command; the exit status."""
    as_json = "--json" in arguments
    try:
        invocation = parsing.parse(arguments, read_text)
        as_json = invocation.as_json
        return _runner(invocation)(invocation)
    except HelpWanted as wanted:
        (sys.stdout if wanted.asked else sys.stderr).write(wanted.text + "\n")
        return 0 if wanted.asked else own.failed(arguments, USAGE)
    except VersionWanted:
        sys.stdout.write(f"coordctl {__version__}\n")
        return 0
    except (Failure, Misplaced) as error:
        return own.failed(arguments, tell(_as_failure(error), as_json=as_json))
    except BrokenPipeError:
        return 0
    except OSError as error:  # a full disk behind standard output, mostly
        return own.failed(arguments, tell(_as_failure(error), as_json=as_json))
    except KeyboardInterrupt:
        return INTERRUPTED


def _runner(invocation: Invocation) -> Callable[[Invocation], int]:
    place = own.RUNNERS.get(invocation.words)
    if place is None:
        return calling.one_call
    module, function = place
    package = __import__(f"coordctl.commands.{module}", fromlist=[function])
    found: Callable[[Invocation], int] = getattr(package, function)
    return found


def read_text(path: str) -> str:
    """A text from a file, ``-`` for standard input.

    Raises:
        Failure: it cannot be read, is too long or not UTF-8.
    """
    shown = "Standard input" if path == "-" else path
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(_LONGEST_TEXT + 1)
        else:
            with open(path, "rb") as file:
                raw = file.read(_LONGEST_TEXT + 1)
    except OSError as error:
        raise usage(f"{shown} cannot be read: {error.strerror}.") from None
    if len(raw) > _LONGEST_TEXT:
        raise Failure(
            "too-long", f"{shown} has more than {_LONGEST_TEXT} bytes.", "Name the file instead."
        )
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Failure(
            "not-unicode",
            f"{shown} is not valid UTF-8 at byte {error.start + 1}.",
            "Convert it to UTF-8 first.",
        ) from None


def _as_failure(error: Failure | Misplaced | OSError) -> Failure:
    if isinstance(error, Failure):
        return error
    if isinstance(error, OSError):
        return Failure("internal", f"{error.filename or 'Standard output'}: {error.strerror}.")
    return Failure(error.reason, error.message, error.hint)


def _occupy_standard_streams() -> None:
    """A closed standard stream must not become the number of our socket."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


if __name__ == "__main__":
    main()
