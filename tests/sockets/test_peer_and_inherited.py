"""Who connected, and sockets that a service manager handed over."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from coordinatord import lineage
from coordinatord.errors import Refused
from coordinatord.ids import ProcessId
from coordinatord.sockets import inherited
from coordinatord.sockets.peer import Peer, peer_of

CLIENT = """
import socket, sys
client = socket.socket(socket.AF_UNIX); client.connect(sys.argv[1])
sys.stdin.read()
"""


def test_a_peer_is_the_process_that_connected(short: Path) -> None:
    path = short / "a.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, path],
            stdin=subprocess.PIPE,
            env=os.environ | {"MARK": "m"},
        ) as child:
            connection, _ = listener.accept()
            with connection:
                peer = peer_of(connection)
                assert (peer.uid, peer.pid) == (os.getuid(), child.pid)
                assert [process.pid for process in peer.ancestry[:2]] == [child.pid, os.getpid()]
                assert peer.environment["MARK"] == "m"
                unread = peer_of(connection)
                assert child.stdin is not None
                child.stdin.close()
                child.wait(timeout=10)
                assert peer.environment["MARK"] == "m"
                assert unread.environment == {}


def test_the_environment_of_a_later_process_with_the_same_pid_is_not_the_peers() -> None:
    me = lineage.identify(os.getpid())
    assert me is not None
    assert Peer(os.getuid(), me.pid, (me,)).environment
    earlier = ProcessId(me.boot_id, me.pid, me.start_ticks - 1)
    assert Peer(os.getuid(), me.pid, (earlier,)).environment == {}


HANDED_OVER = """
import os, sys
from coordinatord.sockets import inherited
os.dup2(int(sys.argv[1]), 3)
environ = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "api", "KEEP": "1"}
sock = inherited.take(environ, os.getpid())
print(sock.getsockname(), sock.fileno(), os.get_inheritable(3), environ, flush=True)
connection, _ = sock.accept() if not sock.setblocking(True) else None
connection.sendall(b"hello")
"""


def test_a_handed_over_socket_is_taken_and_the_variables_are_gone(short: Path) -> None:
    path = short / "a.sock"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(os.fspath(path))
        listener.listen()
        client.connect(os.fspath(path))
        with subprocess.Popen(
            [sys.executable, "-c", HANDED_OVER, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert client.recv(9) == b"hello"
            assert child.stdout is not None
            assert child.stdout.readline() == f"{path} 3 False {{'KEEP': '1'}}\n"


@pytest.mark.parametrize(
    "environ", [{}, {"LISTEN_FDS": "1"}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"},
                {"LISTEN_PID": "7", "LISTEN_FDS": "0"}, {"LISTEN_PID": "7", "LISTEN_FDS": "x"}],
)  # fmt: skip
def test_what_is_meant_for_nobody_or_another_is_not_taken(environ: dict[str, str]) -> None:
    assert inherited.take(environ, 7) is None
    assert environ == {}


def test_more_than_one_socket_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        inherited.take({"LISTEN_PID": "7", "LISTEN_FDS": "2"}, 7)
    assert caught.value.reason == "bad-setting"
