"""Tool panes with real processes: waiting, limits, deaths, floods.

Source: delegation-tools-loops.md §4.3.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from coordctl import transport
from coordctl.demo.stage import Stage
from tests.stories.tool_shells import COORDCTL, Call, ToolShop

MIB = 1 << 20


@pytest.fixture
def shop(stage: Stage) -> ToolShop:
    """A caller in a pane with bash."""
    return ToolShop(stage, "bash")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "", "--", "true"), "label"),
        (("run", "a\tb", "--", "true"), "label"),
        (("run", "x", "true"), "true"),
        (("run", "x", "--"), "command"),
        (("run", "x", "--", ""), "command"),
        (("run", "x", "--direction", "up", "--", "true"), "direction"),
        (("run", "x", "--timeout-ms", "0", "--", "true"), "timeout_ms"),
        (("run", "x", "--timeout-ms", "soon", "--", "true"), "whole number"),
        (("run",), "LABEL"),
    ],
)
def test_refused_before_any_pane_exists(shop: ToolShop, words: tuple[str, ...], says: str) -> None:
    """§4.1: usage is checked first; every failure of our own is 125."""
    call = shop.call(*words)
    assert call.status == 125
    assert says in call.error
    assert len(shop.panes()) == 1
    assert shop.listed() == []


def test_who_is_in_no_pane_is_refused(shop: ToolShop) -> None:
    """§4.1: a missing caller is an error, not the focused pane."""
    with pytest.raises(transport.Failure) as refusal:
        shop.stage.act("tool.run", label="x", command=["true"])
    assert refusal.value.reason == "no-pane"
    assert len(shop.panes()) == 1


def test_the_caller_s_folder_and_environment_count_on_a_reused_pane_too(shop: ToolShop) -> None:
    """The command runs where and as the caller is, byte for byte; the pane's own marks stay."""
    assert shop.run("env", "true").status == 0
    folder = shop.stage.root / "sub folder"
    folder.mkdir()
    script = shop.stage.props / "with-env.py"
    script.write_text(
        "import os,sys\n"
        "env = {**os.environb, b'ODD': b'\\xff\\n=x', b'LINES': b'1', b'HERDR_AGENT': b'codex'}\n"
        f"os.chdir({str(folder)!r})\n"
        f"os.execve(sys.executable, [sys.executable, '-m', 'coordctl', 'tool', 'run', 'env', '--',"
        " 'pwd;"
        " printenv ODD | od -An -tx1; printenv LINES HERDR_AGENT; echo $HERDR_PANE_ID'], env)\n"
    )
    out = shop.stage.props / "env.out"
    python = shlex.quote(sys.executable)
    shop.stage.act("pane.send", pane=shop.pane, text=f"{python} {script} > {out}", enter=True)
    shop.until("it has ended", lambda: out.exists() and out.read_text().endswith("}\n"))
    result = json.loads(out.read_text())
    assert result["reused"] is True
    lines = result["output_tail"].splitlines()
    assert lines == [str(folder), " ff 0a 3d 78 0a", result["pane_id"]]


def test_runs_of_one_label_wait_in_line_and_never_meet(shop: ToolShop) -> None:
    """D-39: a second run while the first runs is not typed there; first come, first served."""
    order = shop.stage.root / "order"
    first = shop.run("line", f"read x; echo 1 >> {order}")
    pane = shop.running("line")["pane_id"]
    later = []
    for number in (2, 3):
        later.append(shop.run("line", f"echo {number} >> {order}"))
        shop.until("it waits", lambda n=number: len(shop.listed()) == n)
    assert [run["state"] for run in shop.listed()] == ["running", "waiting", "waiting"]
    shop.press(pane, "go\r")
    assert [call.status for call in (first, *later)] == [0, 0, 0]
    assert order.read_text().split() == ["1", "2", "3"]
    assert [call.result["reused"] for call in (first, *later)] == [False, True, True]
    assert len(shop.panes("line")) == 1


def test_past_its_limit_a_command_goes_on_and_its_pane_is_left_alone(shop: ToolShop) -> None:
    """D-39: timed out is true, null, 124 and a living pane; the next run gets another one."""
    slow = shop.run("slow", "echo begun; read x; exit 4", flags=("--timeout-ms", "1500"))
    assert slow.status == 124
    result = slow.result
    assert (result["timed_out"], result["exit_code"], result["error"]) == (True, None, None)
    assert "begun" in result["output_tail"]
    assert f"coordctl tool result {result['run_id']} --wait" in slow.error
    other = shop.run("slow", "true")
    assert (other.status, other.result["reused"]) == (0, False)
    assert other.result["pane_id"] != result["pane_id"]
    shop.press(result["pane_id"], "y\r")
    final = shop.stage.act("tool.result", run=result["run_id"], wait=True)
    assert (final["exit_code"], final["timed_out"]) == (4, True)
    assert len(shop.panes("slow")) == 2


def test_a_limit_counts_while_waiting_in_line(shop: ToolShop) -> None:
    """§4.3: what was given up before its turn never starts."""
    mark = shop.stage.root / "mark"
    first = shop.run("queue", "read x")
    pane = shop.running("queue")["pane_id"]
    second = shop.run("queue", f"touch {mark}", flags=("--timeout-ms", "700"))
    assert second.status == 124
    assert second.result["pane_id"] is None
    assert second.result["error"] == "not-started"
    shop.press(pane, "y\r")
    assert first.status == 0
    assert shop.run("queue", "true").status == 0
    assert not mark.exists()


def test_new_opens_another_pane_that_is_used_from_then_on(shop: ToolShop) -> None:
    """§4.1: --new; the newest pane has the claim."""
    old = shop.run("twice", "true").result["pane_id"]
    fresh = shop.run("twice", "true", flags=("--new",)).result
    assert (fresh["reused"], fresh["pane_id"] == old) == (False, False)
    again = shop.run("twice", "true").result
    assert (again["reused"], again["pane_id"]) == (True, fresh["pane_id"])


def test_a_foreign_a_renamed_and_a_busy_pane_are_not_used(shop: ToolShop) -> None:
    """§4.1: only an idle pane of ours with exactly this label is typed into."""
    foreign = shop.stage.act("pane.open", label="Tool · mine", cwd=str(shop.stage.root))
    first = shop.run("mine", "true").result
    assert (first["reused"], first["pane_id"] == foreign["pane_id"]) == (False, False)
    shop.stage.act("pane.send", pane=first["pane_id"], text="cat", enter=True)
    shop.until("cat is there", lambda: shop.screen(first["pane_id"]).rstrip().endswith("cat"))
    second = shop.run("mine", "true").result
    assert second["reused"] is False
    assert shop.run("Mine", "true").result["reused"] is False
    assert shop.run("mine", "true").result["pane_id"] == second["pane_id"]
    assert "coordinatord" not in shop.screen(first["pane_id"]).rpartition("cat")[2]


def test_a_closed_pane_and_a_killed_runner_end_their_runs(shop: ToolShop) -> None:
    """§4.3: null, an error that says which, and the output so far."""
    closed = shop.run("shut", "echo before; sleep 300")
    pane = shop.running("shut")["pane_id"]
    shop.until("it wrote", lambda: "before" in shop.screen(pane))
    shop.stage.act("pane.close", pane=pane)
    assert closed.status == 125
    result = closed.result
    assert (result["error"], result["exit_code"], result["timed_out"]) == (
        "pane-closed",
        None,
        False,
    )
    assert result["output_tail"] == "before\n"
    assert "pane-closed" in closed.error

    killed = shop.run("shot", "echo before; echo $PPID; sleep 300")
    pane = shop.running("shot")["pane_id"]
    shop.until("it wrote", lambda: len(shop.screen(pane).split("before")) > 1)
    run = shop.running("shot")["id"]
    lines = shop.stage.call("tool.tail", run=run)["text"].split()
    os.kill(int(lines[1]), signal.SIGKILL)
    assert (killed.status, killed.result["error"]) == (125, "orphaned")
    assert killed.result["output_tail"].startswith("before\n")


def test_a_shell_that_dies_under_its_run_is_a_closed_pane(shop: ToolShop) -> None:
    """§4.3: null, an error that says so, and the output so far."""
    call = shop.run("fallen", "echo $PPID; sleep 300")
    run = shop.running("fallen")

    def runner() -> str:
        return str(shop.stage.call("tool.tail", run=run["id"])["text"]).strip()

    pid = int(shop.until("it wrote", runner))
    os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
    assert (call.status, call.result["exit_code"]) == (125, None)
    assert (call.result["error"], call.result["output_tail"]) == ("pane-closed", f"{pid}\n")
    shop.until("nothing of it is left", lambda: Stage.gone(pid))
    assert shop.run("fallen", "true").result["reused"] is False


def test_a_host_that_dies_ends_its_runs(shop: ToolShop) -> None:
    """The pane host is killed: the run has an end that says so, with the output so far."""
    call = shop.run("fallen", "echo before; sleep 300", flags=("--no-wait",))
    run = call.result["run_id"]
    shop.until("it wrote", lambda: shop.stage.call("tool.tail", run=run)["text"] == "before\n")
    (host,) = (
        each
        for each in psutil.process_iter(["cmdline"])
        if "coordinatord.panehost" in (each.info["cmdline"] or ())
        and str(shop.stage.root) in each.info["cmdline"]
    )
    host.kill()
    result = shop.stage.act("tool.result", run=run, wait=True)
    assert (result["error"], result["exit_code"]) == ("pane-closed", None)
    assert result["output_tail"] == "before\n"


def test_a_client_that_goes_away_cancels_nothing(shop: ToolShop) -> None:
    """§4.3: the run goes on, its result is kept."""
    shop.run("alone", "read x; exit 6")
    run = shop.running("alone")
    (client,) = (
        each for each in psutil.process_iter(["cmdline"]) if "alone" in (each.info["cmdline"] or ())
    )
    client.kill()
    shop.until("the client is gone", lambda: Stage.gone(client.pid))
    shop.press(run["pane_id"], "y\r")

    def ended() -> Any:
        found = shop.stage.act("tool.result", run=run["id"])
        return found if found["state"] == "ended" else None

    assert shop.until("it ends", ended)["exit_code"] == 6


def test_a_killed_daemon_finds_the_run_again(shop: ToolShop) -> None:
    """§4.3, D-40: the runner goes on and reports to the next daemon; the client is answered."""
    call = shop.run("lasting", "echo one; read x; echo two; exit 5")
    run = shop.running("lasting")
    shop.stage.kill_daemon()
    shop.press(run["pane_id"], "y\r")  # starts the daemon again, if the client has not
    assert call.status == 5
    assert call.result["run_id"] == run["id"]
    assert call.result["output_tail"] == "one\ny\ntwo\n"
    assert len(shop.listed()) == 1


def test_a_daemon_that_is_stopped_lets_its_callers_go(shop: ToolShop) -> None:
    """A stop on purpose is not undone by who waits; the run goes on, its result is kept."""
    call = shop.run("stopped", "read x; exit 5")
    run = shop.running("stopped")
    pid = shop.stage.call("daemon.status")["pid"]
    shop.stage.act("daemon.stop")
    shop.until("it has ended", lambda: Stage.gone(pid))
    assert call.status == 125
    assert "No daemon answers" in call.error
    assert shop.listed()[0]["state"] == "running"
    shop.press(run["pane_id"], "y\r")
    assert shop.stage.act("tool.result", run=run["id"], wait=True)["exit_code"] == 5


def test_a_status_is_held_until_a_daemon_takes_it(shop: ToolShop) -> None:
    """The command ends while no daemon runs: nothing is lost."""
    go = shop.stage.root / "go"
    call = shop.run(
        "held", f"until test -e {go}; do sleep 0.05; done; exit 8", flags=("--no-wait",)
    )
    run = call.result["run_id"]
    shop.until("it runs", lambda: shop.running("held")["id"] == run)
    shop.stage.kill_daemon()
    go.touch()
    status = shop.stage.root / ".coordinatord" / "runs" / f"{run}.status"
    shop.until("the runner waits", status.exists)
    result = shop.stage.act("tool.result", run=run, wait=True)
    assert (result["exit_code"], result["error"]) == (8, None)
    shop.until("the file is gone", lambda: not status.exists())
    again = shop.run("held", "true")
    assert (again.status, again.result["reused"]) == (0, True)


def test_a_flood_is_bounded_and_holds_up_nobody(shop: ToolShop) -> None:
    """D-39: 20 MB and 200 000 lines give the right code and a bounded tail; others are served."""
    flood = "seq 1 200000; head -c 20000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo last"
    flood += "; exit 11"
    call = shop.run("flood", flood)
    shop.running("flood")
    assert shop.run("calm", "true").status == 0
    assert call.status == 11
    result = call.result
    assert result["truncated"] is True
    assert len(result["output_tail"].encode()) <= 64 << 10
    assert result["output_tail"].endswith("x\nlast\n")
    log = Path(result["log"])
    assert 8 * MIB < log.stat().st_size <= 17 * MIB
    content = log.read_bytes()
    assert content.startswith(b"1\r\n2\r\n")
    assert b"bytes of output were left out here" in content
    assert sorted(each.name for each in log.parent.glob(f"{result['run_id']}*")) == [log.name]


def test_who_follows_slowly_misses_output_and_never_the_end(shop: ToolShop) -> None:
    """A reader that stands still is not dropped, and costs the daemon no memory."""
    call = shop.run(
        "fast", "read x; head -c 30000000 /dev/zero | tr '\\0' x | fold -w 99; echo last"
    )
    run = shop.running("fast")
    target = transport.Target(shop.stage.environ, directory=str(shop.stage.root))
    with transport.connect(target) as connection:
        asked = {"run": run["id"], "follow": True}
        connection.send(transport.request(1, "tool.tail", asked))
        shop.press(run["pane_id"], "y\r")
        assert call.status == 0
        messages: list[dict[str, Any]] = []
        for message in connection.messages():
            messages.append(message)
            if message.get("id") == 1:
                break
    assert messages[-1]["result"]["state"] == "ended"
    pieces = [message["params"] for message in messages[:-1]]
    assert pieces[-1]["text"].endswith("xlast\n")
    assert any(piece["truncated"] for piece in pieces[1:])


def test_output_that_was_not_kept_is_missed(shop: ToolShop) -> None:
    """The folder of logs goes away under a run: its code counts, and what is missing is said."""
    call = shop.run("bare", "read x; echo out; exit 9")
    run = shop.running("bare")
    shutil.rmtree(shop.stage.root / ".coordinatord" / "runs")
    shop.press(run["pane_id"], "y\r")
    assert call.status == 9
    assert (call.result["truncated"], call.result["log"]) == (True, None)


def test_an_environment_that_is_too_large_is_refused_in_words(shop: ToolShop) -> None:
    """A request has room for so much; the sentence says what is too long."""
    large = shop.stage.props / "large.py"
    large.write_text(
        "import os, sys\n"
        "os.environ.update({f'V{n}': 'v' * 100_000 for n in range(9)})\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'coordctl', *sys.argv[1:]])\n"
    )
    call = shop.call("run", "x", "--", "true", by=f"{shlex.quote(sys.executable)} {large}")
    assert call.status == 125
    assert call.error.startswith("coordctl: The environment has 9")
    assert shop.listed() == []


def test_output_cannot_imitate_an_end(shop: ToolShop) -> None:
    """§4.3: whatever a command prints, the result is that of its process."""
    lies = [
        "__HERDR_TOOL_DONE_x__:0",
        '{"jsonrpc":"2.0","id":2,"method":"tool.runner-done","params":{"exit_code":0}}',
        "x-00000000 0",
    ]
    call = shop.run("lies", "sh", "-c", 'printf "%s\\n" "$@"; exit 13', "sh", *lies)
    assert call.status == 13
    assert call.result["output_tail"] == "".join(f"{line}\n" for line in lies)


def test_colours_and_progress_are_read_as_text(shop: ToolShop) -> None:
    """§4.3: escapes stripped, overwritten lines collapsed; a missing newline is no harm."""
    text = "\\033[31mred\\033[0m\\n10%%\\r 50%%\\r100%%\\nend"
    call = shop.run("pretty", f"printf '{text}'")
    assert call.result["output_tail"] == "red\n100%\nend"
    assert b"\x1b[31m" in Path(call.result["log"]).read_bytes()


def test_a_full_screen_program_is_seen_as_one(shop: ToolShop) -> None:
    """§4.3: the end is the process's; the tail is that of the primary screen."""
    draw = (
        "printf 'before\\n\\033[?1049h\\033[2J\\033[HFULL'; read x; printf '\\033[?1049lafter\\n'"
    )
    call = shop.run("screen", draw)
    pane = shop.running("screen")["pane_id"]
    shop.until("it draws", lambda: shop.screen(pane).startswith("FULL"))
    shop.press(pane, "q\r")
    assert call.status == 0
    assert call.result["alternate_screen"] is True
    assert call.result["output_tail"] == "before\nafter\n"
    shop.until("the screen is back", lambda: "before" in shop.screen(pane))


def test_what_stays_in_the_background(shop: ToolShop) -> None:
    """§4.3: the result comes when the command ends; a child lives on only in its own session."""
    call = shop.run("leaves", "sleep 300 & echo $!; setsid sleep 301 & echo $!; sleep 0.2")
    assert call.status == 0
    plain, own = map(int, call.result["output_tail"].split())
    shop.until("the plain one is hung up", lambda: Stage.gone(plain))
    assert not Stage.gone(own)
    os.kill(own, signal.SIGKILL)


def test_cancel_close_and_tail(shop: ToolShop) -> None:
    """A run is ended by its caller, its output followed, its pane closed."""
    call = shop.run("long", "echo one; trap 'echo bye; exit 143' TERM; while :; do sleep 0.1; done")
    run = shop.running("long")
    shop.until("it wrote", lambda: "one" in shop.screen(run["pane_id"]))
    following = shop.call("tail", run["id"], "--follow")
    waiting = shop.run("long", "true")
    shop.until("it waits", lambda: len(shop.listed()) == 2)
    second = shop.listed()[1]["id"]
    assert shop.call("cancel", second, "--json").result["error"] == "cancelled"
    assert waiting.status == 125
    assert shop.call("cancel", run["id"], "--json").result["exit_code"] == 143
    assert (call.status, call.result["error"]) == (143, "cancelled")
    assert following.status == 0
    followed = (shop.stage.props / f"{following._files.name}.out").read_text()
    assert followed.startswith("one\n")
    assert followed.endswith("bye\n")
    assert shop.call("close", "long").status == 0
    assert shop.panes("long") == []
    assert shop.call("close", "long").status == 1


def test_the_pane_s_size_is_the_command_s(shop: ToolShop) -> None:
    """§4.4, B: the right size from the start."""
    call = shop.run("size", "stty size; tty >/dev/null && echo tty")
    rows, columns = call.result["output_tail"].split()[:2]
    assert int(rows) > 1
    assert int(columns) > 1


def test_fifty_runs_over_ten_labels(shop: ToolShop) -> None:
    """Each result belongs to its run, one pane serves a label, and the focus never moves."""
    focus = [pane["pane_id"] for pane in shop.panes() if pane["focused"]]
    moved = _Events(shop.stage, ["pane.focused", "tab.focused", "workspace.focused"])
    shop.stage.act("pane.send", pane=shop.pane, text="set +m", enter=True)
    calls: dict[tuple[int, int], Call] = {}
    for label in range(10):
        calls[label, 0] = shop.run(
            f"l{label}", f"echo {label}-0; exit {label}", flags=("--direction", "down")
        )
        assert calls[label, 0].status == label
    for number in range(1, 5):
        for label in range(10):
            code = number * 10 + label
            calls[label, number] = shop.run(f"l{label}", f"echo {label}-{number}; exit {code}")
    panes = {label: calls[label, 0].result["pane_id"] for label in range(10)}
    for (label, number), call in calls.items():
        assert call.status == number * 10 + label
        assert call.result["output_tail"] == f"{label}-{number}\n"
        assert call.result["pane_id"] == panes[label]
        assert call.result["reused"] is (number > 0)
    assert len(shop.panes()) == 11
    assert [pane["pane_id"] for pane in shop.panes() if pane["focused"]] == focus
    assert moved.seen() == []


def test_on_a_terminal_the_wait_is_shown_and_the_result_told(shop: ToolShop) -> None:
    """Elapsed time and the last line while it runs; then the output and how it ended."""
    command = f"{COORDCTL} tool run shown -- 'echo working hard; read x; exit 3'; echo code=$?"
    shop.stage.act("pane.send", pane=shop.pane, text=command, enter=True)
    run = shop.running("shown")
    shop.until("progress", lambda: f"{run['id']} 1 s  working hard" in shop.screen(shop.pane))
    shop.press(run["pane_id"], "y\r")
    shop.until("it is told", lambda: "code=3" in shop.screen(shop.pane))
    told = shop.screen(shop.pane)
    assert f"{run['id']} in {run['pane_id']}: exit code 3" in told
    assert "working hard" in told
    assert f"{run['id']} 1 s" not in told


class _Events:
    """What the terminal host announces about focus, heard on its own socket."""

    def __init__(self, stage: Stage, kinds: list[str]) -> None:
        import socket

        path = stage.call("daemon.status")["terminal"]["socket"]
        self._stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._stream.connect(path)
        params = {"subscriptions": [{"type": kind} for kind in kinds]}
        line = {"id": "1", "method": "events.subscribe", "params": params}
        self._stream.sendall(json.dumps(line).encode() + b"\n")
        self._reader = self._stream.makefile("rb")
        assert b"error" not in self._reader.readline()
        self._lines: list[str] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        for line in self._reader:
            self._lines.append(line.decode())

    def seen(self) -> list[str]:
        """All events so far; no more are heard."""
        import socket

        self._stream.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._reader.close()
        self._stream.close()
        return self._lines
