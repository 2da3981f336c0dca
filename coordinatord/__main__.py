"""``coordinatord``: the daemon in the foreground, for the workspace found from the working directory."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from coordinatord import __version__, locate
from coordinatord.errors import Refused


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until told to stop; 0 after an orderly end, 1 when refused, 2 for a usage error."""
    asked = _parser().parse_args(arguments)
    try:
        workspace = locate.find(os.environ, asked.directory)
        flags = dict(each.split("=", 1) for each in asked.set)
        if asked.terminal:
            flags["terminal"] = asked.terminal
        if asked.restore:
            return _restore(workspace, asked.restore)
        _run(workspace, flags, asked.socket)
    except (Refused, locate.Misplaced) as error:
        print(f"coordinatord: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 1
    return 0


def _run(workspace: locate.Workspace, flags: dict[str, str], socket: str | None) -> None:
    from coordinatord.daemon import instance

    # many starts at one instant are ordinary, and all but one of them shall cost little
    instance.refuse_a_second(workspace)
    import anyio

    from coordinatord.daemon import app

    start = app.Start(workspace=workspace, environ=dict(os.environ), flags=flags, socket=socket)
    anyio.run(app.run, start, backend_options=_loop())


def _restore(workspace: locate.Workspace, backup: str) -> int:
    import anyio

    from coordinatord.daemon import restoring

    restored = anyio.run(restoring.restore, workspace, backup)
    sys.stdout.write(f"{restored}\n")
    return 0


def _loop() -> dict[str, bool]:
    """uvloop where the extra is installed."""
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return {}
    return {"use_uvloop": True}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="coordinatord",
        description="Run the coordination daemon of this workspace in the foreground.",
        epilog="Clients start it by themselves; see also: coordctl up, coordctl down.",
    )
    parser.add_argument("-C", dest="directory", metavar="DIR", help="look for the workspace there")
    parser.add_argument("--socket", metavar="PATH", help="listen there instead of the usual place")
    parser.add_argument(
        "--terminal", choices=("auto", "herdr", "embedded"), help="the terminal host"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        type=_setting,
        help="a setting, stronger than variables and files",
    )
    parser.add_argument(
        "--restore",
        metavar="FILE",
        help="fill an empty workspace from a backup, and end; no daemon may run",
    )
    parser.add_argument("--version", action="version", version=f"coordinatord {__version__}")
    return parser


def _setting(text: str) -> str:
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return text


if __name__ == "__main__":
    sys.exit(main())
