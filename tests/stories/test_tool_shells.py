"""Tool panes with real shells: the codes that commands end with, in every shell (§4.3)."""

from __future__ import annotations

import os

import psutil
import pytest

from coordctl.demo.stage import Stage
from tests.stories import tool_shells
from tests.stories.tool_shells import ToolShop


@pytest.fixture(params=tool_shells.SHELLS)
def shop(request: pytest.FixtureRequest, stage: Stage) -> ToolShop:
    """A caller in a pane of each shell that is installed."""
    reason = tool_shells.missing(request.param)
    if reason:
        pytest.skip(reason)
    return ToolShop(stage, request.param)


CODES: dict[str, tuple[tuple[str, ...], int]] = {
    "true": (("true",), 0),
    "false": (("false",), 1),
    "two": (("exit 2",), 2),
    "exit-3": (("exit 3",), 3),
    "not-found": (("no-such-program-here", "x"), 127),
    "not-found-in-a-line": (("no-such-program-here",), 127),
    "killed": (("kill -9 $$",), 137),
    "crashed": (("kill -SEGV $$",), 139),
    "255": (("exit 255",), 255),
    "open-quote": (('echo "a',), 2),
    "open-bracket": (("(echo a",), 2),
    "wraps": (("sh", "-c", "exit 263"), 7),
    "comment": (("true # note",), 0),
    "background": (("sleep 0 &",), 0),
    "two-lines": (("false\nexit 7",), 7),
    "pipeline": (("true | false",), 1),
    "if": (("if true; then false; fi",), 1),
    "exec": (("exec sh -c 'exit 9'",), 9),
    "errexit": (("set -e; false; true",), 1),
    "backslash": (("true \\",), 0),
    "history": (("test '!!' = '!'\"!\"",), 0),
}


def test_every_code_comes_back_and_one_pane_serves_all(shop: ToolShop) -> None:
    """D-39: codes are the command's own, reported at its end; the idle pane is used again."""
    parent = shop.run("parent", "cat /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/comm")
    assert parent.result["output_tail"] == f"{shop.shell}\n"
    focus = [pane["pane_id"] for pane in shop.panes() if pane["focused"]]
    for name, (command, code) in CODES.items():
        call = shop.run("codes", *command)
        assert (name, call.status, call.result["exit_code"]) == (name, code, code)
        assert call.result["error"] is None
        assert call.result["signal"] == {137: 9, 139: 11}.get(code)
        assert call.result["reused"] is (name != "true")
    assert len(shop.panes("codes")) == 1
    assert [pane["pane_id"] for pane in shop.panes() if pane["focused"]] == focus


def test_words_arrive_byte_for_byte(shop: ToolShop) -> None:
    """§4.3: quotes, dollars, backticks, blanks and other letters mean themselves."""
    words = [
        "it's",
        '"$HOME"',
        "`id`",
        "a  b",
        "*",
        "\\n",
        "ä→😀",
        "|",
        "#",
        "!",
        "%s",
        "~",
        "a\nb",
    ]
    call = shop.run("words", "printf", "<%s>", *words)
    assert call.status == 0
    assert call.result["output_tail"] == "".join(f"<{word}>" for word in words)


def test_ctrl_c_ends_the_command_and_ctrl_z_ends_nothing(shop: ToolShop) -> None:
    """D-39: ctrl+c is 130; a ctrl+z by itself yields no result."""
    call = shop.run("keys", "echo ready; sleep 300")
    run = shop.running("keys")
    shop.until("it is up", lambda: "ready" in shop.screen(run["pane_id"]))
    shop.press(run["pane_id"], "\x1a")
    shop.until("the key was shown", lambda: "^Z" in shop.screen(run["pane_id"]))
    assert not call.over
    shop.press(run["pane_id"], "\x03")
    assert call.status == 130
    again = shop.run("keys", "true")
    assert (again.status, again.result["reused"]) == (0, True)


def test_what_is_typed_reaches_the_command(shop: ToolShop) -> None:
    """§4.4, B: standard input stays the terminal."""
    call = shop.run(
        "asks", 'printf "name? "; read name; echo "hello $name"; test -t 0 && test -t 1'
    )
    run = shop.running("asks")
    shop.until("it asks", lambda: "name?" in shop.screen(run["pane_id"]))
    shop.press(run["pane_id"], "ada\r")
    assert call.status == 0
    assert "hello ada" in call.result["output_tail"]


def test_a_draft_at_the_prompt_is_deleted_not_run(shop: ToolShop) -> None:
    """What somebody left unfinished in the pane does not become part of our line."""
    first = shop.run("draft", "true")
    assert first.status == 0
    pane = first.result["pane_id"]
    victim = shop.stage.root / "victim"
    shop.until("the prompt is back", lambda: shop.screen(pane).strip())
    shop.press(pane, f"touch {victim} ; ")
    shop.until("the draft stands", lambda: "touch" in shop.screen(pane))
    second = shop.run("draft", "true")
    assert (second.status, second.result["reused"]) == (0, True)
    assert not victim.exists()


def test_in_shell_what_the_shell_drops_or_stops_is_told(shop: ToolShop) -> None:
    """§4.3: after ctrl+c there is 130 or ``cancelled``; ctrl+z is no end, and an open quote is one."""
    inside = ("--in-shell",)
    keys = {"\x03": (130, 125), "\x1a": (148,)}
    for key, codes in keys.items():
        sleep = ["sleep", f"{300 + codes[0]}.{os.getpid()}"]
        call = shop.run("keys", *sleep, flags=inside)
        run = shop.running("keys")
        shop.until("it runs", lambda sleep=sleep: sleep in _command_lines())
        shop.press(run["pane_id"], key)
        assert call.status in codes
        result = call.result
        assert result["error"] == (None if result["exit_code"] else "cancelled")
        assert (result["signal"] == 20) is (key == "\x1a")
        assert bool(result["detail"]) is (call.status != 130)
    again = shop.run("keys", "echo 'a", flags=inside)
    assert (again.status, again.result["reused"]) != (0, True)
    assert again.result["exit_code"] in (1, 2, 123)
    long = shop.run("keys", f"echo {'y' * 5000}", flags=inside)
    assert long.status == (125 if shop.shell == "dash" else 0)


def _command_lines() -> list[list[str]]:
    return [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]


def test_in_shell_keeps_cd_and_export(shop: ToolShop) -> None:
    """§4.3: with --in-shell the pane's own shell is changed; the marker is not its echo."""
    inside = ("--in-shell",)
    assert shop.run("inside", "cd /usr; export ODD=1").status == 0
    kept = 'test "$PWD" = /usr; or test "$ODD" = 1' if shop.shell == "fish" else ""
    kept = kept or 'test "$PWD" = /usr || test "$ODD" = 1'
    assert shop.run("inside", kept, flags=inside).status == 1  # a child's own end with it
    call = shop.run("inside", "cd /usr", flags=inside)
    assert call.status == 0, call.error
    where = shop.run("inside", "pwd", flags=inside)
    assert (where.status, where.result["reused"]) == (0, True)
    assert where.result["output_tail"].strip() == "/usr"
    assert shop.run("inside", "false", flags=inside).status == 1
    assert shop.run("inside", "true # a note", flags=inside).status == 0
    assert shop.run("inside", "echo it\\'s", flags=inside).result["output_tail"].strip() == "it's"
