"""What a tool pane runs: fetches a command from the daemon, runs it, reports how it ended.

Started by the launcher as one short typed line; standard library only, without site packages. The
command has a terminal of its own behind the pane's: what it writes is logged and shown, what is typed
goes to it as it comes, so that ctrl+c and full-screen programs work and ctrl+z stops nothing.
Invariant: nothing that is slow (the pane, the disk, the daemon) ever holds the command up, and its
exit status is kept until somebody took it. Here is only the start; go on with ``runner_run.py``.
"""

from __future__ import annotations

import sys

from coordctl import runner_wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """``launcher RUN``, after the launcher's own two words: socket and the file that names it."""
    socket_path, published, run = sys.argv[1:4]
    wire = runner_wire.Wire(socket_path, published)
    claimed = wire.send_claim(run)
    # half of the time until the command starts is Python's own: the daemon works meanwhile
    from coordctl import runner_run

    runner_run.main(wire, run, claimed)


if __name__ == "__main__":
    main()
