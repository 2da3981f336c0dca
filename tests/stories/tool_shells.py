"""A pane with a chosen shell that calls ``coordctl tool run``, for the stories of tool panes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coordctl.demo.stage import Stage

SHELLS = ("bash", "dash", "zsh", "fish")
COORDCTL = f"{shlex.quote(sys.executable)} -m coordctl"
WAIT_S = 60.0


def missing(shell: str) -> str | None:
    """Why a story with this shell cannot be told here; None if it can."""
    return None if shutil.which(shell) else f"{shell} is not installed"


class Call:
    """One ``coordctl tool run`` that was typed into the caller's pane."""

    def __init__(self, stage: Stage, files: Path) -> None:
        self._stage = stage
        self._files = files

    @property
    def over(self) -> bool:
        """Has it ended?"""
        return self._files.with_suffix(".status").exists()

    def wait(self) -> Call:
        """Until it has ended."""
        self._stage.until("the call has ended", lambda: self.over, WAIT_S)
        return self

    @property
    def status(self) -> int:
        """Its exit status."""
        return int(self.wait()._files.with_suffix(".status").read_text())

    @property
    def result(self) -> dict[str, Any]:
        """The object on its standard output."""
        found: dict[str, Any] = json.loads(self.wait()._files.with_suffix(".out").read_text())
        return found

    @property
    def error(self) -> str:
        """What it said on standard error."""
        return self.wait()._files.with_suffix(".err").read_text()


class ToolShop:
    """A stage on which one pane calls for tools. ``shell`` is that of all panes."""

    def __init__(self, stage: Stage, shell: str) -> None:
        self.stage = stage
        stage.environ.update(environ(shell, stage.props / "home"))
        self.shell = shell
        self.pane: str = stage.act("pane.open", label="caller", cwd=str(stage.root))["pane_id"]
        self._count = 0
        stage.until(f"{shell} is at its prompt", lambda: self.screen(self.pane).strip())

    def call(
        self, *words: str, pane: str | None = None, cwd: Path | None = None, by: str = COORDCTL
    ) -> Call:
        """Type ``coordctl tool …`` into a pane; the words reach it byte for byte."""
        self._count += 1
        files = self.stage.props / f"call{self._count}"
        script = files.with_suffix(".sh")
        quoted = " ".join(map(shlex.quote, words))
        status = files.with_suffix(".status")
        script.write_text(
            f"cd {shlex.quote(str(cwd or self.stage.root))}\n"
            f"{by} tool {quoted} >{files}.out 2>{files}.err </dev/null\n"
            f"echo $? >{status}.new; mv {status}.new {status}\n"
        )
        self.stage.act("pane.send", pane=pane or self.pane, text=f"sh {script} &", enter=True)
        return Call(self.stage, files)

    def run(self, label: str, *command: str, flags: tuple[str, ...] = ()) -> Call:
        """``tool run`` from the caller's pane."""
        return self.call("run", label, *flags, "--", *command)

    def screen(self, pane: str) -> str:
        """What a pane shows."""
        return str(self.stage.call("pane.read", pane=pane)["text"])

    def panes(self, label: str | None = None) -> list[dict[str, Any]]:
        """The host's panes, with a label if one is given."""
        found: list[dict[str, Any]] = self.stage.call("pane.list")["items"]
        return [pane for pane in found if label is None or pane["label"] == f"Tool · {label}"]

    def listed(self) -> list[dict[str, Any]]:
        """Every run, oldest first."""
        return list(reversed(self.stage.call("tool.list")["items"]))

    def running(self, label: str) -> dict[str, Any]:
        """The run of this label that has begun; waits for it."""

        def found() -> dict[str, Any] | None:
            runs = [run for run in self.listed() if run["label"] == label]
            return next((run for run in runs if run["state"] == "running"), None)

        run: dict[str, Any] = self.stage.until(f"{label} runs", found, WAIT_S)
        return run

    def press(self, pane: str, text: str) -> None:
        """Type into a tool's pane, as a person would."""
        self.stage.act("pane.send", pane=pane, text=text, enter=False)

    def until(self, what: str, true: Callable[[], Any]) -> Any:
        """See `Stage.until`."""
        return self.stage.until(what, true, WAIT_S)


def environ(shell: str, home: Path) -> dict[str, str]:
    """The environment of a daemon whose panes have this shell and an empty home."""
    home.mkdir(exist_ok=True)
    (home / ".zshrc").write_text("PS1='%# '\n")  # else zsh asks a newcomer what it shall do
    path = shutil.which(shell) or shell
    return {"SHELL": path, "HOME": str(home), "ZDOTDIR": str(home), "PATH": os.environ["PATH"]}
