"""The demo runs as the README says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_demo_happens_as_told(runtime_base: Path) -> None:
    """The whole main job with real processes, a SIGKILL in the middle; it ends with status 0."""
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(runtime_base)}
    done = subprocess.run(
        [sys.executable, "-m", "coordctl", "demo"],
        capture_output=True,
        text=True,
        env=environ,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Everything happened as told" in done.stdout
    assert done.stderr == ""
    assert not list(runtime_base.rglob("*.sock"))
