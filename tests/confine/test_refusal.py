"""What is told of a failure costs little, whatever a command has said."""

from __future__ import annotations

import pytest

from executor.confine import Box, Profile, _refusal, refusal

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


SAID = "touch: cannot touch '/etc/x1': Permission denied"


@pytest.mark.parametrize(
    ("line", "said", "pattern"),
    [
        ("touch /etc/x1", SAID, "touch * /etc/*"),
        (["touch", "/etc/x1"], SAID, "touch * /etc/*"),
        ("cd sub && touch /etc/x1", SAID, "touch * /etc/*"),
        ("ls; touch /etc/x1", SAID, "touch * /etc/*"),
        ("touch /etc/x1 a", SAID, "touch *"),
        ("FOO=1 touch /etc/x1", SAID, None),
        ("if true; then touch /etc/x1; fi", SAID, None),
        ("(touch /etc/x1)", SAID, None),
        ("env touch /etc/x1", SAID, None),
        (["env", "touch", "/etc/x1"], SAID, None),
        ("bash -c 'touch /etc/x1'", SAID, None),
        ("git config a.b c", "error: could not lock config file /etc/x1: Permission denied", "git config *"),
        ("git -C x config a.b c", "error: could not lock config file /etc/x1: Permission denied", None),
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
    told = refusal(profile, BOX, "ls > /etc/x1", profile.project, said)
    assert told.endswith("To allow it: toolexec permissions add 'writeFile(path=/etc/x1)'")
    inside = said.replace("/etc/x1", f"{profile.project}/.git/config")
    assert "writeFile" not in (refusal(profile, BOX, "ls > .git/config", profile.project, inside) or "")


@pytest.mark.parametrize("command", ["systemctl status x", "podman ps", "docker ps"])
def test_of_a_program_with_sub_commands_the_one_that_was_refused_is_advised_and_not_all(profile, command):
    said = "Cannot connect to /run/x.sock: socket: Operation not permitted\n"
    program, sub = command.split()[:2]
    assert f"add \"{program} {sub} *\" to 'open'" in refusal(profile, BOX, command, profile.project, said)
