"""Which box a call gets: by the policy, by the tables, by a grant; and what a person's answer does about it."""

from __future__ import annotations

import json
import os
import re

import pytest

from executor import Decision, ToolCall, ToolExecutor, hookimpl
from executor.confine import Box, Profile, refusal
from executor.errors import ConfinementError
from executor.registry import PluginRegistry
from executor_permissions import PermissionPlugin, Policy
from executor_permissions._boxes import boxed
from executor_permissions.commands._start import starter
from executor_permissions.judge.boxes._profile import of_words
from executor_permissions.judge.rules._rules import Part
from executor_permissions.judge.rules._scene import CallInfo
from executor_permissions.store._load import load_effective, project_file

ALL = {"whitelist": {"tools": ["runCommand"]}}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "config").touch()
    return folder


@pytest.fixture
def chosen(project):
    """The profile's name that a command gets, by a policy that lets everything run; None for no box."""

    def choose(command, confine=None, *, version="1.2", **more):
        value = {"version": version, "defaultPolicy": "allow", **more}
        if confine is not None:
            value["confine"] = confine
        policy = Policy.from_dict(value, project_root=project, home=project.parent / "home")
        decision = policy.decide("runCommand", {"command": command}, CallInfo(str(project)))
        told = boxed(decision, policy, "runCommand")
        return told.verdict, told.confine.name if told.confine is not None else None

    return choose


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Gives what makes programs in a folder of PATH, and has some in one outside of the project."""

    def make(folder, *names):
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
        return folder

    monkeypatch.setenv("PATH", str(make(tmp_path / "bin", "docker", "systemctl", "make")))
    return make


def test_of_the_starter_policy_what_only_asks_a_daemon_reaches_it_and_is_asked_about_beside_others(project, programs):
    policy = Policy.from_dict(starter(), project_root=project, home=project.parent / "home")
    for command in ("docker ps -a", "docker images -q", "systemctl status nginx", "systemctl is-active nginx"):
        for line, verdict in ((command, "allow"), (f"{command} | head -3", "ask")):
            decision = policy.decide("runCommand", {"command": line}, CallInfo(str(project)))
            assert decision.verdict == "allow"
            told = boxed(decision, policy, "runCommand")
            assert (told.verdict, told.confine and told.confine.name) == (
                verdict,
                None if verdict == "allow" else "read",
            )
        for odd in (command.replace(" ", " -H tcp://x ", 1), f"DOCKER_HOST=tcp://x {command}", f"./{command}"):
            assert policy.decide("runCommand", {"command": odd}, CallInfo(str(project))).verdict == "ask", odd


@pytest.mark.parametrize(
    ("command", "profile"),
    [
        ("ls -la", "read"),
        ("git status", "read"),
        ("cat a | grep b | wc -l", "read"),
        ("find . -name '*.py' -exec grep -l x {} +", "read"),
        ("timeout 5 ls", "read"),
        ("cd src && ls", "read"),
        ("git commit -m x", "project"),
        ("cp a b", "project"),
        ("mkdir d", "project"),
        ("npm test", "project"),
        ("sort -o x y", "project"),
        ("find . -delete", "project"),
        ("find . -name x -exec rm {} +", "project"),
        ("find . -exec cat {} + -exec sh -c 'rm x' ;", "project"),
        ("find . -exec timeout 5 ls {} +", "read"),
        ("find . -exec curl {} +", "network"),
        ("fd -x rm", "project"),
        ("xargs rm", "project"),
        ("nobody-knows-this", "project"),
        ("git fetch", "network"),
        ("curl http://example.org", "network"),
        ("kubectl version", "network"),
        ("kubectl api-resources", "network"),
        ("docker search x", "network"),
    ],
)
def test_the_tables_know_a_profile(command, profile, chosen):
    assert chosen(command) == ("allow", profile)


def test_a_whole_line_gets_the_widest_of_its_commands(chosen):
    assert chosen("ls && make")[1] == "project"
    assert chosen("ls && make && git fetch")[1] == "network"


@pytest.mark.parametrize(
    ("confine", "command", "profile"),
    [
        ({"read": ["make *"]}, "make", "read"),
        ({"project": ["ls *"]}, "ls", "project"),
        ({"network": ["make *"], "project": ["make test *"]}, "make test", "network"),
        ({"open": ["make *"]}, "make", None),
        ({"open": ["make *"]}, "ls", "read"),
        ({"default": "network"}, "ls", "network"),
        ({"default": "network", "read": ["ls *"]}, "ls", "read"),
        ({"default": "open"}, "anything", None),
        ({"default": "open"}, "anything > log", None),
        ({"default": "network"}, "ls > log", "network"),
        ({"default": "read"}, "ls > log", "project"),
    ],
)
def test_the_lists_of_the_policy_come_first(confine, command, profile, chosen, programs):
    assert chosen(command, confine) == ("allow", profile)


def test_a_line_that_is_boxed_in_part_is_asked_about_and_has_the_box_of_that_part_where_nobody_looks(chosen, programs):
    assert chosen("make && ls", {"open": ["make *"]}) == ("ask", "read")
    assert chosen("make && touch /etc/x && ls", {"open": ["make *"]}) == ("ask", "project")
    lists = {"whitelist": {"patterns": ["make *"]}, "defaultPolicy": "ask"}
    assert chosen("make && ./x", {"open": ["make *"]}, **lists) == ("ask", "project")


def test_what_a_cd_into_the_project_leads_to_is_as_if_it_had_been_started_there(chosen, programs, project, monkeypatch):
    confine = {"open": ["make *", "docker *", "./deploy *"]}
    (project / "sub").mkdir()
    (project / "out").symlink_to(project.parent)
    for line in ("cd sub && make", "cd sub; docker ps && make", "(cd ./sub && make)", f"cd {project}/sub\nmake"):
        assert chosen(line, confine) == ("allow", None), line
    assert chosen("cd . && ./deploy x", confine) == ("allow", None)
    assert chosen("cd sub && ./deploy x", confine) == ("allow", "project")
    for line in ("cd .. && make", "cd / && make", "cd out && make", "cd ~ && make", "cd - && make", "cd -P sub && make",
                 "cd sub && cd ../.. && make", "cd sub && ls && make"):  # fmt: skip
        assert chosen(line, confine) == ("ask", "read"), line
    for line in ("cd $x && make", "cd sub > x && make", "cd sub && make > x"):
        assert chosen(line, confine) == ("ask", "project"), line
    assert chosen("cd sub", confine) == ("allow", "read")
    # Shells take ".." by names: this is sub, where a box may have made the link and the program.
    (project / "other").mkdir()
    (project / "sub" / "link").symlink_to(project / "other")
    assert chosen("cd sub/link/.. && ./deploy x", confine) == ("allow", "project")
    # And they call the folder that they start in as their parent did.
    (project.parent / "elsewhere").mkdir()
    (project.parent / "elsewhere" / "link").symlink_to(project)
    monkeypatch.setenv("PWD", str(project.parent / "elsewhere" / "link"))
    assert chosen("cd ../project && make", confine) == ("ask", "read")
    monkeypatch.setenv("CDPATH", "/srv")
    assert chosen("cd sub && make", confine) == ("ask", "read")


OTHERS = ("./{}", "/srv/x/{}", "PATH=. {}", "X=1 {}", "'{}'", "\\{}", "env {}", "exec {}", "$x{}", "{} --file x",
          "{} -f x", "{} SHELL=./x", "{} --eval=x")  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", ["open", "network"])
def test_what_a_list_lets_do_more_is_what_a_rule_would_allow(chosen, programs, name, other):
    wide, usual = None if name == "open" else name, "project"
    assert chosen("make", {name: ["make *"]}) == ("allow", wide)
    assert chosen(other.format("make"), {name: ["make *"]})[1] == usual
    assert chosen(other.format("make"), {"network": ["make *"], "default": "open"})[1] != "project"


@pytest.mark.parametrize("name", ["open", "network"])
def test_and_how_long_it_may_take_changes_nothing_of_it(chosen, programs, project, monkeypatch, name):
    wide, usual = None if name == "open" else name, "project"
    confine, path = {name: ["make x *"]}, os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{programs(project.parent / 'bin', 'timeout')}{os.pathsep}{path}")
    for time in ("60", "0.5", "2m", "1.5h"):
        assert chosen(f"timeout {time} make x", confine) == ("allow", wide)
    others = ("-s 9 5", "--foreground 5", "5 timeout 5", "5 env", "$x", "5 -k 1", "5 X=1", "five", "5 ./", "5 sh -c")
    for other in others:
        assert chosen(f"timeout {other} make x", confine)[1] == usual
    for line in (
        "./timeout 5 make x",
        "X=1 timeout 5 make x",
        "timeout 5 make y",
        "timeout 5 make x --eval=x",
        "timeout 5",
    ):
        assert chosen(line, confine)[1] == usual
    assert chosen("timeout 5 make y", {name: ["timeout 5 make *"]}) == ("allow", wide)
    monkeypatch.setenv("PATH", f"{programs(project / 'bin', 'timeout')}{os.pathsep}{os.environ['PATH']}")
    assert chosen("timeout 5 make x", {"open": ["make *"]})[1] == "project"  # the project's own timeout


@pytest.mark.parametrize("other", OTHERS[:3])
def test_what_a_list_keeps_is_kept_in_whatever_spelling(chosen, programs, other):
    assert chosen(other.format("make"), {"read": ["make *"]})[1] == "read"


@pytest.mark.parametrize(
    "around", ["{}", "timeout 5 {}", "nohup nice {}", "xargs {}", "sh -c '{}'", "env sh -c '{}; {}'"]
)
def test_and_behind_whatever_stands_around_it(chosen, programs, around):
    line = around.format(*["curl x"] * 2)
    assert chosen(line, {"project": ["curl *"]})[1] == "project"
    assert chosen(line, {"default": "open", "read": ["curl *"]})[1] == "read"
    assert chosen("timeout 5 curl x", {"project": ["wget *"]})[1] == "network"
    both = {"default": "open", "read": ["curl *"], "project": ["make *"]}
    assert chosen("sh -c 'curl x; make'", both)[1] == "project"
    assert chosen("sh -c 'curl x; ./y'", both)[1] is None
    assert chosen("ssh h curl x", {"read": ["curl *"]})[1] == "network"  # of another machine


def test_nothing_is_open_that_the_project_may_have_put_in_the_place_of_a_program(
    chosen, programs, project, monkeypatch
):
    confine, path = {"open": ["make *", "./bin/tool *"]}, os.environ["PATH"]
    assert chosen("make", confine) == ("allow", None)
    assert chosen("./bin/tool x", confine) == ("allow", None)  # as it is written there
    for folder in (programs(project / "bin", "make"), programs(project / ".venv" / "bin", "make")):
        monkeypatch.setenv("PATH", f"{folder}:{path}")
        assert chosen("make", confine) == ("allow", "project")
    for before in (".", "bin", ""):
        monkeypatch.setenv("PATH", f"{before}:{path}")
        assert chosen("make", confine) == ("allow", "project")
    elsewhere = programs(project.parent / "other", "x")
    (elsewhere / "make").symlink_to(project / "bin" / "make")
    monkeypatch.setenv("PATH", f"{elsewhere}:{path}")
    assert chosen("make", confine) == ("allow", "project")


@pytest.mark.parametrize(
    "around", ["timeout 5", "nice -n 5", "env FOO=1", "timeout 5 nice", "setsid", "flock f", "watch"]
)
def test_nor_where_a_program_from_elsewhere_stands_around_it(chosen, programs, project, monkeypatch, around):
    confine = {"open": [f"{around} make *", f"{around} ./bin/tool *"]}
    wrappers = ("timeout", "nice", "env", "setsid", "flock", "watch")
    monkeypatch.setenv("PATH", f"{programs(project.parent / 'bin', *wrappers)}")
    assert chosen(f"{around} make", confine)[1] is None
    monkeypatch.setenv("PATH", f"{programs(project / '.venv' / 'bin', 'make')}{os.pathsep}{os.environ['PATH']}")
    assert chosen(f"{around} make", confine)[1] == "project"
    assert chosen(f"{around} ./bin/tool", confine)[1] is None  # as it is written there


def test_nor_by_an_answer_that_was_given_before_it_was_there(project, programs, monkeypatch):
    opened = {"version": "1.2", "defaultPolicy": "ask", "confine": {"open": ["make *"]}}
    policy = Policy.from_dict(opened, project_root=project, home=project.parent)
    part = Part("make x", "allow", "make x", "", "grant", words=("make", "x"))
    path = os.environ["PATH"]
    for shown in ("open", None):
        assert policy.boxes.choose([part], {"make x": shown}).profile is None
    monkeypatch.setenv("PATH", f"{programs(project / '.venv' / 'bin', 'make')}:{path}")
    for shown in ("open", None):
        assert policy.boxes.choose([part], {"make x": shown}).profile.name == "project"


OF_OLDER = [
    ("ls", "read"), ("make", None), ("ls && make", None), ("foo", None), ("ls > out", None), ("ls | tee out", None),
    ("ls > /dev/null 2>&1", "read"), ("cat < in", "read"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "profile"), OF_OLDER)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_files_of_older_versions_box_what_is_known_to_read(command, profile, version, chosen):
    assert chosen(command, version=version) == ("allow", profile)


def profile_of(policy, command):
    decision = policy.decide("runCommand", {"command": command}, CallInfo(policy.places.project))
    return boxed(decision, policy, "runCommand").confine


def test_a_profile_has_what_the_policy_says_of_files(project):
    denied = {
        "readFile": {"path": ["~/.ssh/", "${project}/.env", "${project}/secrets/"]},
        "writeFile": {"path": ["${project}/.git/", "${project}/.env", "/etc/", "${project}/ci.yml"]},
    }
    value = {**ALL, "version": "1.2", "blacklist": {"arguments": denied}, "confine": {"env": ["MY_TOKEN"]}}
    policy = Policy.from_dict(value, project_root=project, home=project.parent / "home")
    profile = profile_of(policy, "make")
    p = str(project)
    assert {f"{p}/.env", f"{p}/secrets", str(project.parent / "home" / ".ssh")} <= set(profile.unreadable)
    assert {f"{p}/.env", f"{p}/.git/hooks", f"{p}/.git/config", f"{p}/ci.yml", f"{p}/.toolexec"} <= set(
        profile.unwritable
    )
    assert f"{p}/.git" not in profile.unwritable
    assert "/etc" not in profile.unwritable
    assert profile.env == ("MY_TOKEN",)
    assert profile.project == p
    assert not profile.required


def test_a_rule_about_some_other_tool_closes_no_file_to_commands(project):
    denied = {"publish": {"path": ["${project}/drafts/"]}, "writeFile": {"path": ["${project}/ci.yml"]}}
    kinds = {"publish": {"path": "path"}}
    value = {**ALL, "version": "1.2", "blacklist": {"arguments": denied}, "argumentKinds": kinds}
    profile = profile_of(Policy.from_dict(value, project_root=project, home=project.parent), "make")
    assert f"{project}/ci.yml" in profile.unwritable
    assert f"{project}/drafts" not in profile.unwritable


def test_rules_with_a_wildcard_close_what_is_there(project):
    (project / "a").mkdir()
    (project / "a" / ".env").touch()
    value = {**ALL, "version": "1.2", "blacklist": {"arguments": {"readFile": {"path": ["${project}/**/.env"]}}}}
    policy = Policy.from_dict(value, project_root=project)
    assert f"{project}/a/.env" in profile_of(policy, "make").unreadable


@pytest.mark.parametrize(
    ("path", "closes_all"),
    [
        ("${project}/", True),
        ("${project}", True),
        ("${project}/..", True),
        ("/", True),
        ("${project}*", True),
        ("/**", True),
        ("${project}-other/", False),
        ("${project}/*", False),
        ("/etc/", False),
    ],
)
@pytest.mark.parametrize("tool", ["writeFile", "readFile"])
def test_a_rule_about_the_project_or_what_it_is_in_closes_all_of_it(kept, project, path, closes_all, tool):
    profile = kept(**{tool: [path]}).boxes.profile("project")
    assert (str(project) in profile.unwritable) is closes_all


@pytest.fixture
def kept(project):
    """A policy that lets everything run but what a list of files says: ``{"readFile": [...]}``."""

    def make(**lists):
        denied = {tool: {"path": paths} for tool, paths in lists.items()}
        value = {"version": "1.2", "defaultPolicy": "allow", "blacklist": {"arguments": denied}}
        return Policy.from_dict(value, project_root=project, home=project.parent / "home")

    return make


def test_rules_with_a_wildcard_hold_wherever_they_can_fit(kept, project):
    home = project.parent / "home"
    for path in (home / "vault/a.txt", home / "vault/sub/b.txt", *(project / f"{n}/x.tok" for n in (".git", "a/b"))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (project / "node_modules" / "m").mkdir(parents=True)
    (project / "node_modules" / "m" / "n.lck").touch()
    lists = {"readFile": ["~/vault/*.txt", "${project}/**/*.tok"], "writeFile": ["${project}/**/*.lck", "/**/*.no"]}
    policy = kept(**lists)
    for _ in range(2):
        profile = profile_of(policy, "make")
        found = {path for path in profile.unreadable if path.endswith((".txt", ".tok"))}
        assert found == {f"{home}/vault/a.txt", f"{project}/.git/x.tok", f"{project}/a/b/x.tok"}
        assert f"{project}/node_modules/m/n.lck" in profile.unwritable
    (project / "a" / "new.tok").touch()
    assert f"{project}/a/new.tok" in profile_of(policy, "make").unreadable


def test_a_rule_that_is_a_beginning_holds_for_all_that_begins_so(kept, project):
    for name in ("keys/id_rsa", "keys/id_", "keys/other", "keys/id_d/deep", "lock-1"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    profile = profile_of(kept(readFile=["${project}/keys/id_"], writeFile=["lock-"]), "make")
    found = {path for path in profile.unreadable if path.startswith(f"{project}/keys")}
    assert found == {f"{project}/keys/{name}" for name in ("id_", "id_rsa", "id_d")}
    assert f"{project}/lock-1" in profile.unwritable


def test_a_rule_about_more_files_than_are_looked_for_is_asked_about(kept, project, monkeypatch):
    policy = kept(readFile=["${project}/**/*.pem"])
    monkeypatch.setattr("executor_permissions.judge.boxes._walked.MOST_NAMES", 20)
    for number in range(30):
        (project / f"f{number}").touch()
    decision = policy.decide("runCommand", {"command": "make"}, CallInfo(str(project)))
    told = boxed(decision, policy, "runCommand")
    assert (told.verdict, told.method) == ("ask", "confine")
    assert "*.pem" in told.reason
    assert boxed(Decision("allow"), policy, "t", own="read").verdict == "ask"
    policy = kept(readFile=["${project}/f1*/*.pem"])
    assert boxed(decision, policy, "runCommand").verdict == "ask"
    assert boxed(decision, kept(readFile=["${project}/src/*.pem"]), "runCommand").verdict == "allow"


def test_folders_that_have_not_changed_are_not_listed_again(kept, project, monkeypatch):
    listed, scandir = [], os.scandir
    (project / "a").mkdir()
    monkeypatch.setattr("executor_permissions.judge.boxes._walked._SETTLED", 0)
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    policy = kept(readFile=["${project}/**/*.pem"])
    profile_of(policy, "make")
    first = len(listed)
    profile_of(policy, "make")
    assert first == len(listed) > 2
    (project / "a" / "x").touch()
    profile_of(policy, "make")
    assert listed[first:] == [str(project / "a")]


def test_a_redirect_that_a_rule_allowed_adds_its_file(project):
    value = {
        "version": "1.2",
        "whitelist": {"patterns": ["ls *"], "arguments": {"writeFile": {"path": ["${project}/"]}}},
    }
    policy = Policy.from_dict(value, project_root=project)
    profile = profile_of(policy, "ls > out.txt 2>/dev/null")
    assert (profile.name, profile.writable) == ("read", (f"{project}/out.txt",))


@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_a_redirect_that_reads_and_a_rule_that_asks_about_the_whole_make_no_box_wider(chosen, version):
    asks = {"patterns": ["runCommand(command=ls *)", "* < *"]}
    for line in ("cat < a", "sort < src/a | head -n 1", "{ cat; } < a", "cat < $X", "ls -l", "ls -l | wc -l"):
        for more in ({}, {"ask": asks}):
            assert chosen(line, version=version, **more)[1] == "read", (line, more)
    assert chosen("sort -o x < a", version="1.2")[1] == "project"


def test_a_redirect_that_no_rule_allowed_is_a_program_that_writes(project):
    policy = Policy.from_dict({"version": "1.2", "defaultPolicy": "allow"}, project_root=project)
    profile = profile_of(policy, "ls > /somewhere/else")
    assert (profile.name, profile.writable) == ("project", ())


def test_a_program_with_a_network_gets_its_own_credentials_only(project):
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project, home=project.parent / "home")
    home = os.path.realpath(project.parent / "home")
    assert f"{home}/.ssh" in profile_of(policy, "git fetch").credentials
    assert f"{home}/.npmrc" not in profile_of(policy, "git fetch").credentials
    assert profile_of(policy, "git status").credentials == ()


@pytest.mark.parametrize(
    ("named", "given"),
    [
        ("{home}/kube/config", ["{home}/.kube", "{home}/kube/config"]),
        ("{project}/config", ["{home}/.kube"]),  # which no box shows
        ("config", []),  # of the folder that kubectl is run in: it may name what that runs to log in
        ("{home}/kube/config:sub/config", []),
    ],
)
def test_a_program_gets_the_credentials_that_a_variable_names(project, tmp_path, monkeypatch, named, given):
    programs, home = tmp_path / "programs", os.path.realpath(project.parent / "home")
    programs.mkdir()
    (programs / "kubectl").touch(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setenv("KUBECONFIG", named.format(home=home, project=project))
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project, home=project.parent / "home")
    of_home = [each for each in profile_of(policy, "kubectl get pods").credentials if "/run/secrets" not in each]
    assert of_home == [path.format(home=home) for path in given]


def test_a_program_that_asks_its_cluster_gets_what_the_cluster_gave_the_container(project, tmp_path, monkeypatch):
    for name in ("kubectl", "docker"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project, home=project.parent / "home")
    assert "/run/secrets" in profile_of(policy, "kubectl get pods").credentials
    assert "/run/secrets" not in profile_of(policy, "docker pull x").credentials


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("git fetch && git push origin main 2>&1", True),
        ("cd src && git fetch", True),
        ("git -C made fetch", False),
        ("cd made && git fetch", False),
        ("python3 k.py; git fetch", False),
        ("git fetch | tee log", False),
        ("./bin/git fetch", False),
        ("/tmp/git fetch", False),
        ("timeout 5 git fetch", False),
        ("A=1; git fetch", False),
        ("GIT_SSH_COMMAND=./x git fetch", False),
        ("git=1 GIT_SSH_COMMAND=./x git fetch", False),
        ("git -c core.sshCommand=./x fetch", False),
        ("git fetch > log", False),
        ("git fetch; curl http://example.org", False),
        ("git fetch $(ls)", False),
        ("git add made && git push", False),
        ("git push made main", False),  # whose hooks git runs
        ("git push bare main", False),
        ("git push --repo=bare", False),
        ("git push file:///PROJECT/bare.git main", False),
        ("cd src && git push named", False),
        ("git push origin src", True),
        ("git fetch --recurse-submodules", False),
        ("git push --recurse=on-demand", False),
        ("git commit -qm x; git fetch", False),
    ],
)
def test_credentials_go_to_a_line_that_is_their_program_alone(line, there, project):
    (project / "made" / ".git").mkdir(parents=True)
    (project / "bare.git").mkdir()
    (project / "bare.git" / "HEAD").touch()
    (project / "src").mkdir()
    (project / "src" / "named").write_text("gitdir: ../bare.git")
    policy = Policy.from_dict({"version": "1.2", "defaultPolicy": "allow"}, project_root=project, home=project.parent)
    profile = profile_of(policy, line.replace("/PROJECT", str(project)))
    assert profile.name == "network"
    assert (f"{project.parent}/.ssh" in profile.credentials) is there
    assert bool(profile.credentials) is there


@pytest.mark.parametrize("made", ["made", "node_modules/made", ".venv/lib/site-packages/made"])
@pytest.mark.parametrize("line", ["git pull", "git pull --rebase --autostash", "git fetch && git pull --ff-only"])
def test_what_runs_git_status_has_credentials_where_no_other_repository_is_below(line, made, project):
    policy = Policy.from_dict({"version": "1.2", "defaultPolicy": "allow"}, project_root=project, home=project.parent)
    assert profile_of(policy, line).credentials
    (project / made / ".git").mkdir(parents=True)
    assert not profile_of(policy, line).credentials
    assert profile_of(policy, "git fetch").credentials


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("gh pr create --title t --body b", False),  # it tells of uncommitted changes
        ("gh repo sync", False),
        ("gh pr checkout 1", False),
        ("gh pr list && gh pr create --fill", False),
        ("gh pr list", True),
        ("gh issue view 7", True),
        ("gh api user", True),
    ],
)
def test_gh_has_credentials_beside_another_repository_where_it_runs_git_on_no_files(
    line, there, project, tmp_path, monkeypatch
):
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "gh").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    rules = {"patterns": ["gh pr create *", "gh repo sync *", "gh pr checkout *", "gh api *"]}
    told = {"version": "1.2", "defaultPolicy": "allow", "whitelist": rules}
    policy = Policy.from_dict(told, project_root=project, home=project.parent)
    assert profile_of(policy, line).credentials
    (project / "made" / ".git").mkdir(parents=True)
    assert bool(profile_of(policy, line).credentials) is there


def test_no_credentials_go_where_a_cd_may_lead_into_a_repository_of_the_project_by_names_or_by_links(project):
    (project / "other" / "dir").mkdir(parents=True)
    (project / "other" / "into" / "made" / ".git").mkdir(parents=True)
    (project / "sub" / "into").mkdir(parents=True)
    (project / "sub" / "link").symlink_to(project / "other" / "dir")
    policy = Policy.from_dict({"version": "1.2", "defaultPolicy": "allow"}, project_root=project, home=project.parent)
    assert profile_of(policy, "cd sub && cd into && git fetch").credentials
    # Of "sub/link/../x" bash goes to sub/x, or where the link leads if there is no such folder.
    assert not profile_of(policy, "cd sub/link/../into && cd made && git fetch").credentials
    (project / "sub" / "into").rmdir()
    assert not profile_of(policy, "cd sub/link/../into && cd made && git fetch").credentials


def test_a_row_of_cd_has_no_credentials_and_is_not_followed_in_all_ways_that_it_may_go(project):
    policy = Policy.from_dict({"version": "1.2", "defaultPolicy": "allow"}, project_root=project, home=project.parent)
    row = "; ".join(f"cd a{i}" for i in range(200))  # 2 ** 200 folders
    assert profile_of(policy, f"{row}; git fetch").credentials == ()


@pytest.mark.parametrize(
    ("configured", "there"),
    [
        ('[remote "up"]\nurl = https://example.org/bare', True),
        ('[remote "up"]\nurl = ../bare.git', True),
        ('[remote "up"]\nurl = bare', False),
        ('[remote "up"]\nurl = ./bare.git', False),
        ('[remote "up"]\nurl = https://example.org/x\npushurl = {}/bare.git', False),
        ('[remote "up"]\nurl = file://{}/b%61re.git', False),
        ("[remote]\npushDefault = ./bare.git", False),
        ('[branch "main"]\nremote = ./bare.git', False),
        ('[remote "up"]\nurl = here:bare.git\n[url "{}/"]\ninsteadOf = here:', False),
        ('[url "file://{}/"]\npushInsteadOf = origi\n[remote "up"]\nurl = origibare', False),
        ("[include]\npath = ../more", False),
    ],
)
def test_no_credentials_go_where_a_remote_that_is_configured_is_a_repository_of_the_project(configured, there, project):
    (project / "bare.git").mkdir()
    (project / "bare.git" / "HEAD").touch()
    (project / ".git" / "config").write_text(configured.format(project))
    (project / "more").write_text('[remote "up"]\nurl = ./bare.git')
    policy = Policy.from_dict({"version": "1.2", "defaultPolicy": "allow"}, project_root=project, home=project.parent)
    assert bool(profile_of(policy, "git push up HEAD").credentials) is there


def test_credentials_go_to_what_path_finds_outside_of_the_project_and_in_no_repository_of_a_box(project, monkeypatch):
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project, home=project.parent)
    decision = policy.decide("runCommand", {"command": "git fetch"}, CallInfo(str(project)))

    def there(**arguments):
        return bool(boxed(decision, policy, "runCommand", arguments=arguments).confine.credentials)

    (project / "made" / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    assert (there(), there(cwd="made"), there(cwd=str(project / "made"))) == (True, False, False)
    assert not boxed(decision, policy, "runCommand", arguments={}, start=str(project / "made")).confine.credentials
    usual = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{project}/bin:{usual}")
    assert there()
    (project / "bin").mkdir()
    (project / "bin" / "git").touch(mode=0o755)
    assert not there()
    monkeypatch.setenv("PATH", f":{usual}")
    assert not there()
    monkeypatch.setenv("PATH", usual)
    (project / ".git" / "branches").mkdir(parents=True)
    assert there()
    (project / ".git" / "branches" / "x").write_text("made")  # which git takes for a remote, and pushes to by that name
    assert not there()


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("cargo search x", False),  # rust-toolchain.toml may say that cargo is one of the project
        ("cargo fetch", False),
        ("poetry publish", False),
        ("pnpm publish", False),
        ("yarn publish", False),
        ("npm outdated", True),
        ("npm audit", True),
        ("npm audit signatures", True),
        ("npm view left-pad versions --json", True),
        ("npm view git+https://example.org/x.git", False),  # by the git that .npmrc names
        ("npm --registry=https://example.org audit", False),  # for which a rule for the whole tool does not speak
        ("pip index versions x", True),
    ],
)
def test_no_credentials_go_to_what_the_settings_of_the_project_may_make_another_program(
    line, there, project, tmp_path, monkeypatch
):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / line.partition(" ")[0]).touch(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project, home=project.parent)
    profile = profile_of(policy, line)
    assert profile.name == "network"
    assert bool(profile.credentials) is there


@pytest.mark.parametrize("there", [".npmrc", "sub/.npmrc"])
@pytest.mark.parametrize("line", ["npm outdated", "npm view left-pad", "npm audit && npm ping"])
def test_no_credentials_go_to_the_proxy_that_a_file_of_the_project_names(line, there, project, tmp_path, monkeypatch):
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "npm").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    (project / "sub").mkdir()
    told = {**ALL, "version": "1.2", "confine": {"default": "network"}}
    policy = Policy.from_dict(told, project_root=project, home=project.parent)
    line = f"cd sub && {line}"
    assert profile_of(policy, line).credentials
    (project / there).write_text("registry=http://registry.npmjs.org/\nproxy=http://example.org:3128/\n")
    assert not profile_of(policy, line).credentials
    assert profile_of(policy, "cd sub && npm install left-pad").credentials  # which that may read anyway


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("pip install .", [".config/pip/pip.conf", ".pip/pip.conf", "named"]),
        ("pip install -r requirements.txt && pip list", [".config/pip/pip.conf", ".pip/pip.conf", "named"]),
        ("pip list --outdated", [".config/pip/pip.conf", ".pip/pip.conf", ".netrc", "named", "netrc"]),
        ("npm install left-pad", [".npmrc"]),
        ("twine upload dist/x.whl", [".pypirc", ".netrc", "netrc"]),
        *(
            (line, [])
            for line in (
                *("npm test", "npm restart", "npm stop", "npm version patch", "npm pack", "npm init -y"),
                *("npm publish", "npm publish --dry-run"),
                *("pip wheel .", "pip list; pip wheel .", "uv sync", "uv build", "docker compose up"),
                *("helm template ./chart", "helm lint ./chart", "helm show readme ./chart"),
            )
        ),
    ],
)
def test_what_installs_has_what_says_where_packages_come_from_as_these_run(line, given, project, tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / line.partition(" ")[0]).touch(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setenv("PIP_CONFIG_FILE", f"{project.parent}/named")
    monkeypatch.setenv("NETRC", f"{project.parent}/netrc")
    confine = {"default": "network"}
    policy = Policy.from_dict({**ALL, "version": "1.2", "confine": confine}, project_root=project, home=project.parent)
    assert profile_of(policy, line).credentials == tuple(f"{project.parent}/{one}" for one in given)


@pytest.mark.parametrize(
    ("found", "leads_to", "there"),
    [
        ("bin/kubectl", None, True),
        ("bin/kubectl", "sdk/bin/kubectl", True),
        ("bin/kubectl", "cli/com.kubectl.cli.js", True),
        ("shims/kubectl", None, False),  # .tool-versions may say "kubectl path:./evil"
        ("bin/kubectl", "shims/kubectl", False),
        ("shims/kubectl", "bin/mise", False),
        ("bin/kubectl", "bin/volta-shim", False),
    ],
)
def test_no_credentials_go_to_a_shim_which_runs_what_a_file_of_the_project_names(
    found, leads_to, there, project, tmp_path, monkeypatch
):
    for name in {found, leads_to or found}:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / (leads_to or found)).touch(0o755)
    if leads_to is not None:
        (tmp_path / found).symlink_to(tmp_path / leads_to)
    monkeypatch.setenv("PATH", str((tmp_path / found).parent), prepend=os.pathsep)
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project, home=project.parent / "home")
    assert bool(profile_of(policy, "kubectl get pods").credentials) is there


def test_an_untrusted_project_can_only_narrow(project):
    from executor_permissions.judge.boxes._profile import Confinement, Told

    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project)
    own = {"project": ["make *", "ls *"], "env": ["MINE"]}
    theirs = {"open": ["make *"], "read": ["ls *"], "network": ["foo *"], "env": ["THEIRS"], "require": True}
    marks = policy.places.marks
    for trusted, expected in ((False, ["project", "read", "project"]), (True, [None, "read", "network"])):
        told = [Told(own, marks, True), Told(theirs, marks, trusted)]
        boxes = Confinement(told, policy.places, policy._files, older=False)
        names = []
        for command in ("make", "ls", "foo"):
            parts = policy.decide("runCommand", {"command": command}, CallInfo(str(project))).parts
            profile = boxes.choose(parts, {}).profile
            names.append(profile and profile.name)
        assert names == expected
        assert boxes.required
        assert boxes.profile("read").env == ("MINE",)


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize(
    ("own", "theirs", "profile"),
    [
        ({"default": "network"}, {"default": "read"}, "read"),
        ({"default": "read"}, {"default": "open"}, "read"),
        ({}, {"default": "open"}, "project"),
        ({}, {"default": "read"}, "read"),
        ({"default": "network"}, {"default": "auto"}, "network"),
        ({"network": ["touch *"]}, {"default": "read"}, "network"),
        (None, {"default": "open"}, "project"),
        (None, {"default": "read"}, "read"),
    ],
)
def test_a_projects_default_narrows_what_no_list_names(project, tmp_path, monkeypatch, own, theirs, trusted, profile):
    for path, value in ((tmp_path / "own.json", own), (project_file(project), theirs)):
        if value is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({"version": "1.2", "confine": value}))
    monkeypatch.setattr("executor_permissions.store._load.user_file", lambda: tmp_path / "own.json")
    policy = load_effective(None, project, state_dir=tmp_path / "state", is_trusted=lambda *_: trusted)
    assert profile_of(policy, "touch /somewhere/else").name == profile


OLDER = {"version": "1.1", "whitelist": {"patterns": ["foo *"]}}
ADDED = {
    "nothing": lambda policy: policy,
    "a rule": lambda policy: policy.varied(deny=("foo",)),
    "a default": lambda policy: policy.varied(default="allow"),
    "protected folders": lambda policy: policy.varied(protect=("/elsewhere",)),
}


@pytest.mark.parametrize(
    ("own", "theirs", "trusted", "profile"),
    [
        (None, None, False, "project"),
        ({}, None, False, "project"),
        ({"version": "1.2"}, None, False, "project"),
        (OLDER, None, False, None),
        ({"ask": {}}, None, False, None),
        (None, {"ask": {"patterns": ["zzz"]}}, False, "project"),
        (None, {"version": "1.1", "ask": {"patterns": ["zzz"]}}, False, "project"),
        (OLDER, {"version": "1.2"}, False, None),
        (OLDER, {"confine": {"project": ["touch *"]}}, False, "project"),
        ({"version": "1.2"}, {"version": "1.0"}, True, "project"),
        (None, OLDER, True, None),
        (None, {"version": "1.2", "whitelist": {}}, True, "project"),
    ],
)
@pytest.mark.parametrize("added", ADDED)
def test_without_an_older_file_of_ones_own_whatever_nobody_has_looked_at_is_boxed(
    project, tmp_path, monkeypatch, own, theirs, trusted, profile, added
):
    for path, value in ((tmp_path / "own.json", own), (project_file(project), theirs)):
        if value is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(value))
    monkeypatch.setattr("executor_permissions.store._load.user_file", lambda: tmp_path / "own.json")
    policy = load_effective(None, project, state_dir=tmp_path / "state", is_trusted=lambda *_: trusted)
    found = profile_of(ADDED[added](policy), "touch /somewhere/else")
    assert (found and found.name) == profile


class Asked:
    """Answers what it is told to; keeps the questions."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.questions = []

    def __call__(self, approval):
        self.questions.append(approval)
        return self.answers.pop(0)


@pytest.fixture
def judged(project, tmp_path, monkeypatch):
    """Runs commands through an executor whose only tool tells its box; ``run(command)`` gives the profile's name."""
    monkeypatch.chdir(project)

    def make(value, *answers):
        asked = Asked(*answers)
        plugin = PermissionPlugin(
            policy={"version": "1.2", **value}, project_root=project, state_dir=tmp_path / "state", channel=asked
        )
        executor = ToolExecutor(permission_plugin=plugin)

        def run_command(args):
            from executor import current_call

            call = current_call()
            return {"box": call.confine.name if call.confine is not None else None, **dict(call.permission)}

        executor.register("runCommand", run_command, argument_kinds={"command": "shell"})

        def run(command):
            result = executor.call(ToolCall("1", "runCommand", {"command": command}))
            return result.structured

        run.asked, run.plugin, run.executor = asked, plugin, executor
        made.append(executor)
        return run

    made = []
    yield make
    for executor in made:
        executor.shutdown()


def test_what_a_rule_lets_through_is_boxed_and_its_result_says_so(judged):
    run = judged({"whitelist": {"patterns": ["ls *"]}})
    told = run("ls")
    assert told["box"] == told["confine"] == "read"


def test_what_a_person_has_seen_runs_as_it_is(judged):
    run = judged({}, "yes")
    assert run("make")["box"] is None
    assert run.asked.answers == []


def test_unless_the_policy_boxes_that_too(judged):
    assert judged({"confine": {"people": True}}, "yes")("make")["box"] == "project"


def test_what_a_person_edits_is_boxed_as_what_a_person_allows(judged):
    edit = ("edit", {"command": "git fetch"})
    assert judged({"confine": {"people": True}}, edit)("make")["box"] == "network"
    assert judged({"confine": {"open": ["make"], "people": True}}, edit)("make")["box"] == "network"
    assert judged({}, edit)("make")["box"] is None


class Careful:
    """A hook that wants a person to look."""

    def __init__(self, **more):
        self.decision = Decision("ask", "the hook wants a look", "careful", **more)

    @hookimpl
    def executor_check_permission(self, call, context):
        return self.decision


@pytest.fixture
def beside(judged):
    """As `judged`, beside a hook."""

    def make(hook, value, *answers):
        run = judged(value, *answers)
        registry = PluginRegistry()
        registry.register(hook, "careful")
        registry.expose("careful")
        run.executor.set_registry(registry)
        return run

    return make


@pytest.mark.parametrize("policy", [{"defaultPolicy": "allow"}, {"whitelist": {"patterns": ["make *"]}}, {}])
def test_a_hook_that_asks_takes_no_box_away(beside, policy):
    run = beside(Careful(), policy)
    run.plugin.session.suspend("all")
    assert run("make")["box"] == "project"
    run = beside(Careful(), {**policy, "confine": {"people": True}}, "yes")
    assert run("make")["box"] == "project"
    assert beside(Careful(), policy, "yes")("make")["box"] is None


@pytest.mark.parametrize("policy", [{"defaultPolicy": "allow"}, {}])
def test_what_a_hook_leaves_to_a_person_nobody_else_answers_whatever_the_policy_says(beside, policy):
    run = beside(Careful(maybe_denied=True), policy, "no", "no")
    run.plugin.session.suspend("all")
    assert run("make") is None
    (asked,) = run.asked.questions
    assert "the hook wants a look" in asked.text


def test_an_always_to_a_question_of_the_policys_own_answers_none_of_a_hook(beside):
    hook = Careful()
    run = beside(hook, {}, "always", "no")
    assert run("make")["box"] is None
    assert run.plugin.grants.all() == []
    assert run("make") is None


def test_calls_that_a_suspension_lets_past_a_hook_are_counted(beside):
    run = beside(Careful(), {"defaultPolicy": "allow", "limits": {"runCommand": {"session": 2}}}, "no")
    run.plugin.session.suspend("all")
    assert [run("ls")["box"] for _ in range(2)] == ["read", "read"]
    run.plugin.session.resume()
    run.executor.set_registry(None)
    assert run("ls") is None


def test_a_suspension_lets_nothing_out_of_its_box(judged):
    run = judged({}, "all")
    assert run("make")["box"] is None  # seen
    assert run("make test")["box"] == "project"
    assert run("git fetch")["box"] == "network"


def test_always_stores_the_profile_that_the_question_showed(judged):
    run = judged({"confine": {"network": ["make *"]}}, "always")
    assert run("make test")["box"] is None
    assert "in the box: network" in run.asked.questions[0].text
    assert run("make test")["box"] == "network"
    assert [grant.confine for grant in run.plugin.grants.all()] == ["network"]


def test_always_to_a_part_of_a_line_stores_the_profile_of_that_part(judged):
    run = judged({"whitelist": {"patterns": ["git fetch *"]}}, "always")
    assert run("git fetch && ./build.sh")["box"] is None
    assert "in the box: project" in run.asked.questions[0].text
    assert [(grant.rule, grant.confine) for grant in run.plugin.grants.all()] == [("./build.sh", "project")]
    assert run("./build.sh")["box"] == "project"
    assert run("git fetch && ./build.sh")["box"] == "network"


def test_always_to_what_runs_in_no_box_stores_that_until_the_project_may_have_put_it_there(
    judged, programs, project, monkeypatch
):
    run = judged({"confine": {"open": ["docker *"]}}, "always", "always")
    for command in ("docker images", "docker compose up"):
        assert run(command)["box"] is None
    assert [grant.confine for grant in run.plugin.grants.all()] == ["open", "open"]
    for command in ("docker images", "docker compose up"):
        assert run(command)["box"] is None
    own = programs(project / ".venv" / "bin", "docker")
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
    assert run("docker images")["box"] == "read"
    assert run("docker compose up")["box"] == "project"


@pytest.mark.parametrize(
    ("confine", "asked", "rules", "other", "box"),
    [
        ({"open": ["docker ps *"]}, "docker ps", ["docker *"], "docker compose up", "project"),
        ({"open": ["docker ps *"]}, "docker ps", ["docker ps *", "python x.py"], "python x.py", "project"),
        ({}, "git fetch", ["git *"], "git commit -m x", "project"),
        ({}, "git fetch", ["git *"], "git fetch --all", "network"),
        ({"network": ["npm install *"]}, "npm install", ["npm *"], "npm test", "project"),
        ({}, "ls", ["ls", "make *"], "make x", "read"),
        ({"default": "read"}, "ls", ["ls", "curl https://example.org/"], "curl https://example.org/", "read"),
    ],
)
def test_a_rule_that_a_person_wrote_gives_no_command_more_than_its_own_box(
    confine, asked, rules, other, box, project, judged
):
    (project / "x.py").touch()
    run = judged({"confine": confine}, ("always", {"rules": rules}))
    run(asked)
    assert [grant.rule for grant in run.plugin.grants.all()] == rules
    assert run(other)["box"] == box


def test_the_profile_says_what_an_answer_keeps_of_it(project):
    policy = Policy.from_dict({"version": "1.2", "confine": {"open": ["./x *"]}}, project_root=project)
    part = Part("./x a", "allow", "./x a", "", "grant", words=("./x", "a"))
    decision = Decision("allow", "", parts=(part,))
    for kept, box in (("project", "project"), (None, None)):
        granted = {"./x a": kept} if kept else {}
        told = boxed(decision, policy, "runCommand", granted=granted)
        assert (told.confine.answered if told.confine else None) == box


def test_what_the_policy_opens_no_longer_an_answer_does_not_keep_open(project, programs):
    programs(project.parent / "bin", "make")
    part = Part("make x", "allow", "make x", "", "grant", words=("make", "x"))
    policy = Policy.from_dict({"version": "1.2"}, project_root=project, home=project.parent)
    assert policy.boxes.choose([part], {"make x": "open"}).profile.name == "project"


def test_a_grant_made_before_boxes_leaves_what_does_not_read_open(judged, programs, project, monkeypatch):
    run = judged({}, "always", "always")
    run("make test")
    run("ls -la")
    from dataclasses import replace

    book = run.plugin.grants
    book._grants = tuple(replace(grant, confine=None) for grant in book._grants)
    assert run("make test")["box"] is None
    assert run("ls -la")["box"] == "read"
    monkeypatch.setenv("PATH", str(programs(project / ".venv" / "bin", "make")))
    assert run("make test")["box"] == "project"


def test_a_required_box_that_cannot_be_had_is_asked_about(judged, monkeypatch):
    def none(profile):
        raise ConfinementError(f"no box for {profile.name}")

    monkeypatch.setattr("executor.confine.box_of", none)
    run = judged({"whitelist": {"patterns": ["ls *"]}, "confine": {"require": True}}, "yes")
    assert run("ls")["box"] is None
    assert "no box for read" in run.asked.questions[0].reason


def test_an_isolated_tool_gets_the_policys_words_about_files(project):
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project)
    assert boxed(Decision("allow"), policy, "t", own="read").confine == policy.boxes.profile("read")
    assert boxed(Decision("allow"), policy, "t").confine is None


@pytest.mark.parametrize("profile", ["open", "read", "network"])
def test_an_isolated_tool_that_takes_commands_has_its_own_box_whatever_the_policy_says_of_these(project, profile):
    told = {"version": "1.2", "defaultPolicy": "allow", "confine": {"default": profile}}
    policy = Policy.from_dict(told, project_root=project)
    kinds = {"command": "shell"}
    decision = policy.decide("t", {"command": "./x"}, CallInfo(str(project), kinds=kinds))
    assert boxed(decision, policy, "t", kinds=kinds, own="project").confine == policy.boxes.profile("project")


@pytest.mark.parametrize("command", ["echo $(", "a\x00b", "for x in; do", "cat <<E\n $(touch a)\nE", "x" * 40_000])
def test_what_cannot_be_read_and_is_let_through_all_the_same_is_boxed(command, project):
    policy = Policy.from_dict({**ALL, "version": "1.2"}, project_root=project)
    decision = policy.decide("runCommand", {"command": command}, CallInfo(str(project)))
    if decision.verdict != "deny":
        assert boxed(decision, policy, "runCommand").confine.name == "project"


def test_a_relative_path_that_a_list_opens_is_about_the_one_at_the_projects_root(project):
    told = {"version": "1.2", "defaultPolicy": "allow", "confine": {"open": ["./deploy.sh *", "/opt/x *"]}}
    policy = Policy.from_dict(told, project_root=project)

    def box(argv, **more):
        arguments = {"argv": argv, **more}
        decision = policy.decide("runCommand", arguments, CallInfo(str(project)))
        told = boxed(decision, policy, "runCommand", arguments=arguments).confine
        return told and told.name

    (project / "sub").mkdir()
    assert box(["./deploy.sh", "now"], cwd=str(project)) is None
    assert box(["./deploy.sh", "now"], cwd=str(project / "sub")) == "project"
    assert box(["/opt/x"], cwd=str(project / "sub")) is None


def test_a_command_without_a_shell_is_boxed_too(project):
    policy = Policy.from_dict({"version": "1.2", "defaultPolicy": "allow"}, project_root=project)
    decision = policy.decide("mine", {"argv": ["make"]}, CallInfo(str(project), kinds={"argv": "argv"}))
    assert boxed(decision, policy, "mine", kinds={"argv": "argv"}).confine.name == "project"


def test_words_alone_give_a_profile():
    assert of_words(["git", "log", "--output=x"]) == "project"
    assert of_words(["git", "log"]) == "read"


def test_a_stored_grant_of_an_older_version_is_read(tmp_path, project):
    plugin = PermissionPlugin(policy=ALL, project_root=project, state_dir=tmp_path)
    entry = {
        "id": "grant_1",
        "tool": "runCommand",
        "verdict": "allow",
        "kind": "shell",
        "rule": "make *",
        "scope": "user",
    }
    (tmp_path / "grants.json").write_text(json.dumps({"version": 1, "grants": [entry]}))
    plugin.grants.refresh()
    assert [grant.confine for grant in plugin.grants.all()] == [None]


@pytest.mark.parametrize(
    "command",
    [
        "touch /etc/x1",
        "cp -r src '/etc/x 1'",
        "sed -i s/a/b/ /etc/x1",
        "make install PREFIX=/etc 2>&1",
        "make /etc/x1",
        "npm config set a b",
        "go env -w A=b",
        "git format-patch -1 -o /etc/x1",
        "touch ~/x1",
        "git -C sub config a.b 'it says \"c\"'",
        "curl -o /etc/x1 'https://example.org/a,b'",
    ],
)
def test_the_line_that_is_advised_of_a_refusal_lets_the_command_do_it(chosen, programs, project, monkeypatch, command):
    name = command.split()[0]
    monkeypatch.setenv("PATH", str(programs(project.parent / "bin", name)))
    monkeypatch.setenv("HOME", str(project.parent / "home"))
    said = f"{name}: cannot write '/etc/x1': Read-only file system\n"
    told = refusal(Profile("project", str(project)), Box("project", "landlock"), command, str(project), said)
    line = re.search(r"add (\".*\") to 'open'", told)[1]
    assert chosen(command, {})[1] is not None
    assert chosen(command, {"open": [json.loads(line)]}) == ("allow", None)


@pytest.mark.parametrize("line", ["find . -exec", "find . -exec ;", "find . -execdir +", "env", "timeout 5", "xargs"])
def test_a_program_that_is_to_start_nothing_has_a_box(line):
    assert of_words(line.split()) in ("read", "project")
