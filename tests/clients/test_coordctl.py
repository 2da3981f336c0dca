"""coordctl as a process, against a toy daemon: answers, failures, exit statuses, odd streams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinatord import __version__, locate
from tests.clients.toy import CLOSE, SILENT, Notes, Refusal, Respond, Toy, coordctl, environment

Start = Callable[[Respond], Toy]
INBOX: dict[str, Any] = {"seat": "coordinator", "items": [], "incomplete": False}


def _error(result: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one line of JSON on standard error; standard output is empty (interfaces.md, Errors)."""
    assert result.stdout == b""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    found: dict[str, Any] = json.loads(lines[0])
    return found


# answers


def test_json_is_the_result_as_it_came_on_one_line(toy: Start, tmp_path: Path) -> None:
    odd = {**INBOX, "text": "é 😀 \u2028 \x1b[31m", "number": 1.5, "newer": {"unknown": None}}
    server = toy(lambda request: odd)
    result = coordctl("inbox", "--json", "--socket", str(server.path), cwd=tmp_path, LC_ALL="C")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.count(b"\n") == 1
    assert json.loads(result.stdout) == odd
    assert server.received == [{"jsonrpc": "2.0", "id": 1, "method": "inbox.read", "params": {}}]


def test_the_greeting_carries_what_the_environment_claims(toy: Start, tmp_path: Path) -> None:
    server = toy(lambda request: INBOX)
    socket = str(server.path)
    coordctl("inbox", cwd=tmp_path, COORDINATORD_SOCKET=socket)
    coordctl(
        "inbox", cwd=tmp_path, COORDINATORD_SOCKET=socket, HERDR_PANE_ID="w1:p2",
        HERDR_SOCKET_PATH="/run/host.sock", COORDINATORD_TOKEN="secret",
    )  # fmt: skip
    assert server.greetings == [
        {"client": "coordctl", "version": __version__},
        {
            "client": "coordctl",
            "version": __version__,
            "pane_id": "w1:p2",
            "terminal_socket": "/run/host.sock",
            "token": "secret",
        },
    ]


def test_standard_input_arrives_as_it_is(toy: Start, tmp_path: Path) -> None:
    server = toy(lambda request: {"id": "q-9f3t8b2c"})
    body = "erste\n\ttab \u202e \U0001f468\u200d\U0001f469\u200d\U0001f467\n\n"
    result = coordctl(
        "ask", "--task", "t-1h6v5w0z", "-", "--key", "k", "--socket", str(server.path),
        cwd=tmp_path, stdin=body.encode(), LC_ALL="C",
    )  # fmt: skip
    assert result.returncode == 0
    assert server.received[0]["params"] == {"task": "t-1h6v5w0z", "text": body, "key": "k"}


def test_standard_input_that_is_not_utf8_is_refused(toy: Start, tmp_path: Path) -> None:
    """G-10: bytes that are no text."""
    server = toy(lambda request: {})
    command = ("ask", "--task", "t", "--json", "--socket", str(server.path))
    for result in (
        coordctl(*command, "-", cwd=tmp_path, stdin=b"caf\xe9"),
        coordctl(*command, b"caf\xe9", cwd=tmp_path),
    ):
        assert result.returncode == 1
        assert _error(result)["data"]["reason"] == "not-unicode"
    assert server.received == []


def test_more_than_a_megabyte_is_not_read_to_its_end(toy: Start, tmp_path: Path) -> None:
    server = toy(lambda request: {})
    result = coordctl(
        "ask", "--task", "t", "--json", "-", "--socket", str(server.path),
        cwd=tmp_path, stdin=b"x" * ((1 << 20) + 1),
    )  # fmt: skip
    assert _error(result)["data"]["reason"] == "too-long"
    assert server.received == []


# failures


def test_a_refusal_is_a_sentence_and_a_hint(toy: Start, tmp_path: Path) -> None:
    def respond(request: dict[str, Any]) -> Any:
        raise Refusal("unknown-id", "There is no question q-00000000.", "See coordctl inbox")

    socket = str(toy(respond).path)
    result = coordctl("why", "q-00000000", "--socket", socket, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode().splitlines() == [
        "coordctl: There is no question q-00000000.",
        "hint: See coordctl inbox",
    ]
    error = _error(coordctl("why", "q-00000000", "--json", "--socket", socket, cwd=tmp_path))
    assert error == {
        "code": -32000,
        "message": "There is no question q-00000000.",
        "data": {"reason": "unknown-id", "hint": "See coordctl inbox"},
    }


@pytest.mark.parametrize(
    ("reason", "status"),
    [("not-allowed", 1), ("a-newer-reason", 1), ("time-limit", 4), ("uncertain", 5)],
)
def test_reasons_have_exit_statuses(toy: Start, tmp_path: Path, reason: str, status: int) -> None:
    def respond(request: dict[str, Any]) -> Any:
        raise Refusal(reason)

    result = coordctl("inbox", "--json", "--socket", str(toy(respond).path), cwd=tmp_path)
    assert result.returncode == status
    assert _error(result)["data"]["reason"] == reason


def test_usage_is_2_also_as_json(tmp_path: Path) -> None:
    for arguments in (("ask", "--json"), ("--json", "nope"), ("--json", "inbox", "--nope")):
        result = coordctl(*arguments, cwd=tmp_path)
        assert result.returncode == 2
        assert _error(result)["data"]["reason"] == "bad-params"
    assert coordctl(cwd=tmp_path).returncode == 2


def test_no_workspace_is_3_with_the_way_to_make_one(tmp_path: Path) -> None:
    result = coordctl("inbox", "--json", cwd=tmp_path)
    assert result.returncode == 3
    error = _error(result)
    assert error["data"]["reason"] == "no-workspace"
    assert "coordctl up" in error["data"]["hint"]
    assert os.listdir(tmp_path) == []


def test_a_named_socket_is_never_started_for(tmp_path: Path, sockets: Path) -> None:
    locate.make(locate.Workspace(str(tmp_path), {}))
    for arguments, variables in (
        (("--socket", str(sockets / "no.sock")), {}),
        ((), {"COORDINATORD_SOCKET": str(sockets / "no.sock")}),
        (("--no-start",), {"XDG_RUNTIME_DIR": str(sockets)}),
    ):
        result = coordctl("inbox", "--json", *arguments, cwd=tmp_path, variables=variables)
        assert result.returncode == 3
        assert _error(result)["data"]["reason"] == "no-daemon"
    assert os.listdir(tmp_path / ".coordinatord") == [".gitignore"]
    assert os.listdir(sockets) == []


def test_an_installed_unit_is_left_to_its_manager(tmp_path: Path, sockets: Path) -> None:
    workspace = locate.Workspace(str(tmp_path), {})
    locate.make(workspace)
    units = sockets / "systemd" / "user"
    (units / f"coordinatord@{workspace.instance}.service.d").mkdir(parents=True)
    result = coordctl(
        "inbox", "--json", cwd=tmp_path, XDG_CONFIG_HOME=str(sockets), XDG_RUNTIME_DIR=str(sockets)
    )
    assert result.returncode == 3
    assert f"coordinatord@{workspace.instance}" in _error(result)["data"]["hint"]
    assert os.listdir(tmp_path / ".coordinatord") == [".gitignore"]


def test_what_is_not_a_daemon_is_said_to_be_none(tmp_path: Path, sockets: Path) -> None:
    import socket
    import threading

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(sockets / "web.sock"))
    listener.listen()

    def answer() -> None:
        with listener.accept()[0] as stream:
            stream.recv(65536)
            stream.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    result = coordctl("inbox", "--json", "--socket", str(sockets / "web.sock"), cwd=tmp_path)
    listener.close()
    thread.join(5)
    assert result.returncode == 3
    assert _error(result)["data"]["reason"] == "no-daemon"


@pytest.mark.skipif(os.geteuid() != 0, reason="listens as another user")
def test_a_server_of_another_user_is_told_nothing(tmp_path: Path, sockets: Path) -> None:
    code = (
        "import os, socket, sys\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777)\n"
        "os.setuid(12345); s.listen(); print('ready', flush=True)\n"
        "c = s.accept()[0]; print(len(c.recv(100)), flush=True)"
    )
    path = str(sockets / "foreign.sock")
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        result = coordctl("inbox", "--json", "--socket", path, cwd=tmp_path)
        assert other.stdout.readline() == b"0\n"
    assert _error(result)["data"]["reason"] == "folder-unsafe"


# lost connections


def test_a_lost_connection_is_retried_once_with_the_same_key(toy: Start, tmp_path: Path) -> None:
    """D-40: one key per call, however often it is sent."""
    answers = iter((CLOSE, {"id": "q-9f3t8b2c"}))
    server = toy(lambda request: next(answers))
    result = coordctl(
        "ask", "--task", "t", "text", "--json", "--socket", str(server.path), cwd=tmp_path
    )
    assert (result.returncode, json.loads(result.stdout)) == (0, {"id": "q-9f3t8b2c"})
    first, second = (request["params"] for request in server.received)
    assert first == second
    assert len(first["key"]) >= 16


def test_two_calls_have_two_keys(toy: Start, tmp_path: Path) -> None:
    server = toy(lambda request: {"id": "q-9f3t8b2c"})
    for _ in range(2):
        coordctl("resolve", "q-9f3t8b2c", "--socket", str(server.path), cwd=tmp_path)
    keys = {request["params"]["key"] for request in server.received}
    assert len(keys) == 2


def test_lost_twice_is_uncertain_for_a_write_and_no_daemon_for_a_read(
    toy: Start, tmp_path: Path
) -> None:
    server = toy(lambda request: CLOSE)
    write = coordctl("resolve", "q-9f3t8b2c", "--json", "--socket", str(server.path), cwd=tmp_path)
    assert (write.returncode, _error(write)["data"]["reason"]) == (5, "uncertain")
    read = coordctl("inbox", "--json", "--socket", str(server.path), cwd=tmp_path)
    assert (read.returncode, _error(read)["data"]["reason"]) == (3, "no-daemon")
    assert len(server.received) == 4


def test_silence_is_bounded(toy: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G-5 (c), from the client's side: who accepts and never answers is not waited for for ever."""
    from coordctl import failures, transport

    monkeypatch.setattr(transport, "SILENCE_S", 0.05)
    server = toy(lambda request: SILENT)
    target = transport.Target({}, socket=str(server.path))
    with pytest.raises(failures.Failure) as caught:
        transport.call(target, "inbox.read", {})
    assert (caught.value.status, caught.value.unanswered) == (3, True)


def test_a_full_queue_is_bounded_too(sockets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped daemon stops accepting; then connecting itself must end."""
    import socket

    from coordctl import failures, transport

    monkeypatch.setattr(transport, "SILENCE_S", 0.1)
    path = str(sockets / "full.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(path)
        with pytest.raises(failures.Failure) as caught:
            transport.connect(transport.Target({}, socket=path))
        for each in waiting:
            each.close()
    assert (caught.value.reason, caught.value.unanswered) == ("no-daemon", True)


# streams


def test_a_reader_that_has_read_enough_is_no_error(toy: Start, tmp_path: Path) -> None:
    many = {**INBOX, "items": [{"id": f"q-{n:08}", "text": "x" * 100} for n in range(2000)]}
    server = toy(lambda request: many)
    command = f"{sys.executable} -m coordctl inbox --json | head -c 10; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=environment(COORDINATORD_SOCKET=str(server.path)),
        capture_output=True,
        check=True,
    )
    assert result.stderr == b""
    assert result.stdout.endswith(b"0\n")


def test_closed_streams_do_not_become_the_socket(toy: Start, tmp_path: Path) -> None:
    server = toy(lambda request: INBOX)
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        result = subprocess.run(
            ["bash", "-c", f"{sys.executable} -m coordctl inbox {closed}"],
            cwd=tmp_path,
            env=environment(COORDINATORD_SOCKET=str(server.path)),
            capture_output=True,
            check=False,
        )
        assert result.returncode == 0, (closed, result.stderr)
    assert len(server.received) == 4


def test_a_full_disk_is_said(toy: Start, tmp_path: Path) -> None:
    server = toy(lambda request: INBOX)
    for flags in ((), ("--json",)):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [sys.executable, "-m", "coordctl", "inbox", *flags],
                cwd=tmp_path,
                env=environment(COORDINATORD_SOCKET=str(server.path)),
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert result.returncode == 1
        assert b"No space left" in result.stderr
        assert b"Traceback" not in result.stderr


def test_odd_bytes_in_paths_are_shown_not_raised_about(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(odd)
    for locale in ("C", "C.UTF-8"):
        result = coordctl(b"-C", odd, "inbox", cwd=tmp_path, LC_ALL=locale)
        assert result.returncode == 3
        assert b"caf" in result.stderr
        assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("flag", ["-C", "--socket"])
def test_a_failure_shows_control_characters_and_obeys_none(flag: str, tmp_path: Path) -> None:
    """G-10: also in what a sentence quotes."""
    result = coordctl(flag, "/a\x1b]0;owned\x07\nb\u202ec", "inbox", cwd=tmp_path)
    assert result.returncode == 3
    assert b"/a\\x1b]0;owned\\x07\\nb\\u202ec" in result.stderr
    assert not set(result.stderr) & {0x1B, 0x07}


# watch


def _line(seq: int) -> dict[str, Any]:
    return {"seq": seq, "at": 1.0, "kind": "task", "id": "t-1h6v5w0z", "task": "t-1h6v5w0z"}


def test_a_watch_prints_each_line_once_and_resumes_after_it(toy: Start, tmp_path: Path) -> None:
    """A dropped or lost watch goes on from its cursor; ctrl+c ends it with 130."""
    answers = iter(
        (
            Notes({"since": 0, "seq": 2}, _line(1), _line(2), close=True),
            Refusal("slow-watcher"),
            Notes({"since": 2, "seq": 3}, _line(2), _line(3)),
        )
    )

    def respond(request: dict[str, Any]) -> Any:
        answer = next(answers)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    server = toy(respond)
    with subprocess.Popen(
        [sys.executable, "-m", "coordctl", "watch", "--json", "--since", "0"],
        cwd=tmp_path,
        env=environment(COORDINATORD_SOCKET=str(server.path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as watcher:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        seen = [json.loads(watcher.stdout.readline()) for _ in range(3)]
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(10) == 130
        assert watcher.stderr.read() == b""
    assert seen == [_line(1), _line(2), _line(3)]
    cursors = [each["params"]["since"] for each in server.received]
    assert cursors == [0, 2, 2]


def test_a_watch_from_beyond_the_end_goes_on_where_the_daemon_says(
    toy: Start, tmp_path: Path
) -> None:
    """The cursor may be of another database: one that was put back, or begun anew."""
    server = toy(lambda request: Notes({"since": 2, "seq": 2}, _line(3)))
    with subprocess.Popen(
        [sys.executable, "-m", "coordctl", "watch", "--json", "--since", "900"],
        cwd=tmp_path,
        env=environment(COORDINATORD_SOCKET=str(server.path)),
        stdout=subprocess.PIPE,
    ) as watcher:
        assert watcher.stdout is not None
        closer = threading.Timer(10, watcher.kill)
        closer.start()
        seen = watcher.stdout.readline()
        closer.cancel()
        watcher.kill()
    assert seen
    assert json.loads(seen) == _line(3)


def test_a_watch_that_is_refused_ends(toy: Start, tmp_path: Path) -> None:
    def respond(request: dict[str, Any]) -> Any:
        raise Refusal("not-allowed")

    result = coordctl("watch", "--json", "--socket", str(toy(respond).path), cwd=tmp_path)
    assert (result.returncode, _error(result)["data"]["reason"]) == (1, "not-allowed")


# panes, version, completion


def test_where_a_pane_goes_is_put_in_the_words_of_the_wire(toy: Start, tmp_path: Path) -> None:
    server = toy(lambda request: {"id": "w1:p3", "pane_id": "w1:p3"})
    result = coordctl(
        "pane", "open", "--split", "w1:p2", "down", "--cwd", "sub", "--key", "k",
        "--socket", str(server.path), "--", "sh", "-c", "x",
        cwd=tmp_path,
    )  # fmt: skip
    assert result.stdout == b"w1:p3 is open.\n"
    assert server.received[0]["params"] == {
        "split": "w1:p2",
        "direction": "down",
        "cwd": str(tmp_path / "sub"),
        "command": ["sh", "-c", "x"],
        "key": "k",
    }


def test_version(tmp_path: Path) -> None:
    assert coordctl("--version", cwd=tmp_path).stdout.decode() == f"coordctl {__version__}\n"
    assert json.loads(coordctl("version", "--json", cwd=tmp_path).stdout) == {
        "version": __version__
    }


def test_bash_completes_commands_flags_and_choices(tmp_path: Path) -> None:
    script = coordctl("completion", "bash", cwd=tmp_path).stdout.decode()
    (tmp_path / "completion").write_text(script)

    def completed(*words: str) -> list[str]:
        listed = " ".join(f"'{word}'" for word in words)
        code = (
            f"source ./completion; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _coordctl;"
            ' printf "%s\\n" "${COMPREPLY[@]}"'
        )
        found = subprocess.run(
            ["bash", "--norc", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert found.stderr == ""
        return found.stdout.split()

    assert completed("coordctl", "inb") == ["inbox"]
    assert completed("coordctl", "pane", "li") == ["list"]
    assert completed("coordctl", "ask", "--ta") == ["--task"]
    assert completed("coordctl", "report", "--outcome", "comp") == ["completed"]
    assert completed("coordctl", "completion", "fi") == ["fish"]
    assert "--brief-file" in completed("coordctl", "task", "new", "--brief")
    assert completed("coordctl", "--json", "wat") == ["watch"]
