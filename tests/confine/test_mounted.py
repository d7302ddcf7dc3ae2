"""The further names that bind mounts give a place: what is hidden is hidden by each of them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from executor.confine import Profile, _bubblewrap, launcher
from executor.confine._mounted import Mount, mounts, other_names
from executor.confine._places import devices_elsewhere

ROOT = Mount("8:1", "/", "/")
CASES = {
    "no mount but the root": ([], "/home/me/.ssh", set()),
    "a folder around it": ([Mount("8:1", "/home", "/mnt/homes")], "/home/me/.ssh", {"/mnt/homes/me/.ssh"}),
    "itself": ([Mount("8:1", "/home/me/.ssh", "/keys")], "/home/me/.ssh", {"/keys"}),
    "a file in it": ([Mount("8:1", "/home/me/.ssh/id", "/run/key")], "/home/me/.ssh", {"/run/key"}),
    "something else": ([Mount("8:1", "/home/meow", "/mnt/x")], "/home/me", set()),
    "another file system": ([Mount("8:2", "/", "/mnt")], "/home/me/.ssh", set()),
    "a file system twice": ([Mount("8:2", "/", "/home"), Mount("8:2", "/", "/mnt")], "/home/a", {"/mnt/a"}),
    "a part of one": ([Mount("0:9", "/@home", "/home"), Mount("0:9", "/", "/all")], "/home/a", {"/all/@home/a"}),
    "what lies over it": ([Mount("8:1", "/home", "/mnt"), Mount("8:2", "/", "/mnt")], "/home/a", set()),
}


@pytest.mark.parametrize("name", CASES)
def test_further_names(name):
    mounted, path, expected = CASES[name]
    assert set(other_names([path], (ROOT, *mounted))) == expected


def test_the_table_of_mounts_is_read(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text("36 35 98:0 /a\\040b /mnt\\134c rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n")
    assert mounts(str(table)) == (Mount("98:0", "/a b", "/mnt\\c", "ext3", writable=True),)
    assert mounts(str(tmp_path / "none")) == ()


@pytest.mark.parametrize("profile", ["read", "project"])
def test_a_bind_mount_shows_no_secret_and_opens_none(tmp_path, landlock, bubblewrap, profile):
    folder, other = tmp_path / "home", tmp_path / "other"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "id").write_text("a secret")
    (folder / "plain").write_text("plain")
    other.mkdir()
    (tmp_path / "project").mkdir()
    told = json.dumps({"name": profile, "project": str(tmp_path / "project"), "unreadable": [str(folder / ".ssh")]})
    script = 'mount --bind home other && cd project && exec "$@"'
    look = 'cat ../other/plain ../home/plain; cat ../other/.ssh/id; cat "$1"; true'
    box = [sys.executable, "-I", "-m", "executor.confine", told, "--", "sh", "-c", look, "sh", folder / ".ssh/id"]
    apart = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*apart, "mount", "--bind", folder, other], check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    done = subprocess.run(
        [*apart, "sh", "-c", script, "sh", *box], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "plainplain", done.stderr
    assert done.returncode == 0


def test_a_program_that_a_command_left_in_path_does_not_hide_bubblewrap(tmp_path, monkeypatch):
    real = shutil.which("bwrap")
    if real is None or _bubblewrap.find() is None:
        pytest.skip("there is no bubblewrap")
    planted = tmp_path / "bwrap"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o777)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert _bubblewrap.find() == os.path.realpath(real)


@pytest.mark.parametrize("user", [0, 1000])
@pytest.mark.parametrize("planted", ["a program of its own", "a link to one of root's"])
def test_a_box_cannot_choose_what_is_taken_for_bubblewrap_by_leaving_it_in_path(planted, user, tmp_path, monkeypatch):
    real = shutil.which("bwrap")
    if real is None or _bubblewrap.find() is None:
        pytest.skip("there is no bubblewrap")
    program = tmp_path / "bwrap"
    if planted == "a program of its own":
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)  # root's, where toolexec and its boxes are
    else:
        program.symlink_to("/usr/bin/env")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert _bubblewrap.find() == os.path.realpath(real)


def test_devices_are_found_where_they_are_seen_again():
    mounted = (
        Mount("0:1", "/", "/"),
        Mount("0:6", "/", "/dev", "tmpfs"),
        Mount("0:7", "/", "/dev/pts", "devpts"),
        Mount("0:6", "/", "/srv/root/dev", "tmpfs"),
        Mount("0:6", "/vda", "/srv/disk", "tmpfs"),
        Mount("0:6", "/null", "/proc/kcore", "tmpfs"),  # as Docker hides it
        Mount("0:8", "/", "/srv/other/pts", "devpts"),
    )
    assert set(devices_elsewhere(mounted)) == {"/srv/root/dev", "/srv/disk", "/srv/other/pts"}


def test_a_terminal_cannot_be_read_by_another_mount_of_its_folder(tmp_path, landlock):
    seen = tmp_path / "dev"
    seen.mkdir()
    controller, terminal = os.openpty()
    termios = pytest.importorskip("termios")
    raw = termios.tcgetattr(terminal)
    raw[3] &= ~termios.ICANON
    termios.tcsetattr(terminal, termios.TCSANOW, raw)
    os.write(controller, b"typed")
    name = os.path.basename(os.ttyname(terminal))
    boxed = f"{shlex.join(launcher(Profile('read', '/')))} head -c 5 {seen}/pts/{name}"
    line = f"mount --rbind /dev {seen} && head -c 1 {seen}/pts/{name} && {boxed}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    os.close(terminal)
    os.close(controller)
    if not done.stdout:
        pytest.skip(f"nothing can be mounted: {done.stderr}")
    assert done.stdout == "t"
    assert "ermission denied" in done.stderr
