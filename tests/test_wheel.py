"""What is in the wheel: our packages with their data, and nothing else that can be imported."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import coordinatord

pytestmark = pytest.mark.xdist_group("wheel")  # built once
ROOT = Path(__file__).parents[1]
PACKAGES = {"coordinatord": ROOT / "coordinatord", "coordctl": ROOT / "clients" / "coordctl"}
LATER = {"coordinatord_mcp"}
"""Allowed as a top level too, once it exists."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_only_our_packages_can_be_imported(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert tops - LATER == set(PACKAGES)


def test_every_tracked_file_of_the_packages_is_in_it(wheel: Path) -> None:
    """Agent kinds, migrations and the marks of typed packages come along."""
    wanted = {
        f"{package}/{path.relative_to(folder)}"
        for package, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.suffix in (".py", ".toml", ".sql", ".typed") and "__pycache__" not in path.parts
    }
    found = names(wheel)
    assert wanted - found == set()
    assert {"coordinatord/py.typed", "coordctl/py.typed"} <= found
    assert any(name.endswith(".sql") for name in found)
    assert any(name.endswith(".toml") for name in found)


def test_one_version_in_the_wheel_and_the_package(wheel: Path) -> None:
    assert wheel.name.split("-")[1] == coordinatord.__version__


def test_commands_and_licence_are_declared(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        about = [name for name in archive.namelist() if ".dist-info/" in name]
        texts = {
            name.split("/", 1)[1]: archive.read(name).decode()
            for name in about
            if name.endswith(("entry_points.txt", "METADATA", "LICENSE"))
        }
    commands = texts["entry_points.txt"]
    assert "coordctl = coordctl.__main__:main" in commands
    assert "coordinatord = coordinatord.__main__:main" in commands
    assert "License-Expression: MIT" in texts["METADATA"]
    assert any(name.endswith("LICENSE") for name in texts)
