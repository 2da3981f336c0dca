"""Where things are: `coordinatord.locate`."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from coordinatord import locate
from coordinatord.errors import REASONS
from coordinatord.locate import Misplaced, Workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "deep" / "down").mkdir(parents=True)
    locate.make(Workspace(str(root), {}))
    return root


def _refusal(reason: str) -> pytest.RaisesExc[Misplaced]:
    return pytest.RaisesExc(Misplaced, check=lambda error: error.reason == reason)


def test_every_reason_is_in_the_one_list() -> None:
    import re

    folder = Path(locate.__file__).parent
    text = (folder / "locate.py").read_text() + (folder / "folders.py").read_text()
    used = set(re.findall(r'Misplaced\(\s*"([a-z-]+)"', text))
    assert "folder-unsafe" in used
    assert used <= REASONS.keys()


# finding


def test_walks_up_to_the_nearest_folder(project: Path) -> None:
    inner = project / "deep"
    assert locate.find({}, str(inner / "down")).root == str(project)
    locate.make(Workspace(str(inner), {}))
    assert locate.find({}, str(inner / "down")).root == str(inner)


def test_without_a_folder_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(Misplaced) as caught:
        locate.find({}, str(tmp_path))
    assert caught.value.reason == "no-workspace"
    assert "coordctl up" in (caught.value.hint or "")
    assert str(tmp_path) in caught.value.message


def test_order_of_finding(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """interfaces.md, Places: flag, variable, -C, COORDINATORD_ROOT, the walk upwards."""
    other, third = tmp_path / "other", tmp_path / "third"
    for each in (other, third):
        each.mkdir()
        locate.make(Workspace(str(each), {}))
    monkeypatch.chdir(project / "deep")
    environ = {"COORDINATORD_ROOT": str(other), "COORDINATORD_SOCKET": "/run/named.sock"}

    flag = locate.resolve(environ, socket="/run/flag.sock", directory=str(third))
    assert (flag.path, flag.explicit, flag.workspace) == ("/run/flag.sock", True, None)
    variable = locate.resolve(environ, directory=str(third))
    assert (variable.path, variable.explicit) == ("/run/named.sock", True)
    del environ["COORDINATORD_SOCKET"]
    assert _root(locate.resolve(environ, directory=str(third))) == str(third)
    assert _root(locate.resolve(environ)) == str(other)
    assert _root(locate.resolve({})) == str(project)
    assert not locate.resolve({}).explicit


def _root(address: locate.Address) -> str:
    assert address.workspace is not None
    return address.workspace.root


def test_a_root_without_a_folder_is_no_workspace(project: Path, tmp_path: Path) -> None:
    with _refusal("no-workspace"):
        locate.find({"COORDINATORD_ROOT": str(tmp_path)}, None)
    with _refusal("no-workspace"):
        locate.find({}, str(tmp_path / "missing"))


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    code = (
        "import os; from coordinatord import locate\n"
        "gone = os.getcwd(); os.rmdir(gone)\n"
        "try: locate.find({})\n"
        "except locate.Misplaced as error: print(error.reason)"
    )
    gone = tmp_path / "gone"
    gone.mkdir()
    root = Path(locate.__file__).parents[1]
    environ = {"PYTHONPATH": str(root), "PYTHONSAFEPATH": "1"}
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=gone, env=environ, capture_output=True, text=True
    )
    assert out.stdout.strip() == "no-workspace", out.stderr


def _git(*words: str, cwd: Path) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *identity, *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def worktree(project: Path, tmp_path: Path) -> Path:
    _git("init", "-q", cwd=project)
    _git("commit", "-q", "--allow-empty", "-m", "first", cwd=project)
    _git("worktree", "add", "-q", str(tmp_path / "elsewhere" / "linked"), cwd=project)
    return tmp_path / "elsewhere" / "linked"


def test_a_linked_worktree_belongs_to_its_main_checkout(worktree: Path, project: Path) -> None:
    (worktree / "src").mkdir()
    assert locate.find({}, str(worktree / "src")).root == str(project)


def test_a_relative_link_is_followed(worktree: Path, project: Path) -> None:
    entry = project / ".git" / "worktrees" / "linked"
    (worktree / ".git").write_text(f"gitdir: {os.path.relpath(entry, worktree)}\n")
    (entry / "gitdir").write_text(os.path.relpath(worktree / ".git", entry) + "\n")
    assert locate.main_checkout(str(worktree)) == str(project)


def test_a_workspace_above_the_main_checkout_is_found(worktree: Path, project: Path) -> None:
    (project / ".coordinatord" / ".gitignore").unlink()
    (project / ".coordinatord").rmdir()
    locate.make(Workspace(str(project.parent), {}))
    assert locate.find({}, str(worktree)).root == str(project.parent)


def test_submodules_stay_where_they_are(project: Path, tmp_path: Path) -> None:
    inside = tmp_path / "sub"
    inside.mkdir()
    (project / ".git" / "modules" / "sub").mkdir(parents=True)
    (inside / ".git").write_text(f"gitdir: {project}/.git/modules/sub\n")
    assert locate.main_checkout(str(inside)) is None


def test_a_planted_link_leads_nowhere(worktree: Path, project: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / ".git").write_text((worktree / ".git").read_text())
    assert locate.main_checkout(str(planted)) is None
    with _refusal("no-workspace"):
        locate.find({}, str(planted))


def test_a_pipe_instead_of_a_link_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert locate.main_checkout(str(tmp_path)) is None


def test_a_new_workspace_belongs_to_the_repository(tmp_path: Path) -> None:
    (tmp_path / "repository" / "deep").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    _git("init", "-q", cwd=tmp_path / "repository")
    inside = locate.find_or_place({}, str(tmp_path / "repository" / "deep"))
    assert inside.root == str(tmp_path / "repository")
    assert locate.find_or_place({}, str(tmp_path / "plain")).root == str(tmp_path / "plain")
    named = locate.find_or_place({"COORDINATORD_ROOT": str(tmp_path / "plain")})
    assert named.root == str(tmp_path / "plain")


# the folder


def test_made_private_and_hidden_from_git_under_any_umask(tmp_path: Path) -> None:
    for umask in (0o000, 0o077):
        root = tmp_path / f"{umask:o}"
        root.mkdir()
        before = os.umask(umask)
        try:
            assert locate.make(Workspace(str(root), {}))
        finally:
            os.umask(before)
        folder = root / ".coordinatord"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert (folder / ".gitignore").read_text() == "*\n"
        assert not locate.make(Workspace(str(root), {}))


def test_making_keeps_what_is_there(project: Path) -> None:
    ignore = project / ".coordinatord" / ".gitignore"
    ignore.write_text("mine\n")
    assert not locate.make(Workspace(str(project), {}))
    assert ignore.read_text() == "mine\n"


def test_a_folder_others_may_write_to_is_refused(project: Path) -> None:
    os.chmod(project / ".coordinatord", 0o770)
    with _refusal("folder-unsafe"):
        locate.find({}, str(project))


def test_a_path_that_is_not_unicode_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(root)
    with _refusal("not-unicode"):
        locate.make(Workspace(os.fsdecode(root), {}))
    assert os.listdir(root) == []
    os.mkdir(root + b"/.coordinatord", 0o700)
    with _refusal("not-unicode"):
        locate.find({}, os.fsdecode(root))


def test_a_link_instead_of_a_folder_is_refused(project: Path, tmp_path: Path) -> None:
    cloned = tmp_path / "cloned"
    cloned.mkdir()
    (cloned / ".coordinatord").symlink_to(project / ".coordinatord")
    with _refusal("folder-unsafe"):
        locate.find({}, str(cloned))
    with _refusal("folder-unsafe"):
        locate.make(Workspace(str(cloned), {}))


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@needs_root
def test_a_foreign_folder_is_refused(project: Path) -> None:
    os.chown(project / ".coordinatord", 12345, 12345)
    with pytest.raises(Misplaced) as caught:
        locate.find({}, str(project))
    assert caught.value.reason == "folder-unsafe"
    assert "user 12345" in caught.value.message


@needs_root
def test_root_makes_nothing_in_a_project_of_another_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    with _refusal("folder-unsafe"):
        locate.make(Workspace(str(tmp_path), {}))
    assert os.listdir(tmp_path) == []


# the published socket


def test_the_published_path_comes_first(project: Path, tmp_path: Path) -> None:
    workspace = Workspace(str(project), {"XDG_RUNTIME_DIR": str(tmp_path)})
    elsewhere = f"/somewhere/else/{workspace.instance}.sock"
    assert locate.resolve({}, directory=str(project)).path != elsewhere
    locate.publish_socket(workspace, elsewhere)
    assert locate.resolve({}, directory=str(project)).path == elsewhere
    file = project / ".coordinatord" / "socket"
    assert file.read_text() == elsewhere + "\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(os.listdir(project / ".coordinatord")) == [".gitignore", "socket"]


@pytest.mark.parametrize("text", ["/run/other-00000000.sock", "", "relative.sock", "\0\udcff"])
def test_a_published_path_that_is_not_ours_is_ignored(project: Path, text: str) -> None:
    workspace = Workspace(str(project), {})
    locate.publish_socket(workspace, text)
    assert locate.published_socket(workspace) is None


def test_a_published_file_that_is_a_link_or_open_to_others_is_ignored(
    project: Path, tmp_path: Path
) -> None:
    workspace = Workspace(str(project), {})
    locate.publish_socket(workspace, f"/tmp/{workspace.instance}.sock")
    file = project / ".coordinatord" / "socket"
    assert locate.published_socket(workspace)
    file.chmod(0o666)
    assert locate.published_socket(workspace) is None
    file.chmod(0o600)
    file.rename(tmp_path / "real")
    file.symlink_to(tmp_path / "real")
    assert locate.published_socket(workspace) is None


# names and lengths


def test_instances_are_short_safe_and_different() -> None:
    names = [
        locate.instance_name(path)
        for path in ("/a/app", "/b/app", "/", "/x/Straße und mehr", f"/x/{'long' * 60}", "/x/...")
    ]
    assert len(set(names)) == len(names)
    for name in names:
        assert len(name.encode()) <= 33
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")
    assert names[0].startswith("app-")
    assert names[2].startswith("workspace-")


@pytest.mark.parametrize("length", [20, 40, 58, 59, 60, 90, 103, 104, 107, 108, 200])
def test_sockets_are_short_whatever_the_runtime_folder(tmp_path: Path, length: int) -> None:
    """G-6 (a): a documented short fallback that clients find by themselves."""
    base = Path("/tmp")
    for part in _parts(length - len("/tmp")):
        base /= part
    assert len(str(base)) == length
    base.mkdir(parents=True, exist_ok=True)
    try:
        root = tmp_path / ("deep" * 30) / ("deeper" * 20)
        workspace = Workspace(str(root), {"XDG_RUNTIME_DIR": str(base)})
        for path in (workspace.socket, workspace.panes_socket, workspace.launcher):
            assert len(os.fsencode(path)) <= 103
        inside = workspace.socket.startswith(str(base))
        assert inside == (length <= 46)
        if not inside:
            assert workspace.runtime == f"/tmp/coordinatord-{os.geteuid()}"
    finally:
        while base != Path("/tmp"):
            base.rmdir()
            base = base.parent


def _parts(length: int) -> list[str]:
    """Folder names that together are ``length`` bytes of path."""
    parts = [f"length-{length}"[: length - 1]]
    left = length - len(parts[0]) - 1
    while left > 0:
        take = min(left, 100)
        take -= 1 if left - take == 1 else 0
        parts.append("x" * (take - 1))
        left -= take
    return parts


def test_a_named_path_that_is_too_long_is_refused_with_the_numbers() -> None:
    """G-6 (a): an error with path, length and limit."""
    path = "/tmp/" + "x" * 200
    with pytest.raises(Misplaced) as caught:
        locate.resolve({}, socket=path)
    assert path in caught.value.message
    assert "205" in caught.value.message
    assert str(locate.LONGEST_PATH) in caught.value.message
    assert locate.resolve({}, socket="/tmp/" + "x" * 98).path


def test_a_runtime_folder_that_is_not_there_falls_back(tmp_path: Path) -> None:
    fallback = f"/tmp/coordinatord-{os.geteuid()}"
    assert locate.runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path / "gone")}) == fallback
    assert locate.runtime_folder({"XDG_RUNTIME_DIR": "relative"}) == fallback
    assert locate.runtime_folder({}) == fallback


def test_the_runtime_folder_is_made_private_under_any_umask(tmp_path: Path) -> None:
    """G-6 (b): the folder is 0700, whatever the umask."""
    for umask in (0o000, 0o077):
        folder = tmp_path / f"{umask:o}"
        before = os.umask(umask)
        try:
            locate.make_private(str(folder))
        finally:
            os.umask(before)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        locate.make_private(str(folder))


def test_a_runtime_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    """G-6 (c): group-writable, or in a folder where others may replace it."""
    folder = tmp_path / "coordinatord"
    folder.mkdir(mode=0o770)
    folder.chmod(0o770)
    with pytest.raises(Misplaced) as caught:
        locate.make_private(str(folder))
    assert "chmod 700" in (caught.value.hint or "")
    folder.chmod(0o700)
    locate.make_private(str(folder))
    tmp_path.chmod(0o770)
    with _refusal("folder-unsafe"):
        locate.make_private(str(folder))
    tmp_path.chmod(0o1777)
    locate.make_private(str(folder))


@needs_root
def test_a_runtime_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """G-6 (c): owned by another user."""
    folder = tmp_path / "coordinatord"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with _refusal("folder-unsafe"):
        locate.make_private(str(folder))


def test_a_file_or_link_at_the_runtime_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    with _refusal("folder-unsafe"):
        locate.make_private(str(file))
    assert file.read_text() == "kept"
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    with _refusal("folder-unsafe"):
        locate.make_private(str(link))
    assert not (tmp_path / "target").exists()


# the user's own folders


def test_user_configuration() -> None:
    assert (
        locate.user_config({"HOME": "/home/n"}, platform="linux")
        == "/home/n/.config/coordinatord/config.toml"
    )
    assert (
        locate.user_config({"HOME": "/home/n", "XDG_CONFIG_HOME": "/conf"}, platform="linux")
        == "/conf/coordinatord/config.toml"
    )
    assert (
        locate.user_config({"HOME": "/home/n", "XDG_CONFIG_HOME": "rel"}, platform="linux")
        == "/home/n/.config/coordinatord/config.toml"
    )
    assert (
        locate.user_config({"HOME": "/Users/n", "XDG_CONFIG_HOME": "/conf"}, platform="darwin")
        == "/Users/n/Library/Application Support/coordinatord/config.toml"
    )


def test_without_a_home_the_password_database_says_it() -> None:
    import pwd

    assert locate.home_folder({}) == pwd.getpwuid(os.geteuid()).pw_dir
    assert locate.home_folder({"HOME": "relative"}) == pwd.getpwuid(os.geteuid()).pw_dir


@needs_root
def test_a_user_that_nobody_knows_has_no_configuration() -> None:
    code = (
        "import os\n"
        "from coordinatord import locate\n"
        "import pwd; os.setuid(54321)\n"
        "print(locate.user_config({}), locate.home_folder({}))"
    )
    environ = {"PYTHONPATH": str(Path(locate.__file__).parents[1])}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert out.stdout.strip() == "None None", out.stderr


def test_macos_sockets_lie_in_the_library(tmp_path: Path) -> None:
    caches = tmp_path / "Library" / "Caches"
    assert locate.runtime_folder({"HOME": "/Users/nobody"}, platform="darwin").startswith("/tmp/")
    caches.mkdir(parents=True)
    found = locate.runtime_folder({"HOME": str(tmp_path)}, platform="darwin")
    assert found in (f"{caches}/coordinatord", f"/tmp/coordinatord-{os.geteuid()}")


def test_an_installed_unit_owns_the_start(project: Path, tmp_path: Path) -> None:
    workspace = Workspace(str(project), {})
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "conf")}
    assert not locate.service_managed(workspace, environ, platform="linux")
    units = tmp_path / "conf" / "systemd" / "user"
    (units / f"coordinatord@{workspace.instance}.service.d").mkdir(parents=True)
    assert locate.service_managed(workspace, environ, platform="linux")
    assert not locate.service_managed(workspace, environ, platform="darwin")
    agents = tmp_path / "Library" / "LaunchAgents"
    agents.mkdir(parents=True)
    (agents / f"coordinatord.{workspace.instance}.plist").touch()
    assert locate.service_managed(workspace, environ, platform="darwin")


def test_imports_nothing_heavy() -> None:
    code = (
        "import os, stat, sys, binascii; import __future__\nbefore = set(sys.modules)\n"
        "from coordinatord import locate\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    environ = {"PYTHONPATH": str(Path(locate.__file__).parents[1])}
    out = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["coordinatord", "coordinatord.folders", "coordinatord.locate"]
