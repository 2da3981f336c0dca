"""Facts about the programs in front of a pane."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from coordinatord.panehost.foreground import (
    ForegroundFacts,
    agent_variable,
    foreground_of,
    group_members,
    program_facts,
    session_members,
)
from tests.panehost.watched_pane import WatchedPane, running


async def test_a_shell_at_its_prompt_is_in_front() -> None:
    """herdr-protocol.md §2.4, pane.process_info."""
    bash = WatchedPane(cwd="/tmp")
    async with running(bash):
        await bash.until_row("$")
        front = await bash.foreground()
        assert front.shell_pid == front.group == bash.pane.shell_pid
        [shell] = front.programs
        assert (shell.pid, shell.name, shell.cwd) == (front.shell_pid, "bash", "/tmp")
        assert shell.argv == ("/bin/bash", "--norc", "--noprofile")
        assert shell.argv0 == "/bin/bash"
        assert shell.cmdline == "/bin/bash --norc --noprofile"


async def test_a_pipeline_in_front_is_all_its_programs() -> None:
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.type("echo re''ady; cat | cat -u")
        await bash.until_row("ready")
        bash.type("mark")
        await bash.until_row("mark", 2)
        front = await bash.foreground()
        assert [program.argv for program in front.programs] == [("cat",), ("cat", "-u")]
        assert front.programs[0].pid == front.group


async def test_a_script_is_named_like_its_file_and_tells_its_agent_kind(tmp_path: Path) -> None:
    """Agents are scripts run by node or python; the name of the process is the script's."""
    script = tmp_path / "codex"
    script.write_text("#!/bin/sh\necho up\nread line\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    bash = WatchedPane()
    async with running(bash):
        await bash.until_row("$")
        bash.type(f"clear; HERDR_AGENT=codex {script} 'two words'")
        await bash.until_row("up")
        [program] = (await bash.foreground()).programs
        assert program.name == "codex"
        assert program.argv == ("/bin/sh", str(script), "two words")
        assert agent_variable(program.pid) == "codex"
        assert agent_variable(bash.pane.shell_pid) is None


def test_a_process_that_is_gone_has_no_facts() -> None:
    pid = os.posix_spawn("/bin/true", ["/bin/true"], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert program_facts(pid) is None, "a zombie is not a program"
    assert pid not in session_members(os.getsid(0))
    os.waitpid(pid, 0)
    assert program_facts(pid) is None
    assert agent_variable(pid) is None


def test_this_process_is_in_its_own_group_and_session() -> None:
    assert os.getpid() in group_members(os.getpgrp())
    assert os.getpid() in session_members(os.getsid(0))


def test_something_that_is_no_terminal_has_no_group() -> None:
    assert foreground_of(-1, 1) == ForegroundFacts(1)
    with open(os.devnull) as file:
        assert foreground_of(file.fileno(), 1) == ForegroundFacts(1)
