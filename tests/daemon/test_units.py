"""The unit files: what clients and the daemon rely on, and what systemd itself says about them."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from coordinatord import locate

UNITS = Path(__file__).parents[2] / "systemd"
SERVICE, SOCKET = "coordinatord@.service", "coordinatord@.socket"


def parsed(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, delimiters=["="], comment_prefixes=["#"])
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNITS / name, encoding="utf-8")
    return unit


def test_the_socket_is_where_clients_look(runtime_base: Path) -> None:
    """The template's path is the API path itself, so a unit's daemon is found by everybody."""
    workspace = locate.Workspace("/srv/some project", {"XDG_RUNTIME_DIR": str(runtime_base)})
    listen = parsed(SOCKET)["Socket"]["ListenStream"]
    assert workspace.socket == listen.replace("%t", str(runtime_base)).replace(
        "%i", workspace.instance
    )


def test_only_the_user_can_connect_from_the_first_instant() -> None:
    """G-6 (b), where the service manager binds the socket."""
    socket = parsed(SOCKET)["Socket"]
    assert (socket["SocketMode"], socket["DirectoryMode"]) == ("0600", "0700")


def test_stopping_the_service_leaves_panes_and_agents_alone() -> None:
    """G-11: no group kill, and an agent out of memory does not end the daemon."""
    service = parsed(SERVICE)["Service"]
    assert (service["KillMode"], service["OOMPolicy"]) == ("process", "continue")
    assert service["Type"] == "notify"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
@pytest.mark.parametrize(("planted", "complaint"), [("", ""), ("KilMode=process", "KilMode")])
def test_systemd_has_no_complaint(tmp_path: Path, planted: str, complaint: str) -> None:
    """Its own judgement of both units, and proof that it finds a mistake."""
    lines = (UNITS / SERVICE).read_text(encoding="utf-8").splitlines()
    program = shutil.which("true")
    lines = [f"ExecStart={program}" if line.startswith("ExecStart=") else line for line in lines]
    lines.insert(lines.index("[Service]") + 1, planted)
    (tmp_path / SERVICE).write_text("\n".join(lines), encoding="utf-8")
    shutil.copy(UNITS / SOCKET, tmp_path)
    verdict = subprocess.run(
        ["systemd-analyze", "--user", "verify", tmp_path / "coordinatord@main-0123abcd.service"],
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if complaint:
        assert complaint in verdict.stderr
    else:
        assert (verdict.returncode, verdict.stderr) == (0, "")
