"""Credentials that a box with a network shows: nothing that another box has made comes to them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from executor.confine import Profile
from executor.confine._closed import unwritable
from executor.confine._environment import clean
from tests.confine.test_closed import git, in_a_box

pytestmark = pytest.mark.usefixtures("bubblewrap")
STEAL = "#!/bin/sh\ncat $HOME/.ssh/id >> {0}/stolen\nexit 1\n"


@pytest.fixture
def project(tmp_path, own_folders, monkeypatch):
    folder = tmp_path / "project"
    git(tmp_path, "init", "-q", "project")
    git(folder, "commit", "-qm", "1", "--allow-empty")
    git(folder, "remote", "add", "origin", "ssh://nowhere.invalid/x")
    (own_folders / ".ssh").mkdir()
    (own_folders / ".ssh" / "id").write_text("SECRET")
    return folder


def fetched(project, own_folders, line="git fetch"):
    """What `line` prints in a box with credentials, and what was stolen by it."""
    in_a_box(project, line, Profile("network", str(project), credentials=(str(own_folders / ".ssh"),)))
    stolen = project / "stolen"
    return stolen.read_text() if stolen.exists() else ""


def made_to_steal(project, name):
    in_a_box(project, f"mkdir -p $(dirname {name}); printf '%s' '{STEAL.format(project)}' > {name}; chmod +x {name}")


def test_the_control_a_program_of_the_user_reads_them(project, own_folders):
    made_to_steal(project, "ssh")
    git(project, "config", "core.sshCommand", f"{project}/ssh")
    assert fetched(project, own_folders) == "SECRET"


def test_no_program_in_a_folder_of_the_project_in_path_reads_them(project, own_folders, monkeypatch):
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{os.environ['PATH']}")
    made_to_steal(project, ".venv/bin/ssh")
    assert fetched(project, own_folders) == ""


def test_no_file_of_the_project_that_shells_run_first_reads_them(project, own_folders, monkeypatch):
    monkeypatch.setenv("BASH_ENV", f"{project}/env.sh")
    made_to_steal(project, "env.sh")
    assert fetched(project, own_folders) == ""


def test_no_options_of_the_environment_name_files_of_the_project_where_they_are_read():
    told = {
        "OPENSSL_CONF": "/project/openssl.cnf",
        "GIT_TEMPLATE_DIR": "templates",
        "PYTHONHOME": "/usr",
        "NODE_OPTIONS": "--require ./hook.cjs",
        "PERL5OPT": "-I/project/lib -Mx",
        "RUBYOPT": "-W0",
    }
    cleaned = clean(told, Profile("network", "/project", credentials=("/home/.ssh",)), "/tmp", "/cache")
    assert cleaned.items() & told.items() == {("PYTHONHOME", "/usr"), ("RUBYOPT", "-W0")}
    assert not {"OPENSSL_CONF", "GIT_TEMPLATE_DIR", "NODE_OPTIONS", "PERL5OPT"} & cleaned.keys()


def test_no_submodule_of_a_box_reads_them(project, own_folders):
    made_to_steal(project, "evil")
    git(project.parent, "init", "-q", "--bare", "up.git")
    git(project, "remote", "set-url", "origin", str(project.parent / "up.git"))
    git(project, "config", "submodule.recurse", "true")
    who = "-c user.name=n -c user.email=e"
    code, said = in_a_box(
        project,
        f"git init -q sub && cd sub && git {who} commit -q --allow-empty -m 1 && git remote add origin ssh://x.invalid/y"
        f" && git config core.sshCommand {project}/evil && cd .. && git add sub"
        " && printf '[submodule \"sub\"]\\n path = sub\\n url = x\\n fetchRecurseSubmodules = true\\n' > .gitmodules",
    )
    assert code == 0, said
    assert fetched(project, own_folders, "git fetch; git fetch origin; git remote update") == ""


def test_in_a_repository_that_a_box_made_nothing_reads_them(project, own_folders):
    subprocess.run(["rm", "-rf", project / ".git"], check=True)
    made_to_steal(project, "evil")
    in_a_box(
        project,
        f"git init -q . && git remote add origin ssh://x.invalid/y && git config core.sshCommand {project}/evil",
    )
    for _ in range(2):
        assert fetched(project, own_folders) == ""
        in_a_box(project, "true")


TOLD = "git remote add origin ssh://x.invalid/y && git config core.sshCommand {0}/evil"


@pytest.mark.parametrize(
    "lines",
    [
        ["git init -q --bare . && " + TOLD],
        ["git init -q sub && cd sub && " + TOLD, "mv sub/.git .git"],
    ],
)
def test_in_a_repository_that_a_box_made_elsewhere_or_without_a_work_tree_nothing_reads_them(
    project, own_folders, lines
):
    shutil.rmtree(project / ".git")
    made_to_steal(project, "evil")
    for line in lines:
        assert in_a_box(project, line.format(project))[0] == 0
    for _ in range(2):
        assert fetched(project, own_folders) == ""


def test_in_a_repository_of_a_box_that_nobody_is_left_to_tell_of_nothing_reads_them(project, own_folders):
    shutil.rmtree(project / ".git")
    made_to_steal(project, "evil")
    code = (
        "import os, signal, subprocess, sys\n"
        "from executor.confine import Profile, start\n"
        "project, line = sys.argv[1:]\n"
        "boxed = start(Profile('project', project), ['bash', '-c', line], cwd=project)\n"
        "boxed.process.wait()\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    line = ("git init -q . && " + TOLD).format(project)
    subprocess.run([sys.executable, "-c", code, str(project), line], check=False)
    assert (project / ".git" / "config").exists()
    for _ in range(2):
        assert fetched(project, own_folders) == ""


def test_what_a_user_makes_between_two_boxes_is_the_users(project, own_folders):
    shutil.rmtree(project / ".git")
    made_to_steal(project, "evil")
    assert in_a_box(project, "true")[0] == 0
    for line in ("git init -q .", TOLD.format(project)):
        subprocess.run(["bash", "-c", line], cwd=project, check=True)
    assert "SECRET" in fetched(project, own_folders)


def test_what_lists_programs_and_libraries_names_none_of_the_project(project):
    told = {
        "PATH": f"{project}/bin:/usr/bin::bin:/bin",
        "LD_LIBRARY_PATH": f"{project}",
        "LD_PRELOAD": f"/usr/lib/a.so {project}/b.so",
        "PYTHONPATH": f"{project}/../project/lib:/opt/lib",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789",
        "PWD": str(project),
    }
    plain = Profile("network", str(project))
    cleaned = clean(told, plain, "/t", "/c")
    assert cleaned["PATH"] == told["PATH"]
    assert cleaned["GIT_CONFIG_VALUE_0"] == ""
    cleaned = clean(told, Profile("network", str(project), credentials=("/home/me/.ssh",)), "/t", "/c")
    names = ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PWD", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0")
    assert [cleaned[name] for name in names] == [
        "/usr/bin:/bin", "", "/usr/lib/a.so", "/opt/lib", str(project), "4", "http.extraHeader",
    ]  # fmt: skip


def test_git_runs_in_every_box_while_a_setting_of_the_environment_is_a_secret(project, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "http.extraHeader")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789")
    assert in_a_box(project, "git log --oneline && env")[0] == 0
    assert "abcdefghijklm" not in in_a_box(project, "env")[1]


@pytest.mark.parametrize("name", ["GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "SSH_ASKPASS"])
def test_what_the_environment_names_as_a_program_for_git_is_closed(project, monkeypatch, name):
    (project / "run").write_text("")
    monkeypatch.setenv(name, f"{project}/run -x")
    assert f"{project}/run" in unwritable(Profile("project", str(project)))
