"""A real shell in a real pseudo-terminal: typing, job control, floods, ends."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import threading
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from coordinatord.panehost.foreground import is_zombie
from coordinatord.panehost.pane import QUEUE_LIMIT, Pane, PaneClosed, QueueFull
from coordinatord.panehost.screen import Screen
from tests.panehost.watched_pane import BASH, PATIENCE_S, WatchedPane, running


async def test_a_shell_answers() -> None:
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.type("echo $((6*7))")
        await bash.until(lambda: bash.rows[-1] == "$" and len(bash.rows) > 1)
        assert bash.rows == ["$ echo $((6*7))", "42", "$"]


async def test_job_control_works() -> None:
    """The terminal is the shell's controlling one: ctrl+z, fg and ctrl+c reach the right group."""
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.type("echo re''ady; cat")
        await bash.until_row("ready")
        bash.type("one")
        await bash.until_row("one", 2)
        front = await bash.foreground()
        assert [program.name for program in front.programs] == ["cat"]
        assert front.group == front.programs[0].pid != bash.pane.shell_pid

        bash.pane.write(b"\x1a")
        await bash.until_shown("Stopped")
        await bash.until(lambda: bash.rows[-1] == "$")
        assert (await bash.foreground()).group == bash.pane.shell_pid

        bash.type("fg")
        await bash.until_row("cat")
        bash.type("two")
        await bash.until_row("two", 2)
        bash.pane.write(b"\x03")
        await bash.until(lambda: bash.rows[-1] == "$")
        bash.type("echo code=$?")
        await bash.until_row("code=130")


async def test_paste_is_wrapped_only_while_the_application_asks_for_it() -> None:
    """herdr-protocol.md §2.4: the mode at the moment of writing decides; readline sets it."""
    bash = WatchedPane()
    async with running(bash):
        await bash.until(lambda: bash.pane.screen.bracketed_paste)
        assert bash.pane.paste("a\nb") == b"\x1b[200~a\nb\x1b[201~"
        bash.type("echo re''ady; cat")
        await bash.until_row("ready")
        bash.type("in cat")
        await bash.until_row("in cat", 2)
        assert bash.pane.paste("a\nb") == b"a\nb"
        bash.pane.write(b"\x04")
        await bash.until(lambda: bash.pane.screen.bracketed_paste)
        bash.pane.write(bash.pane.paste("echo 1\necho 2"))
        await bash.until_shown("echo 2")
        assert "1" not in bash.rows


async def test_a_paste_end_in_the_text_is_left_there() -> None:
    """The host takes nothing out; what types must (recordings: ESC[201~ breaks out)."""
    bash = WatchedPane()
    async with running(bash):
        await bash.until(lambda: bash.pane.screen.bracketed_paste)
        assert bash.pane.paste("a\x1b[201~b") == b"\x1b[200~a\x1b[201~b\x1b[201~"


@pytest.mark.parametrize(
    ("typed", "status"),
    [(b"exit 3\r", 3), (b"\x04", 0), (b"kill -9 $$\r", -9), (b"exec true\r", 0)],
)
async def test_the_status_of_the_shell_is_told_once(typed: bytes, status: int) -> None:
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.pane.write(typed)
        assert await bash.until_exit() == status
        with pytest.raises(PaneClosed):
            bash.pane.write(b"x")
    assert bash.exits == [status]


async def test_what_the_shell_wrote_last_is_shown() -> None:
    bash = WatchedPane(("/bin/sh", "-c", "seq 1 2000; printf 'last words'; exit 7"))
    async with running(bash):
        assert await bash.until_exit() == 7
    assert bash.rows[-1] == "last words"


async def test_a_program_that_does_not_exist_ends_with_127() -> None:
    missing = WatchedPane(("/no/such/program",))
    async with running(missing):
        assert await missing.until_exit() == 127


async def test_a_terminal_closed_by_its_shell_is_no_end_yet(tmp_path: Path) -> None:
    fifo = tmp_path / "closed"
    os.mkfifo(fifo)
    script = f"exec </dev/null >/dev/null 2>&1; echo closed >{fifo}; exec sleep 1000"
    quiet = WatchedPane(("/bin/sh", "-c", script))
    async with running(quiet):
        with anyio.fail_after(PATIENCE_S):
            assert await anyio.Path(fifo).read_text() == "closed\n"
        await anyio.wait_all_tasks_blocked()
        assert quiet.exits == []
        quiet.pane.write(b"nobody reads this")
    assert quiet.exits == [-signal.SIGHUP]


async def test_a_background_child_does_not_hold_the_pane() -> None:
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.type("sleep 1000 & echo child=$!.")
        await bash.until(lambda: any(re.fullmatch(r"child=\d+\.", row) for row in bash.rows))
        child = int(next(row for row in bash.rows if row.startswith("child="))[6:-1])
        bash.type("disown -a; exit 5")
        assert await bash.until_exit() == 5
        assert psutil.pid_exists(child)
        os.kill(child, signal.SIGKILL)


async def test_close_ends_the_whole_session() -> None:
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.type("sleep 1000 & echo child=$!.")
        await bash.until(lambda: any(re.fullmatch(r"child=\d+\.", row) for row in bash.rows))
        child = int(next(row for row in bash.rows if row.startswith("child="))[6:-1])
        await bash.pane.close()
        await bash.until_exit()
        assert await anyio.to_thread.run_sync(is_zombie, child)
        await bash.pane.close()
    assert bash.exits == [-signal.SIGHUP]


async def test_close_ends_what_ignores_polite_signals() -> None:
    stubborn = WatchedPane(
        ("/bin/sh", "-c", "trap '' HUP TERM INT; echo ready; while :; do sleep 1000; done")
    )
    async with running(stubborn):
        await stubborn.until_row("ready")
        await stubborn.pane.close()
        assert await stubborn.until_exit() == -signal.SIGKILL


async def test_a_pane_that_was_never_run_can_be_closed() -> None:
    bash = WatchedPane()
    with anyio.fail_after(PATIENCE_S):
        await bash.pane.close()
    assert await anyio.to_thread.run_sync(is_zombie, bash.pane.shell_pid)
    with pytest.raises(PaneClosed):
        bash.pane.write(b"x")


async def test_the_queue_has_an_end_and_keeps_its_order() -> None:
    """herdr-protocol.md §2.4: 1024 writes wait, the next one fails, none blocks."""
    cat = WatchedPane(("/bin/sh", "-c", "stty raw -echo; echo go; exec cat"), rows=50)
    for number in range(QUEUE_LIMIT):
        cat.pane.write(b"%d," % number)
    with pytest.raises(QueueFull):
        cat.pane.write(b"one too many")

    def shown() -> str:
        return cat.pane.screen.text("recent_unwrapped", 1000, False)[0]

    async with running(cat):
        # unwrapped: what was echoed before `stty` moves where the rows break
        await cat.until(lambda: f"{QUEUE_LIMIT - 1}," in shown())
        assert ",".join(str(number) for number in range(QUEUE_LIMIT)) in shown()
        assert "many" not in shown()


async def test_a_write_larger_than_the_terminals_buffer_arrives_whole() -> None:
    typed = b"0123456789" * 30_000
    script = "stty raw -echo; echo go; head -c 300000 | sha256sum; read x"
    hashing = WatchedPane(("/bin/sh", "-c", script), columns=120)
    async with running(hashing):
        await hashing.until_row("go")
        hashing.pane.write(typed)
        await hashing.until_shown(hashlib.sha256(typed).hexdigest())


async def test_a_flood_arrives_whole_while_another_pane_answers() -> None:
    """Ten megabytes: the other pane has its answers before the flood is over."""
    flood = WatchedPane(("/bin/sh", "-c", "read go; seq 1 1300000; echo done"))
    other = WatchedPane(("/bin/cat",))
    answered_before_end = 0
    async with running(flood, other):
        flood.type("go")
        for number in range(20):
            other.type(f"ping {number}")
            await other.until(lambda row=f"ping {number}": other.rows.count(row) == 2)  # type: ignore[misc]
            answered_before_end += not flood.exits
        await flood.until_exit()
        tail = flood.pane.screen.text("recent", 1000, False)[0].splitlines()
        assert tail == [*(str(number) for number in range(1299003, 1300001)), "done"]
    assert answered_before_end > 0


async def test_an_endless_flood_starves_nobody_and_can_be_stopped() -> None:
    flood, other = WatchedPane(), WatchedPane(("/bin/cat",))
    async with running(flood, other):
        await flood.until_row("$")
        flood.type("yes")
        await flood.until_row("y", 20)
        for number in range(50):
            before = flood.outputs
            other.type(f"ping {number}")
            await other.until(lambda row=f"ping {number}": other.rows.count(row) == 2)  # type: ignore[misc]
            await flood.until(lambda before=before: flood.outputs > before)  # type: ignore[misc]
        flood.pane.write(b"\x03")
        await flood.until(lambda: flood.rows[-1].endswith("$"))


async def test_what_takes_long_is_drawn_in_small_pieces() -> None:
    """Each piece holds up everybody: output can be made so that a kilobyte takes a tenth of a second."""
    one = WatchedPane()
    pane = one.pane
    usual = pane._step
    for _ in range(20):
        pane._pace(1.0)
    assert pane._step == 64
    for _ in range(20):
        pane._pace(0.0)
    assert pane._step == usual
    await pane.close()


async def test_a_flood_of_resets_starves_nobody() -> None:
    """Bytes that cost the most: each pair clears everything."""
    program = "read go; yes \"$(printf '\\033c\\033#8')\" | head -c 200000; printf '\\033cdone'"
    flood, other = WatchedPane(("/bin/sh", "-c", program)), WatchedPane(("/bin/cat",))
    async with running(flood, other):
        flood.type("go")
        answered = 0
        while not flood.exits:
            other.type(f"ping {answered}")
            row = f"ping {answered}"
            await other.until(lambda row=row: other.rows.count(row) == 2)  # type: ignore[misc]
            answered += 1
        assert flood.rows == ["done"]
    assert answered > 10


async def test_questions_of_the_application_are_answered() -> None:
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.type(r"clear; printf '\e[6n'; IFS= read -rsdR at; echo at=${at#*[}")
        await bash.until_shown("at=1;1")


async def test_the_application_learns_a_new_size() -> None:
    bash = WatchedPane(columns=81, rows=25)
    async with running(bash):
        await bash.until_row("$")
        bash.type("stty size")
        await bash.until_row("25 81")
        bash.type("trap 'echo changed' WINCH; clear; echo set")
        await bash.until_row("set")
        bash.pane.resize(100, 30)
        bash.type("stty size")
        await bash.until_row("30 100")
        await bash.until_shown("changed")
        bash.pane.resize(0, 0)
        assert (bash.pane.screen.columns, bash.pane.screen.rows) == (2, 1)


async def test_resizing_a_pane_that_ended_is_harmless() -> None:
    gone = WatchedPane(("/bin/true",))
    async with running(gone):
        await gone.until_exit()
    gone.pane.resize(50, 10)
    assert gone.pane.foreground().group is None


async def test_the_folder_and_the_environment_are_the_given_ones(tmp_path: Path) -> None:
    bash = WatchedPane(cwd=str(tmp_path), env={"MARK": "a  b\u00e9"})
    async with running(bash):
        await bash.until_row("$")
        bash.type('clear; [ "$PWD" -ef . ] && echo "$MARK" ${OLDPWD-none}')
        await bash.until_row("a  b\u00e9 none")
        assert (await bash.foreground()).programs[0].cwd == str(tmp_path)


async def test_a_folder_that_is_gone_becomes_home(tmp_path: Path) -> None:
    """recordings 02: a ``cwd`` that does not exist is no error."""
    bash = WatchedPane(cwd="/no/such/folder", env={"HOME": str(tmp_path)})
    async with running(bash):
        await bash.until_row("$")
        assert (await bash.foreground()).programs[0].cwd == str(tmp_path)


async def test_no_descriptor_of_the_host_reaches_the_shell() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        listing = WatchedPane(("/bin/sh", "-c", "ls -C /proc/self/fd; read x"))
        async with running(listing):
            await listing.until_row("0  1  2  3")
    finally:
        os.close(reading)
        os.close(writing)


async def test_signals_are_the_shells_own() -> None:
    """Python ignores SIGPIPE and the host may block more; a shell must not inherit that."""
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGUSR1})
    try:
        status = WatchedPane(("/bin/sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status; read x"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    async with running(status):
        await status.until(lambda: len(status.rows) == 2)
        blocked, ignored = (int(row.split()[1], 16) for row in status.rows)
        assert blocked == 0
        assert ignored & 0x7FFFFFFF == 0, "above 31 are the C library's own"


async def test_spawning_beside_threads_warns_of_nothing() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        short = WatchedPane(("/bin/true",))
        async with running(short):
            assert await short.until_exit() == 0
    finally:
        release.set()
        thread.join()


async def test_cancelling_run_closes_the_terminal() -> None:
    bash = WatchedPane(("/bin/sleep", "1000"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bash.pane.run)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert bash.exits == []
    with pytest.raises(PaneClosed):
        bash.pane.write(b"x")
    with anyio.fail_after(PATIENCE_S):
        assert await bash.pane._pty.wait_exit() == -signal.SIGHUP


async def test_a_viewer_sees_what_stands_and_what_comes() -> None:
    bash = WatchedPane()
    viewer = Screen(80, 24)

    def show(piece: bytes) -> None:
        viewer.feed(piece)

    async with running(bash):
        await bash.until_row("$")
        bash.type("echo be''fore")
        await bash.until_row("before")
        viewer.feed(bash.pane.redraw())
        remove = bash.pane.tap(show)
        bash.type("echo af''ter")
        await bash.until_row("after")
        await bash.until(lambda: bash.rows[-1] == "$")
        assert viewer.text("visible", None, True) == bash.pane.screen.text("visible", None, True)
        assert viewer.bracketed_paste == bash.pane.screen.bracketed_paste
        remove()
        remove()
        bash.type("echo un''seen")
        await bash.until_row("unseen")
        assert "unseen" not in viewer.text("visible", None, False)[0]


async def test_no_descriptor_is_left_behind() -> None:
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        short = WatchedPane(("/bin/true",))
        async with running(short):
            await short.until_exit()
    with pytest.raises(OSError, match=r"too long|E2BIG|No such"):
        Pane.spawn(
            argv=["/bin/sh", "x" * 4_000_000],
            cwd="/",
            env={},
            columns=80,
            rows=24,
            on_output=lambda: None,
            on_exit=lambda _: None,
        )
    assert len(os.listdir("/dev/fd")) == before


def test_the_default_shell_of_these_tests_is_there() -> None:
    assert os.access(BASH[0], os.X_OK)
