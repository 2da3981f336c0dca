"""Where a run goes, and what is refused before any pane exists."""

from __future__ import annotations

import pytest

from coordinatord.errors import Refused
from coordinatord.features.tool_runs import marker, placement
from coordinatord.features.tool_runs.placement import Candidate, Condition, Queue, Reuse, Split
from coordinatord.features.tool_runs.records import signal_of
from coordinatord.ids import PaneId, ProcessId
from coordinatord.terminals.port import Foreground, Program, Sighting


def pane(seq: int, condition: Condition) -> Candidate:
    """A pane of ours with the label."""
    run = f"x-{seq}" if condition in ("in-time", "late") else None
    return Candidate(
        pane=PaneId(f"w1:p{seq}"), terminal=f"t{seq}", seq=seq, condition=condition, run=run
    )


@pytest.mark.parametrize(
    ("panes", "decision"),
    [
        ([], Split()),
        ([pane(1, "idle")], Reuse(PaneId("w1:p1"), "t1")),
        ([pane(1, "idle"), pane(2, "idle")], Reuse(PaneId("w1:p2"), "t2")),
        ([pane(1, "in-time")], Queue("x-1")),
        ([pane(1, "idle"), pane(2, "in-time")], Queue("x-2")),
        ([pane(1, "late")], Split()),
        ([pane(1, "other")], Split()),
        ([pane(1, "idle"), pane(2, "late")], Reuse(PaneId("w1:p1"), "t1")),
        ([pane(1, "late"), pane(2, "other")], Split()),
    ],
)
def test_the_newest_pane_that_can_serve_decides(
    panes: list[Candidate], decision: placement.Decision
) -> None:
    """§4.1: idle and ours is used again, in time is waited for, everything else gets a new pane."""
    assert placement.decide(panes, new=False) == decision
    assert placement.decide(reversed(panes), new=False) == decision
    assert placement.decide(panes, new=True) == Split()


def test_only_exactly_the_label_in_the_caller_s_host_workspace_counts() -> None:
    seen = Sighting(
        pane=PaneId("w1:p1"), terminal_id="t", workspace_id="w1", tab_id="w1:t1", label="Tool · a"
    )
    assert placement.is_candidate(seen, "Tool · a", "w1")
    assert not placement.is_candidate(seen, "Tool · A", "w1")
    assert not placement.is_candidate(seen, "Tool · a", "w2")


def test_a_shell_in_front_is_told_from_everything_else() -> None:
    shell = ProcessId("b", 7, 1)
    ours = Program(pid=9, name="python", argv=("python", "-I", "x-12345678"))
    assert placement.only_shell(Foreground(shell=shell, group=7))
    assert not placement.only_shell(Foreground(shell=shell, group=9))
    assert not placement.only_shell(Foreground(shell=None, group=None))
    assert not placement.only_shell(None)
    assert placement.runner_in_front(
        Foreground(shell=shell, group=9, programs=(ours,)), ours.argv[2]
    )
    assert not placement.runner_in_front(Foreground(shell=shell, group=9), "x-12345678")


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a\x1b", "bad-params"),
        ("a\n", "bad-params"),
        (" a", "bad-params"),
        ("a" * 65, "too-long"),
    ],
)
def test_labels_that_are_refused(label: str, reason: str) -> None:
    with pytest.raises(Refused) as refusal:
        placement.check_label(label)
    assert refusal.value.reason == reason


@pytest.mark.parametrize("label", ["a", "a b", "ä·ß", "t" * 64])
def test_labels_that_are_taken(label: str) -> None:
    assert placement.check_label(label) == label


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ([], "empty"),
        ([""], "empty"),
        (["  ", "x"], "empty"),
        (["a\0b"], "bad-params"),
        (["a", "\0"], "bad-params"),
        (["a", "x" * placement.LONGEST_COMMAND], "too-long"),
    ],
)
def test_commands_that_are_refused(command: list[str], reason: str) -> None:
    with pytest.raises(Refused) as refusal:
        placement.check_command(command)
    assert refusal.value.reason == reason


def test_the_typed_line_has_nothing_that_a_shell_reads() -> None:
    """§4.3: a program and one plain word. Of pwsh's rules (about_Parsing) these two count: a line
    that does not begin like a number, a variable, a string or a bracket is a command with arguments,
    and an argument is a plain string unless it begins with ``$ @ ' " (`` or, as a parameter, ``-``.
    """
    assert (
        placement.line("/run/user/0/c/a-1.run", "x-4k7q2m1x") == " /run/user/0/c/a-1.run x-4k7q2m1x"
    )
    for path in ("/a b.run", "/a$b", "/a'b", "a.run", "/a;b", "/ä"):
        with pytest.raises(Refused):
            placement.line(path, "x-4k7q2m1x")


CODES = {0: None, 128: None, 129: 1, 137: 9, 192: 64, 193: None, 255: None, None: None}


@pytest.mark.parametrize(("code", "signal"), CODES.items())
def test_the_signal_that_a_code_tells_of(code: int | None, signal: int | None) -> None:
    assert signal_of(code) == signal


RUN = "x-4k7q2m1x"


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "fish"])
@pytest.mark.parametrize("command", ["true", "echo 'a' \"b\" \\", "true # x", "__HERDR_TOOL_DONE_"])
def test_the_marker_is_not_found_in_its_own_echo(shell: str, command: str) -> None:
    """§4.3: the echo never ends the run, however the pane wraps it."""
    line = marker.typed([command], RUN, shell)
    assert "\n" not in line
    for width in (2, 7, 20, 80, 1000):
        wrapped = "\n".join(line[at : at + width] for at in range(0, len(line), width))
        assert marker.found(f"$ {wrapped}", RUN) is None
    assert marker.found(f"$ {line}\nout\n__HERDR_TOOL_DONE_{RUN}__:7\n$", RUN) == 7
    assert marker.output(f"$ {line}\nout\n\n__HERDR_TOOL_DONE_{RUN}__:7\n$", RUN) == (
        "out",
        True,
    )
    assert marker.output(f"out\n\n__HERDR_TOOL_DONE_{RUN}__:7\n$", RUN) == ("out", False)


@pytest.mark.parametrize(
    "screen",
    [
        f"__HERDR_TOOL_DONE_{RUN}__:%s",
        f"x __HERDR_TOOL_DONE_{RUN}__:0",
        "__HERDR_TOOL_DONE_x-00000000__:0",
        f"__HERDR_TOOL_DONE_{RUN}__:",
        f"__HERDR_TOOL_DONE_{RUN}__:0 and more",
    ],
)
def test_what_only_looks_like_the_marker(screen: str) -> None:
    assert marker.found(screen, RUN) is None


@pytest.mark.parametrize(
    ("command", "shell"),
    [("a\nb", "bash"), ("a\x03", "zsh"), ("a", "pwsh"), ("a", ""), ("a" * 1000, "dash")],
)
def test_what_cannot_be_typed_into_the_shell_is_refused(command: str, shell: str) -> None:
    with pytest.raises(Refused):
        marker.typed([command], RUN, shell)


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "fish"])
def test_a_line_that_its_shell_dropped_is_seen(shell: str) -> None:
    """§4.3, ctrl+c: no marker will come; a command that only waits is no such case."""
    line = f"$ {marker.typed(['sleep 9'], RUN, shell)}"
    for screen in (
        f"{line}\n^C\n$",
        f"{line}\nout^C\n\n/elsewhere $ ",
        f"{line}\nsyntax error\n$ \n\n",
        f"{line}\n^C#{' ' * 90}#",
    ):
        assert marker.seems_broken_off(screen, RUN)
    for screen in ("", "$", line, f"{line}\n", f"{line}\nout $\n", f"{line}\npress ^C", "^C\n$ "):
        assert not marker.seems_broken_off(screen, RUN)
