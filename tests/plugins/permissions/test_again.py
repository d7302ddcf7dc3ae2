"""What was judged before is judged alike, until its rules, its folder or the file system are others."""

from __future__ import annotations

import os
import random
import shutil

import pytest

from executor_permissions import Policy
from executor_permissions.judge import _shell_again
from executor_permissions.judge._shell_known import _LONGEST_KEPT, _MOST_KEPT, Memory
from executor_permissions.judge.paths._globs import TreeWildcard
from executor_permissions.judge.rules._scene import CallInfo

POLICY = {
    "defaultPolicy": "ask",
    "blacklist": {"arguments": {"readFile": {"path": ["secret/", "**/*.key"]}}},
    "whitelist": {"patterns": ["cat *", "ls *", "git *", "grep *"], "arguments": {"writeFile": {"path": ["out/"]}}},
}


@pytest.fixture
def project(tmp_path):
    root = tmp_path.resolve() / "project"
    for name in ("secret", "src", "out"):
        (root / name).mkdir(parents=True)
    for name in ("secret/a", "src/a", "src/b.key"):
        (root / name).write_text("x")
    return root


@pytest.fixture
def decide(project, monkeypatch):
    """The verdict on a command; `judged` counts how many were judged from the beginning."""
    judged = []

    class Counted(_shell_again.ShellJudge):
        def judge_text(self, text):
            judged.append(text)
            return super().judge_text(text)

    monkeypatch.setattr(_shell_again, "ShellJudge", Counted)
    policy = Policy.from_dict(POLICY, project_root=project, home=project.parent)

    def decide(command, **further):
        return policy.decide("runCommand", {"command": command, **further}, CallInfo(str(project))).verdict

    decide.judged = judged
    return decide


def test_the_same_command_is_judged_once(decide):
    for command in ("cat src/a", "ls src && git status", "cat secret/a"):
        assert len({decide(command) for _ in range(3)}) == 1
    assert len(decide.judged) == 3


def link(project):
    (project / "src/a").unlink()
    (project / "src/a").symlink_to("../secret/a")


def link_above(project):
    shutil.rmtree(project / "src")
    (project / "src").symlink_to("secret")


def link_out(project):
    shutil.rmtree(project / "out")
    (project / "out").symlink_to("/etc")


def repository(project):
    (project / "src/.git").mkdir()


@pytest.mark.parametrize(
    ("command", "change", "then"),
    [
        ("cat src/a", link, "deny"),
        ("cat src/a", link_above, "deny"),
        ("ls src; cat src/a", link, "deny"),
        ("echo x > out/file", link_out, "ask"),
        ("git -C src status", repository, "ask"),
    ],
)
def test_what_is_put_in_its_way_is_seen(decide, project, command, change, then):
    before = decide(command)
    assert decide(command) == before != "deny"
    change(project)
    assert decide(command) == then


def test_a_link_that_it_went_through_leads_elsewhere_another_time(project):
    policy = Policy.from_dict(POLICY, project_root=project, home=project.parent)

    def reading():
        return policy.decide("runCommand", {"command": "cd way/.. && cat a"}, CallInfo(str(project))).parts[-1].verdict

    (project / "way").symlink_to("src")
    assert reading() == "allow"
    (project / "way").unlink()
    (project / "secret/below").mkdir()
    (project / "way").symlink_to("secret/below")
    assert reading() == "deny"


@pytest.mark.parametrize(("loop", "verdict"), [("while", "ask"), ("until", "deny")])
def test_the_body_of_a_loop_runs_where_its_condition_has_led(project, loop, verdict):
    policy = Policy.from_dict({**POLICY, "whitelist": {}}, project_root=project, home=project.parent)
    command = f"{loop} cd out; do cat secret/a; done"
    found = policy.decide("runCommand", {"command": command}, CallInfo(str(project))).parts[-1]
    assert (found.text, found.verdict) == ("cat secret/a", verdict)


def test_what_is_there_only_later_is_seen(decide, project):
    shutil.rmtree(project / "secret")
    assert decide("grep -r x .", cwd=str(project / "src")) == decide("grep -r x .", cwd=str(project / "src"))
    assert decide("cp -r . /dev/null") == "ask"
    allowed = decide("grep -r x src/a")
    assert allowed == "allow"
    (project / "secret").mkdir()
    assert decide("grep -r x src/a") == "allow"


def test_where_files_were_listed_it_is_judged_anew(decide, project):
    decide("cat src/*")
    decide("cat src/*")
    assert decide.judged == ["cat src/*"] * 2


def test_another_folder_is_another_question(decide, project):
    assert decide("cat a") == "allow"
    assert decide("cat a", cwd="src") == "allow"
    assert decide("cat a", cwd="secret") == "deny"
    assert decide("cat a") == "allow"


def test_what_the_shell_inherits_is_part_of_the_question(decide, project, monkeypatch):
    decide("cd src && cat a")
    monkeypatch.setenv("CDPATH", "/etc")
    decide("cd src && cat a")
    monkeypatch.setenv("PWD", f"{os.path.realpath('/')}proc/self/cwd")
    decide("cd src && cat a")
    assert len(decide.judged) >= 2


SPELT = ["cd", "c\\d", "c'd'", '"c"d', "c\\\nd", "x=d; c$x", "x=c; y=d; $x$y", "$'cd'", "builtin c\\d", "p\\ushd"]


@pytest.mark.parametrize("cd", SPELT)
def test_the_shell_calls_its_folder_as_its_parent_did_however_the_command_is_spelt(decide, project, monkeypatch, cd):
    (project / "secret/link").symlink_to(project / "src")
    command = f"{cd} .. && cat a"
    monkeypatch.setenv("PWD", str(project / "src"))
    assert decide(command, cwd="src") != "deny"
    monkeypatch.setenv("PWD", str(project / "secret/link"))
    assert decide(command, cwd="src") == "deny"


def test_an_inner_shell_calls_its_folder_as_its_parent_did_too(project, monkeypatch):
    rules = {"defaultPolicy": "allow", "blacklist": {"arguments": {"readFile": {"path": ["../elsewhere/key"]}}}}
    policy = Policy.from_dict(rules, project_root=project, home=project.parent)
    (project.parent / "elsewhere").mkdir()
    (project.parent / "elsewhere/key").touch()
    (project.parent / "elsewhere/link").symlink_to(project / "src")
    call = {"argv": ["bash", "-c", "cd .. && cat key"], "cwd": "src"}
    assert policy.decide("runCommand", call, CallInfo(str(project))).verdict == "ask"
    monkeypatch.setenv("PWD", str(project.parent / "elsewhere/link"))
    assert policy.decide("runCommand", call, CallInfo(str(project))).verdict == "deny"


def test_answers_of_people_are_heeded_at_once(project):
    from executor import ToolCall
    from executor_permissions import PermissionPlugin

    plugin = PermissionPlugin(policy=POLICY, project_root=project, home=project.parent)
    call = ToolCall("1", "runCommand", {"command": "make all"})
    assert [plugin.decide(call).verdict for _ in range(2)] == ["ask", "ask"]
    plugin.session.allow("make *")
    assert plugin.decide(call).verdict == "allow"
    plugin.session.deny("make *")
    assert plugin.decide(call).verdict == "deny"
    plugin.session.clear()
    assert plugin.decide(call).verdict == "ask"


def test_what_is_longer_than_anybody_writes_is_asked_about(decide, project):
    nested = "timeout 5 " * 3000 + "ls"
    assert decide(nested) == "ask"
    names = " ".join(f"src/a{i}" for i in range(2600))
    assert decide(f"cat {names}") == "ask"
    policy = Policy.from_dict({"whitelist": {"arguments": {"readFile": {"path": ["src/"]}}}}, project_root=project)
    paths = [f"src/a{i}" for i in range(501)]
    found = [policy.decide("readFile", {"path": given}, CallInfo(str(project))) for given in (paths[:500], paths)]
    assert [decision.verdict for decision in found] == ["allow", "ask"]
    assert "more paths" in found[1].reason


@pytest.mark.parametrize("seed", range(10))
def test_the_first_look_at_a_text_never_keeps_a_glob_from_fitting(seed):
    source = random.Random(seed)
    fitted = 0
    for _ in range(400):
        glob = TreeWildcard.of("".join(source.choice(["a", "b", "/", "*", "**", "**/", "\\*"]) for _ in range(5)))
        text = "".join(source.choice("ab/*") for _ in range(source.randrange(7)))
        fits = glob._replace(pieces=()).fits(text)
        assert glob.fits(text) is fits
        fitted += fits
    assert fitted


def test_only_so_much_is_kept():
    memory = Memory()
    for number in range(2000):
        memory.keep(number, object(), 10)
        assert len(memory) <= _MOST_KEPT
    memory.keep("long", object(), _LONGEST_KEPT + 1)
    assert 1999 in memory
    assert "long" not in memory
