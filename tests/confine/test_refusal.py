"""What is told of a failure costs little, whatever a command has said."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace

import pytest

from executor.confine import Box, Profile, _refusal, _secret_places, refusal
from executor.confine._folders import UnusableError
from tests.confine.test_closed import in_a_box

BOX = Box("project", "bubblewrap")


@pytest.fixture
def profile(tmp_path):
    return Profile("project", str(tmp_path.resolve()))


def test_the_project_is_looked_through_once_for_many_paths(profile, monkeypatch):
    looked = []
    monkeypatch.setattr(_refusal, "unwritable", lambda profile: looked.append(profile) or ())
    said = "".join(f"touch: cannot touch '{profile.project}/{name}': Permission denied\n" for name in range(100))
    assert refusal(profile, BOX, "touch *", profile.project, said).startswith("Perhaps")
    assert looked == [profile]


@pytest.mark.parametrize("said", ["EPERM " * 2_700, "EPERM (" * 2_300, "EPERM x y=" * 1_600, "is a directory " * 1_000])
def test_a_line_that_is_nothing_but_refusals_is_not_looked_through_for_each(profile, monkeypatch, said):
    looked = []

    class Counted:
        @staticmethod
        def finditer(text):
            looked.append(len(text))
            return paths.finditer(text)

    paths = _refusal._PATHS
    monkeypatch.setattr(_refusal, "_PATHS", Counted)
    refusal(profile, BOX, "node x.js", profile.project, said)
    assert 0 < sum(looked) < 200_000


def test_the_path_in_a_long_line_is_found(profile, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside").resolve() / "file"
    said = f"{'x' * 3_000} cannot touch '{outside}': Permission denied {'y' * 3_000}\n"
    assert f"refused to write {outside}" in refusal(profile, BOX, "touch it", "/", said)


def test_the_homes_of_many_are_looked_through_folder_by_folder(profile, tmp_path, monkeypatch):
    homes, looked = tmp_path / "homes", []
    for number in range(50):
        (homes / f"{number}" / ".ssh").mkdir(parents=True)
    real = os.path.realpath
    monkeypatch.setattr(_secret_places, "HOMES", (str(homes),))
    monkeypatch.setattr(_secret_places, "_home_of", lambda _: "/nowhere")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os.path, "realpath", lambda path: looked.append(path) or real(path))
    said = f"cat: {homes}/7/.ssh: Permission denied\n"
    assert "kept from being read" in refusal(profile, BOX, "cat it", profile.project, said)
    assert len(looked) < 200


@pytest.fixture
def of_another(tmp_path, own_folders, bubblewrap):
    """A project of somebody else, for root."""
    if os.getuid() != 0:
        pytest.skip("only root may write in projects of others")
    tmp_path.chmod(0o755)
    (tmp_path / "old").touch()
    for path in (tmp_path, tmp_path / "old"):
        os.chown(path, 1234, 1234)
    return Profile("project", str(tmp_path.resolve()))


@pytest.mark.parametrize(("line", "named"), [("touch new", "/new"), ("echo x > old", "/old"), ("git init c", "")])
def test_root_is_told_that_its_boxes_write_nothing_of_somebody_else(of_another, line, named):
    _, said = in_a_box(of_another.project, line, of_another)
    told = refusal(of_another, BOX, line, of_another.project, said)
    assert told == (
        f"In the box 'project' root may write what is root's own: {of_another.project}{named} is not. "
        "Run toolexec as the user whose it is"
    )


def test_root_is_told_who_lets_nobody_else_into_the_project(of_another):
    os.chmod(of_another.project, 0o700)
    with pytest.raises(UnusableError, match=f"and {of_another.project} lets only its owner in. Run toolexec as that"):
        in_a_box(of_another.project, "true", of_another)


SAID = "touch: cannot touch '/etc/x1': Permission denied"


@pytest.mark.parametrize(
    ("line", "said", "pattern"),
    [
        ("touch /etc/x1", SAID, "touch /etc/x1"),
        (["touch", "/etc/x1"], SAID, "touch /etc/x1"),
        ("cd sub && touch /etc/x1", SAID, "touch /etc/x1"),
        ("ls; touch /etc/x1 2>&1", SAID, "touch /etc/x1"),
        ("touch /etc/x1 'a b'", SAID, "touch /etc/x1 'a b'"),
        ("touch /etc/x1 *.a", SAID, None),
        ("touch a; touch /etc/x1", SAID, None),
        ("touch -a *.a /etc/x1", SAID, None),
        ("touch -d 'Authorization: Bearer abcdefgh12345678' /etc/x1", SAID, None),
        ("FOO=1 touch /etc/x1", SAID, None),
        ("if true; then touch /etc/x1; fi", SAID, None),
        ("(touch /etc/x1)", SAID, None),
        ("env touch /etc/x1", SAID, None),
        (["env", "touch", "/etc/x1"], SAID, None),
        ("bash -c 'touch /etc/x1'", SAID, None),
        ("git config a.b c", "error: could not lock config file /etc/x1: Permission denied", "git config a.b c"),
        ("git config a.b $C", "error: could not lock config file /etc/x1: Permission denied", None),
        ("git -C $X config a.b c", "error: could not lock config file /etc/x1: Permission denied", None),
        ("echo 'touch: cannot touch' >&2; false", SAID, None),
        ("python3 -c 1 > /etc/x1", "/bin/bash: line 1: /etc/x1: Permission denied", None),
    ],
)
def test_only_the_program_that_was_refused_is_advised(profile, line, said, pattern):
    told = refusal(profile, BOX, line, profile.project, said)
    assert "refused to write /etc/x1" in told
    assert "bash" not in told
    assert (f'add "{pattern}"' in told) if pattern else ('add "' not in told)


def test_of_a_redirection_the_rule_is_told_that_opens_the_box(profile):
    said = "/bin/bash: line 1: /etc/x1: Read-only file system\n"
    for line, by in (("ls > /etc/x1", "/bin/bash: line 1"), ("ls | tee /etc/x1", "tee")):
        told = refusal(profile, BOX, line, profile.project, f"{by}: /etc/x1: Read-only file system\n")
        assert told.endswith("To allow it: toolexec permissions add 'writeFile(path=/etc/x1)'")
    for name in ("*", "x**", "a(b"):  # in a rule they would stand for more than this file
        told = refusal(profile, BOX, f"ls > '/etc/{name}'", profile.project, said.replace("x1", name))
        assert "refused to write /etc/" in told
        assert "writeFile" not in told
    inside = said.replace("/etc/x1", f"{profile.project}/.git/config")
    assert "writeFile" not in (refusal(profile, BOX, "ls > .git/config", profile.project, inside) or "")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("ls > ../x1", "../x1"),
        ("ls 2>../x1", "../x1"),
        ("ls &>> ~/x1", "~/x1"),
        ("ls > $HOME/x1", "~/x1"),
        ("cat > ../x1 <<'E'\n it's\nE\n", "../x1"),
        ("for i in 1 2; do echo $i; done > ../x1", "../x1"),
        ("ls > '../a b'", "../a b"),
        ("ls | tee -a ../x1", "../x1"),
        (["tee", "../x1"], "../x1"),
    ],
)
def test_the_rule_for_a_redirection_is_about_the_file_that_the_line_names(profile, own_folders, line, place):
    told = refusal(profile, BOX, line, profile.project, f"bash: line 1: {place}: Permission denied\n")
    there = os.path.realpath(os.path.join(profile.project, place.replace("~", str(own_folders))))
    assert f"refused to write {there}. " in told
    assert told.endswith(f"To allow it: toolexec permissions add 'writeFile(path={there})'")


@pytest.mark.parametrize(
    "line",
    [
        "true > ./t; cat text >&2",
        "tee ./ok < text; cat text >&2",
        "cat text >&2 # > /etc/x1",
        "cat text > x1 >&2 <<E\n > /etc/x1\nE\n",
    ],
)
def test_what_a_command_prints_names_no_file_for_a_rule(profile, line):
    for said in ("bash: line 1: /etc/x1: Permission denied\n", "tee: /etc/x1: Permission denied\n"):
        assert "writeFile" not in refusal(profile, BOX, line, profile.project, said)


@pytest.mark.parametrize("name", ["a b", "it's", 'a"b'])
def test_a_file_with_an_odd_name_is_told_by_its_whole_name(profile, name):
    line = f"true > {shlex.quote(f'/etc/{name}')}"
    told = refusal(profile, BOX, line, profile.project, f"bash: line 1: /etc/{name}: Permission denied\n")
    assert f"refused to write /etc/{name}. " in told


@pytest.mark.parametrize("command", ["systemctl status x", "podman ps", "docker ps"])
def test_of_a_program_with_sub_commands_the_one_that_was_refused_is_advised_and_not_all(profile, command):
    said = "Cannot connect to /run/x.sock: socket: Operation not permitted\n"
    assert f"add \"{command}\" to 'open'" in refusal(profile, BOX, command, profile.project, said)


def test_what_a_hidden_folder_looks_empty_for_was_refused(profile, own_folders):
    (own_folders / ".ssh").mkdir()
    (own_folders / ".ssh" / "id_rsa").write_text("SECRET")
    for said in (
        "cat: {}: No such file or directory\n",
        "FileNotFoundError: [Errno 2] No such file or directory: '{}'",
    ):
        there, missing = (said.format(own_folders / ".ssh" / name) for name in ("id_rsa", "missing"))
        told = refusal(profile, BOX, "cat ~/.ssh/*", profile.project, there)
        assert "is kept from being read" in told
        for other in (missing, said.format("~/.ssh/id_rsa")):  # a folder called "~" is not the home folder
            assert refusal(profile, BOX, "cat ~/.ssh/*", profile.project, other) is None


@pytest.mark.parametrize("name", ["read", "project"])
def test_a_folder_that_is_one_was_not_refused(profile, tmp_path, name):
    (tmp_path / "src").mkdir()
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / ".git" / "hooks" / "pre-push").touch()
    profile = replace(profile, name=name)
    for path in ("src", ".git/hooks"):
        assert refusal(profile, BOX, f"cat {path}", profile.project, f"cat: {path}: Is a directory\n") is None
    said = "bash: .toolexec: Is a directory\n"  # stands there while the box runs
    told = refusal(profile, BOX, "echo x > .toolexec", profile.project, said)
    assert f"refused to write {tmp_path}/.toolexec" in told


def test_a_database_that_could_not_be_made_was_refused_perhaps(profile):
    said = 'Error: unable to open database "/etc/x.db": unable to open database file\n'
    assert "The box 'project'" in refusal(profile, BOX, "sqlite3 /etc/x.db .tables", profile.project, said)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("cat: /etc/shadow: Permission denied\n", None),
        ("tar: /etc/new: Cannot open: Permission denied\n", None),
        ("cp: cannot open '/etc/shadow' for reading: Permission denied\n", None),
        ("sed: can't read /etc/shadow: Permission denied\n", None),
        ("mkdir: cannot create directory '/usr/x': Permission denied\n", None),
        ("PermissionError: [Errno 13] Permission denied: '/etc/shadow'\n", None),
        ("cat: /etc/shadow: Permission denied\nstrace: ptrace: Operation not permitted\n", "Perhaps"),
        ("cat: /dev/mem: Permission denied\n", "Perhaps"),
        ("/usr/bin/ping: socket: Operation not permitted\n", "Perhaps"),
        ("x: Permission denied\n", "Perhaps"),
    ],
)
def test_what_an_ordinary_user_may_not_do_either_is_not_put_down_to_the_box(profile, said, told, monkeypatch):
    monkeypatch.setattr(_refusal.os, "geteuid", lambda: 65534)
    closed = ("/etc", "/usr", "/dev")
    monkeypatch.setattr(_refusal.os, "access", lambda path, mode: not path.startswith(closed))
    for command in ("x", "diff ./f /etc/shadow"):
        found = refusal(replace(profile, name="network"), BOX, command, profile.project, said)
        assert found is None if told is None else found.startswith(told)
    if told is None:
        assert refusal(replace(profile, name="read"), BOX, "diff ./f /etc/shadow", profile.project, said) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("curl: (6) Could not resolve host: example.com", True),
        ("curl: (5) Couldn't resolve proxy: p", True),
        ("ssh: Could not resolve hostname h: Name or service not known", True),
        ("wget: unable to resolve host address 'example.com'", True),
        ("Temporary failure resolving 'deb.debian.org'", True),
        ("Failed to connect to localhost port 80", True),
        ("fatal: Failed to resolve 'HEAD' as a valid ref.", False),
        ("error[E0433]: failed to resolve: use of undeclared crate or module `x`", False),
        ('[ERROR] Could not resolve "./missing"', False),
        ('Failed to resolve import "./x" from "src/main.ts"', False),
    ],
)
def test_what_cannot_resolve_anything_but_an_address_wants_no_network(profile, said, told):
    assert ("has no network" in (refusal(profile, BOX, "npm run build", profile.project, said) or "")) is told


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("cd web && npm install lodash", "add \"npm install lodash\" to 'network'"),
        ("cd web; cd ..; npm ci", "add \"npm ci\" to 'network'"),
        ("cd web && npm run x; npm ci", "what was refused has to be in 'network'"),
        ("cd web && ./fetch", "what was refused has to be in 'network'"),
        ("cd web", "what was refused has to be in 'network'"),
    ],
)
def test_the_one_program_that_a_cd_stands_before_is_named(profile, line, advice):
    said = "npm error request to https://registry.npmjs.org/lodash failed, reason: getaddrinfo EAI_AGAIN\n"
    assert advice in refusal(replace(profile, name="project"), BOX, line, profile.project, said)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A project with programs in a folder of PATH, at its root and below."""
    project = tmp_path / "project"
    for path in ("project/.venv/bin/inside", "project/run", "project/sub/run", "bin/outside"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o755)
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{tmp_path}/bin:/usr/bin")
    return project.resolve()


@pytest.mark.parametrize(
    ("line", "folder", "pattern", "whole"),
    [
        ("outside a", ".", "outside a", False),
        ("inside a", ".", "{}/.venv/bin/inside a", True),
        (["inside", "/etc/x1"], ".", "{}/.venv/bin/inside /etc/x1", True),
        ("./run a", ".", "./run a", False),
        ("./run a", "sub", "{}/sub/run a", True),
        ("../run a", "sub", "{}/run a", True),
        ("cd sub && ./run a", "sub", None, False),
    ],
)
def test_of_a_program_that_is_boxed_by_this_name_its_whole_path_is_advised(programs, line, folder, pattern, whole):
    name = "run" if "run" in line else "inside" if "inside" in line else "outside"
    said = f"{name}: cannot open '/etc/x1': Read-only file system\n"
    told = refusal(Profile("project", str(programs)), BOX, line, str(programs / folder), said)
    assert "refused to write /etc/x1" in told
    assert ("by its whole path" in told) == whole
    assert (f"add \"{pattern.format(programs)}\" to 'open'" in told) if pattern else ('add "' not in told)
    read = refusal(Profile("read", str(programs)), Box("read", "landlock"), line, str(programs / folder), said)
    assert ("by its whole path" in read) == whole


def test_what_an_answer_keeps_in_its_box_no_line_of_the_policy_lets_out(profile):
    revoke = ", and revoke the answer that keeps this box: toolexec permissions grants list"
    for kept, is_told in (("project", True), ("open", False), (None, False)):
        told = refusal(replace(profile, answered=kept), BOX, "touch /etc/x1", profile.project, SAID)
        assert told.endswith(revoke) == is_told
